"""Codes of the DATA family: what is in the records, and what is asked of them. Files themselves are STORE."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
    Code("E-DATA-001", "no such column",
         "A field is read `:from` a column that a file does not have, or a key that a record does not have. The fix "
         "lists the file's columns."),
    Code("E-DATA-002", "unreadable column type",
         "A column's type holds nothing that a field can be read from: texts, timestamps, maps and the like. Numbers, "
         "bools, decimals, any kind of list of them, and binary of the row's size are read."),
    Code("E-DATA-003", "row of the wrong shape",
         "A row does not have the field's declared shape: a list is too short or too long, nested otherwise, or a "
         "binary value has another number of bytes. Every row is checked when it is decoded."),
    Code("E-DATA-004", "value does not fit",
         "A value cannot be represented in the field's dtype. Integers are never wrapped or rounded, a finite number "
         "never becomes an infinity, NaN and fractions never become integers; only floats and decimals are rounded "
         "to a float dtype."),
    Code("E-DATA-005", "null value",
         "A row, a list or a value in it is null. There is no value that would stand for it."),
    Code("E-DATA-006", "ambiguous column",
         "A file has several columns of the name a field is read from."),
    Code("E-DATA-007", "more rows in a batch than in the data",
         "A global batch (the batch size times the number of ranks) has more rows than the stage's files hold, so no "
         "batch could ever be full."),
    Code("E-DATA-008", "no rows",
         "The files of a stage hold no row at all. An infinite loader would wait for ever."),
    Code("E-DATA-009", "cursor of other data",
         "A cursor was made with other fields, files, row counts, shuffle or stage than this loader has; the rows that "
         "follow it are not defined here."),
    Code("E-DATA-010", "unusable cursor",
         "A cursor lacks a key, has a value of the wrong kind, points past the end, or is of a newer version."),
    Code("E-DATA-011", "no reader for this source",
         "The loader has no reader for the encoding or the kind of source that a stage names."),
    Code("E-DATA-012", "no such stage", "A loader is asked for a stage that it does not declare."),
    Code("E-DATA-013", "loader used after a fork",
         "A loader's threads do not survive a fork, so a child process cannot use the parent's loader. Each process "
         "makes its own, after the fork; a cursor carries the position over."),
    Code("E-DATA-014", "not enough memory for the data",
         "The shuffle buffer, a batch or a decoded piece could not be allocated."),
    Code("E-DATA-015", "malformed record",
         "A line is no JSON object, or a record no msgpack map. JSON is read strictly (RFC 8259), except that NaN, "
         "Infinity and -Infinity are taken in float fields; the line's neighbours are safe. What is no msgpack at all "
         "leaves open where the next record begins, so the rest of that file is lost."),
    Code("E-DATA-016", "record too long",
         "A record takes more than 64 MiB, and more than 32 bytes for each byte of its row. Memory stays bounded, so "
         "it is not read: most likely the file does not hold one record a line."),
    Code("E-DATA-017", "too much bad data",
         "More records (or, with `--on-bad-data skip-file`, files) had to be left out than `--bad-budget` allows."),
    Code("E-DATA-030", "not a data manifest",
         "A file that a `manifest` source names is no manifest, or contradicts itself; the note says where. "
         "`sexpc manifest` writes one."),
    Code("E-DATA-031", "no such split",
         "A `manifest` source names a split that the manifest does not have, or none where it has several."),
    Code("E-DATA-032", "manifest and shard disagree",
         "A shard does not hold the records that its manifest lists. The message names both; one of them is not the "
         "one that belongs to the other."),
    Code("E-DATA-033", "manifest of another version",
         "A manifest was written for a newer major version of the format than this program reads."),
)
