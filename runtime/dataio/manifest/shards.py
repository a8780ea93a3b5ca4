"""From a loader's `manifest` source to the files to read, with what the manifest says of each."""

from __future__ import annotations

from sexpgpu.diagnostics import one_of
from sexpgpu.runtime.dataio.encodings import ENCODINGS, encoding_of
from sexpgpu.runtime.dataio.faults import error
from sexpgpu.runtime.dataio.located import SourceFile, located
from sexpgpu.runtime.dataio.manifest.model import Manifest, Shard
from sexpgpu.runtime.dataio.manifest.parse import parse_manifest
from sexpgpu.runtime.dataio.remote.address import is_s3, scheme_of
from sexpgpu.runtime.dataio.spec import ManifestSource

MOST_BYTES = 1 << 30
"""Of a manifest: a hundred thousand shards with a few hundred blocks each."""


def manifest_files(source: ManifestSource, base: str) -> list[SourceFile]:
    """The shards of the source's split, in the manifest's order. A relative `source.uri` resolves against `base`."""
    manifest = read_manifest(source.uri, base)
    return [_file(shard, source, base) for shard in _split(manifest, source)]


def read_manifest(uri: str, base: str) -> Manifest:
    """The manifest at `uri`, a path or an `s3://` URI."""
    path = located(uri, base)
    if is_s3(path):
        from sexpgpu.runtime.dataio.remote.persist import read_object

        data: bytes | bytearray = read_object(path, uri, MOST_BYTES)[0]
    else:
        data = _local_bytes(path, uri)
    return parse_manifest(data, uri)


def beside(manifest: str, uri: str) -> str:
    """A shard's URI, from that of its manifest as written."""
    if scheme_of(uri) is not None or uri.startswith("/"):
        return uri
    while uri.startswith("./"):
        uri = uri[2:]
    return manifest[:manifest.rfind("/") + 1] + uri


def _split(manifest: Manifest, source: ManifestSource) -> tuple[Shard, ...]:
    names = list(manifest.splits)
    if source.split is None:
        if len(names) == 1:
            return manifest.splits[names[0]]
        raise error("E-DATA-031", f"`{source.uri}` has {len(names)} splits, and the source names none",
                    fix="name one: `:split \"" + names[0] + "\"`; there is " + one_of("", names))
    if source.split not in manifest.splits:
        raise error("E-DATA-031", f"`{source.uri}` has no split `{source.split}`",
                    fix="there is " + one_of(source.split, names))
    return manifest.splits[source.split]


def _file(shard: Shard, source: ManifestSource, base: str) -> SourceFile:
    name = beside(source.uri, shard.uri)
    encoding = source.encoding or shard.encoding or encoding_of(shard.uri)
    if encoding is None:
        raise error("E-DATA-030", f"`{source.uri}` lists `{shard.uri}`, whose encoding cannot be told from its name",
                    fix="name it in the manifest or with `:encoding`; there is " + one_of(shard.uri, ENCODINGS))
    return SourceFile(name, located(name, base), encoding, shard.bytes, shard.etag if is_s3(name) else "",
                      shard.records, tuple((b.offset, b.length, b.records) for b in shard.blocks), source.uri)


def _local_bytes(path: str, name: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise error("E-STORE-001", f"there is no file `{name}`") from None
    except PermissionError:
        raise error("E-STORE-002", f"no permission to read `{name}`") from None
    except (OSError, ValueError) as problem:
        raise error("E-STORE-008", f"`{name}` could not be read: {problem}") from None
    if len(data) > MOST_BYTES:
        raise error("E-STORE-008", f"`{name}` has more than {MOST_BYTES:,} bytes, which no manifest needs")
    return data
