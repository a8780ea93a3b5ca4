"""What the first record of a file looks like: a hint for `(field …)`, that nothing depends on."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import numpy as np
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio.located import SourceFile
from sexpgpu.runtime.dataio.manifest.model import Column
from sexpgpu.runtime.dataio.remote.address import is_s3

_MOST_BYTES = 64 << 20
_MOST_COLUMNS = 50
_DTYPES = {"b": "bool", "i": "i{}", "u": "u{}", "f": "f{}"}


def columns_of(file: SourceFile) -> tuple[Column, ...]:
    """The columns that a field can be read from; none where the first record cannot be had that simply."""
    try:
        with _opened(file) as opened:
            parquet = file.encoding == "parquet"
            record, types = _first_parquet(opened) if parquet else (_first(opened, file.encoding), {})
    except (SexpError, OSError, ValueError, EOFError, KeyError, StopIteration, RecursionError, ArithmeticError):
        return ()
    if not isinstance(record, dict):
        return ()
    found = (_column(name, value, types.get(name)) for name, value in list(record.items())[:_MOST_COLUMNS])
    return tuple(column for column in found if column is not None)


def _column(name: object, value: object, dtype: np.dtype | None) -> Column | None:
    """None where the value is no tensor of numbers."""
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):
        return None
    kind = _DTYPES.get((dtype or array.dtype).kind)
    if kind is None or not isinstance(name, str) or 0 in array.shape:
        return None
    return Column(name, kind.format((dtype or array.dtype).itemsize * 8), array.shape)


def _first_parquet(opened: Any) -> tuple[object, dict[str, np.dtype]]:
    """The first row, and the element types of its columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(opened)
    types: dict[str, np.dtype] = {}
    for field in file.schema_arrow:
        element = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        while pa.types.is_list(element) or pa.types.is_large_list(element) or pa.types.is_fixed_size_list(element):
            element = element.value_type
        if pa.types.is_integer(element) or pa.types.is_floating(element) or pa.types.is_boolean(element):
            types[field.name] = np.dtype(element.to_pandas_dtype())
    rows = next(file.iter_batches(1, columns=list(types)))
    return (rows.to_pylist()[0] if rows.num_rows else None), types


def _first(opened: Any, encoding: str) -> object:
    if encoding.endswith(".gz"):
        opened = gzip.GzipFile(fileobj=opened)
    elif ".z" in encoding:
        import zstandard

        opened = io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(opened, read_across_frames=True))
    if encoding.startswith("jsonl"):
        line = b""
        while not line.strip():
            line = opened.readline(_MOST_BYTES).removeprefix(b"\xef\xbb\xbf")
            if not line:
                return None
        return json.loads(line)
    import msgpack

    return msgpack.Unpacker(opened, max_buffer_size=_MOST_BYTES).unpack()


def _opened(file: SourceFile) -> Any:
    if is_s3(file.path):
        from sexpgpu.runtime.dataio.remote.object_file import ObjectFile

        return io.BufferedReader(ObjectFile(file.path, file.name), 1 << 20)
    return open(file.path, "rb")
