"""What is sorted: integers of 32 bits in the order of the elements.

So a sort knows nothing of NaN, of zeros with a sign or of dtypes. A wider element is sorted twice, by its lower half
first.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.support.dtype import BOOL, F32, I32, convert
from sexpgpu.compiler.frontend.values import Tensor

#: Of a float: the integer of its width, and infinity without a sign.
_BITS = {"f32": ("i32", 0x7F800000), "f64": ("i64", 0x7FF0000000000000)}


def _const(number: int, like: ir.Value) -> ir.Value:
    return hlo.splat(number, hlo.shape_of(like), hlo.element_type(like))


def _of_float(value: ir.Value, descending: bool, nan_first: bool) -> ir.Value:
    """Integers in the order of floats: zeros are equal, and NaN stands at an end."""
    integer, infinity = _BITS[str(hlo.element_type(value))]
    bits = hlo.bitcast_convert(value, hlo.shape_of(value), integer)
    half = 1 << (ir.IntegerType(hlo.element_type(bits)).width - 1)
    magnitude = hlo.and_(bits, _const(half - 1, bits))
    order = hlo.select(hlo.compare("LT", bits, _const(0, bits)), hlo.negate(magnitude), magnitude)
    order = hlo.negate(order) if descending else order
    isnan = hlo.compare("GT", magnitude, _const(infinity, bits))
    return hlo.select(isnan, _const(-half if nan_first else half - 1, bits), order)


def _halves(order: ir.Value, unsigned: bool) -> list[ir.Value]:
    """The lower and the upper 32 bits of i64, as integers with a sign in the same order."""
    low = hlo.convert(hlo.and_(order, _const((1 << 32) - 1, order)), "i32")
    high = hlo.convert(hlo.shift_right_arithmetic(order, _const(32, order)), "i32")
    return [hlo.xor(word, _const(-1 << 31, word)) if flip else word for word, flip in ((low, True), (high, unsigned))]


def parts(x: Tensor, descending: bool, nan_first: bool) -> list[ir.Value]:
    """i32 in the order of the elements, or the lower and the upper half of that."""
    unsigned = x.dtype.kind == "unsigned"
    if x.dtype.is_float:
        order = _of_float(x.value if x.dtype.bytes == 8 else convert(x.value, x.dtype, F32), descending, nan_first)
        return _halves(order, False) if x.dtype.bytes == 8 else [order]
    if x.dtype.bytes == 8:
        found = _halves(hlo.bitcast_convert(x.value, hlo.shape_of(x.value), "i64") if unsigned else x.value, unsigned)
    elif x.dtype.bytes == 4 and unsigned:
        bits = hlo.bitcast_convert(x.value, hlo.shape_of(x.value), "i32")
        found = [hlo.xor(bits, _const(-1 << 31, bits))]
    elif x.dtype is BOOL:
        found = [hlo.select(x.value, *(hlo.splat(n, hlo.shape_of(x.value), "i32") for n in (1, 0)))]
    else:
        found = [convert(x.value, x.dtype, I32)]
    return [hlo.not_(order) for order in found] if descending else found
