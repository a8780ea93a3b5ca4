"""`s3://bucket/key`, in its parts. A key is taken as it stands: nothing in it is a pattern or an escape."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sexpgpu.runtime.dataio.faults import error

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://")
_BUCKET = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$")


@dataclass(frozen=True, slots=True)
class Address:
    """One object."""

    bucket: str
    key: str

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"


def scheme_of(path: str) -> str | None:
    """The part before `://`, in lower case; None of a plain path."""
    found = _SCHEME.match(path)
    return found[1].lower() if found else None


def is_s3(path: str) -> bool:
    return scheme_of(path) == "s3"


def parts(uri: str) -> tuple[str, str]:
    """The bucket of an `s3://` URI, or E-STORE-020, and whatever follows it."""
    bucket, _, key = uri[len("s3://"):].partition("/")
    if not _BUCKET.match(bucket):
        raise error("E-STORE-020", f"`{uri}` names no bucket that could exist", fix="it is written `s3://bucket/key`")
    return bucket, key


def parse(uri: str) -> Address:
    """The bucket and the key of an `s3://` URI, or E-STORE-020."""
    bucket, key = parts(uri)
    if not key or key.endswith("/"):
        raise error("E-STORE-020", f"`{uri}` names no object" + (", but a prefix" if key else ""),
                    fix="list the objects one by one, as `s3://bucket/key`, or in a manifest: `sexpc manifest` writes "
                        "one for a whole prefix")
    if len(key.encode("utf-8", "surrogatepass")) > 1024:
        raise error("E-STORE-020", f"`{uri[:80]}…` has a key of more than 1,024 bytes, and S3 has none such")
    return Address(bucket, key)
