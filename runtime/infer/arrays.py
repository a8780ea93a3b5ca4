"""Arrays of a user as the inputs of an export, and its outputs as arrays for a user.

Shapes must be those of the export: they are compiled in. Between dtypes only what loses nothing but digits is done:
integers into integers that hold them, integers into floats that hold them exactly, floats into floats (rounded, no
overflow), 0 and 1 into bools and back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sexpgpu.runtime.artifact.manifest import Field
from sexpgpu.runtime.dtypes import DTYPES

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Unfit(Exception):
    """The array is not one for the input; the text says why, as a fact."""


def fit(field: Field, given: ArrayLike) -> NDArray:
    """`given` as a contiguous array of the input's shape and dtype (bf16 as u16 bits). Raises `Unfit`."""
    try:
        array = np.asarray(given)
    except ValueError as error:  # ragged lists
        raise Unfit("its rows are not of one length") from error
    if array.dtype.kind not in "biuf":
        raise Unfit(f"it holds {array.dtype}, not numbers")
    if array.shape != field.shape:
        raise Unfit(f"its shape is {_shape(array.shape)}, not {_shape(field.shape)}")
    dtype = DTYPES[field.dtype]
    if dtype.name == "bf16":
        return _bf16(_cast(array, np.dtype(np.float32)))
    return np.ascontiguousarray(_cast(array, np.dtype(dtype.numpy))).reshape(field.shape)


def _cast(array: NDArray, to: np.dtype) -> NDArray:
    if array.dtype == to:
        return array
    if array.dtype.kind == "f" and to.kind in "iub":
        raise Unfit(f"it holds floats ({array.dtype}), not {'truth values' if to.kind == 'b' else 'integers'}")
    with np.errstate(over="ignore", invalid="ignore"):
        cast = array.astype(to)
    if array.dtype.kind == "f":
        if (np.isinf(cast) & ~np.isinf(array)).any():
            raise Unfit(f"a number in it is too large for {to}")
    elif not _holds(to, array) and not (cast.astype(object) == array.astype(object)).all():
        raise Unfit(f"a number in it has no {to}")
    return cast


def _holds(to: np.dtype, array: NDArray) -> bool:
    """Whether every integer of the array's range is one of `to`; where not, each has to be looked at."""
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    if to.kind == "f":
        most = 2 ** (np.finfo(to).nmant + 1)
        return -most <= low and high <= most
    if to.kind == "b":
        return low >= 0 and high <= 1
    return np.iinfo(to).min <= low and high <= np.iinfo(to).max


def _bf16(array: NDArray) -> NDArray:
    """f32 as the bits of bf16, rounded to the nearest, ties to even."""
    bits = np.ascontiguousarray(array).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    nan = np.isnan(array)
    return np.where(nan, 0x7FC0, rounded).astype(np.uint16)


def out(field: Field, array: NDArray) -> NDArray:
    """An output as a copy of its own; bf16, which NumPy lacks, as f32."""
    if field.dtype == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    return np.array(array)


def _shape(shape: tuple[int, ...]) -> str:
    return f"[{' '.join(map(str, shape))}]"
