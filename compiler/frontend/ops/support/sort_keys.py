"""What is sorted: an integer of 64 bits for each element, its place in the order above its index.

Any two keys differ, so whatever sorts integers sorts stably, and knows nothing of NaN, of zeros with a sign or of
dtypes. A key has room for 32 bits of the element; a wider one is sorted twice, by its lower half first.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.support.dtype import BOOL, F32, convert
from sexpgpu.compiler.frontend.values import Tensor
from sexpgpu.runtime.dtypes import DTYPES

I64 = DTYPES["i64"]
#: Bits of an index, and of an element, in a key.
HALF = 32
#: Type of the same width, infinity without a sign, by the type of a float.
_BITS = {"f32": ("i32", 0x7F800000), "f64": ("i64", 0x7FF0000000000000)}


def _const(number: int, like: ir.Value) -> ir.Value:
    return hlo.splat(number, hlo.shape_of(like), hlo.element_type(like))


def _of_float(value: ir.Value, kind: str, descending: bool, nan_first: bool) -> ir.Value:
    """Integers in the order of floats: zeros are equal, and NaN stands at an end."""
    integer, infinity = _BITS[kind]
    bits = hlo.bitcast_convert(value, hlo.shape_of(value), integer)
    width = 8 * DTYPES[integer].bytes
    magnitude = hlo.and_(bits, _const((1 << (width - 1)) - 1, bits))
    order = hlo.select(hlo.compare("LT", bits, _const(0, bits)), hlo.negate(magnitude), magnitude)
    if descending:
        order = hlo.negate(order)
    end = _const(-(1 << (width - 1)) if nan_first else (1 << (width - 1)) - 1, bits)
    return hlo.select(hlo.compare("GT", magnitude, _const(infinity, bits)), end, order)


def parts(x: Tensor, descending: bool, nan_first: bool) -> list[ir.Value]:
    """The order of the elements in i64 of 32 bits with a sign: one part, or the lower and the upper half."""
    if x.dtype.is_float:
        wide = x.dtype if x.dtype.bytes == 8 else F32
        order = _of_float(convert(x.value, x.dtype, wide), wide.mlir, descending, nan_first)
    else:
        if x.dtype.name == "u64":
            order = hlo.bitcast_convert(x.value, hlo.shape_of(x.value), "i64")
            order = hlo.xor(order, _const(-1 << 63, order))
        elif x.dtype is BOOL:
            order = hlo.select(x.value, *(hlo.splat(n, hlo.shape_of(x.value), "i64") for n in (1, 0)))
        else:
            order = convert(x.value, x.dtype, I64)
            if x.dtype.name == "u32":
                order = hlo.subtract(order, _const(1 << (HALF - 1), order))
        order = hlo.not_(order) if descending else order
    order = hlo.convert(order, "i64")
    if x.dtype.bytes < 8:
        return [order]
    low = hlo.subtract(hlo.and_(order, _const((1 << HALF) - 1, order)), _const(1 << (HALF - 1), order))
    return [low, hlo.shift_right_arithmetic(order, _const(HALF, order))]


def keys(part: ir.Value, axis: int) -> ir.Value:
    """Each element's part above its index along the axis."""
    return hlo.or_(hlo.shift_left(part, _const(HALF, part)), hlo.iota(hlo.shape_of(part), axis, "i64"))


def indices(sorted_keys: ir.Value) -> ir.Value:
    return hlo.convert(hlo.and_(sorted_keys, _const((1 << HALF) - 1, sorted_keys)), "i32")
