"""Named tensors in a file: the safetensors format, written and read a tensor at a time.

The `safetensors` package wants every tensor in memory as bytes and has no bf16 for NumPy; the format is a length, a
JSON header and raw little-endian data, so it is written here. The tests read our files with the package and the other
way round. A header is checked completely before any of its offsets is used.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sexpgpu.runtime.dtypes import DTYPES
from sexpgpu.runtime.layers import names_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sexpgpu.runtime.artifact.manifest import StateTensor

NAMES = {"f32": "F32", "bf16": "BF16", "f16": "F16", "f64": "F64", "i8": "I8", "i16": "I16", "i32": "I32", "i64": "I64",
         "u8": "U8", "u16": "U16", "u32": "U32", "u64": "U64", "bool": "BOOL"}
DTYPE_OF = {theirs: ours for ours, theirs in NAMES.items()}
HEADER_LIMIT = 100_000_000
"""Bytes; the format's own limit."""


class BadTensors(Exception):
    """The file is no whole safetensors file; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a tensor is, without its numbers. `dtype` is a name of ours, or theirs where we have none."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * DTYPES[self.dtype].bytes

    def __str__(self) -> str:
        return f"{self.dtype} [{' '.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: enough to tell later whether it is still that."""

    bytes: int
    sha256: str


def write(path: Path, shapes: Sequence[Shape], arrays: Iterable[NDArray]) -> Written:
    """Writes `arrays` (bf16 as u16 bits) in the order of `shapes`, and has the system put them on the disk."""
    header: dict[str, object] = {"__metadata__": {"format": "sexpgpu"}}
    offset = 0
    for shape in shapes:
        header[shape.name] = {"dtype": NAMES[shape.dtype], "shape": list(shape.shape),
                              "data_offsets": [offset, offset + shape.bytes]}
        offset += shape.bytes
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    digest, size = hashlib.sha256(), 0
    with open(path, "wb") as file:
        def put(data: bytes | memoryview) -> None:
            nonlocal size
            file.write(data)
            digest.update(data)
            size += len(data)

        put(len(text).to_bytes(8, "little"))
        put(text)
        for shape, array in zip(shapes, arrays, strict=True):
            assert array.nbytes == shape.bytes, shape.name
            put(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        file.flush()
        os.fsync(file.fileno())
    return Written(size, digest.hexdigest())


class TensorFile:
    """An open file: `shapes` by name, and `read` for the numbers. Raises `BadTensors` or `OSError` on opening."""

    def __init__(self, path: Path) -> None:
        self._path = path
        size = path.stat().st_size
        with open(path, "rb") as file:
            head = file.read(8)
            length = int.from_bytes(head, "little")
            if len(head) < 8 or length > min(HEADER_LIMIT, size - 8):
                raise BadTensors("it does not begin with the length of a header")
            text = file.read(length)
        self._start = 8 + length
        self._offsets: dict[str, int] = {}
        self.shapes: dict[str, Shape] = {}
        try:
            header = json.loads(text)
            entries = [(name, entry) for name, entry in header.items() if name != "__metadata__"]
            for name, entry in entries:
                dims = entry["shape"]
                begin, end = entry["data_offsets"]
                if not all(type(n) is int and n >= 0 for n in (*dims, begin, end)) or begin > end:
                    raise ValueError("a negative number")
                self.shapes[name] = Shape(name, DTYPE_OF.get(entry["dtype"], str(entry["dtype"])), tuple(dims))
                self._offsets[name] = begin
                if end > size - self._start:
                    raise BadTensors(f"`{name}` ends behind the end of the file")
                if entry["dtype"] in DTYPE_OF and end - begin != self.shapes[name].bytes:
                    raise BadTensors(f"`{name}` does not have as many bytes as its shape says")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise BadTensors("its header is not one of safetensors") from error

    def read(self, name: str) -> NDArray:
        """A tensor by name, bf16 as u16 bits."""
        shape = self.shapes[name]
        count = math.prod(shape.shape)
        kind = np.dtype(DTYPES[shape.dtype].numpy)
        array = np.fromfile(self._path, kind, count, offset=self._start + self._offsets[name])
        if array.size != count:
            raise BadTensors(f"`{name}` is cut short")
        return array.reshape(shape.shape)


def same(path: Path, written: Written) -> bool:
    """Whether the file at `path` is the one that was written. Reads all of it."""
    try:
        if path.stat().st_size != written.bytes:
            return False
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == written.sha256
    except OSError:
        return False


def layers_of(tensor: StateTensor) -> list[Shape]:
    """What a tensor of state is in a file: a stack of layers is a tensor for each, under its own name."""
    names, shape = names_of(tensor.name, tensor.shape)
    return [Shape(name, tensor.dtype, shape) for name in names]


def read_state(file: TensorFile, tensor: StateTensor) -> NDArray:
    """A tensor of state out of a file. Raises `BadTensors`, or `OSError`."""
    return np.stack([file.read(part.name) for part in layers_of(tensor)]).reshape(tensor.shape)
