"""Files of records in every encoding, written by the formats' own libraries, and read back by them."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import msgpack
import numpy as np
import pytest
import zstandard
from sexpgpu.diagnostics import Diagnostic, SexpError
from sexpgpu.runtime.dataio import FieldSpec, FilesSource, Loader, LoaderSpec, StageSpec

Record = dict[str, object]

TEXTS: dict[str, Callable[[Record], bytes]] = {
    "jsonl": lambda record: json.dumps(record).encode() + b"\n",
    "msgpack": lambda record: msgpack.packb(record),
}
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
    ".zstf": zstandard.ZstdCompressor().compress,
}
RECORD_ENCODINGS = ("jsonl", "jsonl.gz", "jsonl.zst", "msgpack", "msgpack.gz", "msgpack.zst", "msgpack.zstf")


def parts(encoding: str) -> tuple[Callable[[Record], bytes], Callable[[bytes], bytes]]:
    """How a record is written, and how text is compressed."""
    name, dot, packing = encoding.partition(".")
    return TEXTS[name], PACKINGS[dot + packing]


def encode(records: Sequence[Record], encoding: str, cuts: Iterable[int] = ()) -> bytes:
    """The records in an encoding; compressed text is cut at the given bytes into gzip members or zstd frames."""
    text, pack = parts(encoding)
    data = b"".join(map(text, records))
    places = sorted({0, len(data), *(cut for cut in cuts if 0 < cut < len(data))})
    return b"".join(pack(data[a:b]) for a, b in pairwise(places)) if data else pack(data)


def oracle(data: bytes, encoding: str) -> list[Record]:
    """The records as `json` + `gzip` or `msgpack` + `zstandard` read them."""
    if encoding.endswith(".gz"):
        data = gzip.decompress(data)
    elif "zst" in encoding:
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True) as reader:
            data = reader.read()
    if encoding.startswith("jsonl"):
        return [json.loads(line) for line in data.split(b"\n") if line.strip()]
    unpacker = msgpack.Unpacker(io.BytesIO(data), raw=False, max_buffer_size=0)
    return list(unpacker)


def spec_of(folder: Path, files: dict[str, bytes], encoding: str, *fields: FieldSpec, batch: int = 1, shuffle: int = 0,
            infinite: bool = False) -> LoaderSpec:
    """Writes the files and names them, in order."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    source = FilesSource(tuple(files), encoding)
    return LoaderSpec(fields, (StageSpec("main", (source,), shuffle, infinite),), batch, str(folder))


def read_all(spec: LoaderSpec, **options: object) -> dict[str, np.ndarray]:
    """All rows of a finite stage, by field."""
    with Loader(spec, partial=True, **options) as loader:  # type: ignore[arg-type]
        batches = [{name: array[:batch.records].copy() for name, array in batch.arrays.items()} for batch in loader]
    return {field.name: np.concatenate([b[field.name] for b in batches]) for field in spec.fields}


def read_data(folder: Path, data: bytes, encoding: str, dtype: str, shape: tuple[int, ...] = (),
              column: str = "x") -> np.ndarray:
    """The field `x` of all records."""
    return read_all(spec_of(folder, {f"a.{encoding}": data}, encoding, FieldSpec("x", column, dtype, shape)))["x"]


def refusal(folder: Path, data: bytes, encoding: str, dtype: str = "i32", shape: tuple[int, ...] = (),
            column: str = "x") -> Diagnostic:
    """The diagnostic that reading raises."""
    with pytest.raises(SexpError) as caught:
        read_data(folder, data, encoding, dtype, shape, column)
    [diagnostic] = caught.value.diagnostics
    return diagnostic
