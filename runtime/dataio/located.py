"""Where the paths of sources lie, and what is known of the files there before they are opened."""

from __future__ import annotations

import os
from dataclasses import dataclass

from sexpgpu.runtime.dataio.faults import error
from sexpgpu.runtime.dataio.remote.address import parse, scheme_of


@dataclass(frozen=True, slots=True)
class SourceFile:
    """`name` is the path as it is written in the experiment, `path` where it lies, `encoding` how its bytes read.

    The rest is what a manifest (`listed_in`) says of it, -1 and empty where it says nothing: size in bytes, etag,
    records, and blocks as (offset, length, records).
    """

    name: str
    path: str
    encoding: str
    bytes: int = -1
    version: str = ""
    records: int = -1
    blocks: tuple[tuple[int, int, int], ...] = ()
    listed_in: str = ""


def located(path: str, base: str) -> str:
    """Where a path as written lies: an `s3://` URI as it is, a relative path in the folder `base`."""
    scheme = scheme_of(path)
    if scheme == "s3":
        return str(parse(path))
    if scheme not in (None, "file"):
        raise error("E-STORE-009", f"`{path}` lies in a store of the kind `{scheme}`, which no reader here reaches",
                    fix="local paths and `s3://` URIs are read")
    return os.path.join(base, path[len("file://"):] if scheme else path)
