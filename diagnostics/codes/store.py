"""Codes of the STORE family: files as bytes. What is in their records is DATA."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
    Code("E-STORE-001", "no such file",
         "A file that a source lists does not exist. A relative path resolves against the experiment file's folder."),
    Code("E-STORE-002", "permission denied", "A file exists but may not be read by this user."),
    Code("E-STORE-003", "not a file of this encoding",
         "A file's bytes are not those of its encoding: it does not begin as a Parquet file does, or is encrypted."),
    Code("E-STORE-004", "damaged file",
         "A file's bytes contradict themselves: an impossible footer, a page that does not decompress, fewer rows than "
         "stated."),
    Code("E-STORE-005", "cut file", "A file ends before its end: a copy or a write was interrupted."),
    Code("E-STORE-006", "checksum mismatch",
         "A page's stored checksum is not that of its bytes. Checksums are verified wherever a file has them."),
    Code("E-STORE-007", "file changed while in use",
         "A file is not the one the loader opened at first, or not the one its manifest lists: its size, its etag or "
         "its row counts differ."),
    Code("E-STORE-008", "file could not be read",
         "The system refused to open or read a file, or the path is a folder or a device."),
    Code("E-STORE-009", "unknown store", "A URI's scheme is not one the loader can read from."),
    Code("E-STORE-020", "no such S3 address",
         "An `s3://` URI names no object that could exist: it lacks a bucket or a key, or ends in `/`. Nothing in a "
         "URI is a pattern; a whole prefix is read through a manifest."),
    Code("E-STORE-021", "store does not answer",
         "S3 could not be reached, or answered with failures, until the tries in a row (10, or AWS_MAX_ATTEMPTS) or "
         "the loader's retry budget were spent. A read that was broken off goes on at the same byte, so this means "
         "that nothing came through at all for about half a minute."),
    Code("E-STORE-022", "no usable S3 credentials",
         "The standard AWS chain has no credentials, or S3 refused them, or they have expired and the chain has no "
         "newer ones. AWS_NO_SIGN_REQUEST=1 reads public buckets without credentials."),
)
