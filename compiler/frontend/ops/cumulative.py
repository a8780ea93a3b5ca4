"""Running sums and products along an axis.

By doubling: after step k each element holds its last 2^k. That is log2(n) additions of shifted copies, all of which
have gradients and compile everywhere, where a window of n would be n²/2 additions.
"""

from __future__ import annotations

from collections.abc import Callable

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.reductions import narrow, wide
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.axes import axis_of
from sexpgpu.compiler.frontend.ops.support.staged import float_tensor, give, tensor
from sexpgpu.compiler.frontend.values import Tensor

GROUP = "reductions"


def shifted(x: ir.Value, axis: int, places: int, fill: float) -> ir.Value:
    """Moved up by `places`, `fill` where nothing is."""
    shape = hlo.shape_of(x)
    low = [places if i == axis else 0 for i in range(len(shape))]
    return hlo.pad(x, hlo.splat(fill, [], hlo.element_type(x)), low, [-n for n in low])


#: Far below every finite logarithm of a sum, and finite: the gradient of an infinity would be NaN.
BOTTOM = -1e38


def log_add(a: ir.Value, b: ir.Value) -> ir.Value:
    """log(exp(a) + exp(b)), without overflow; equal infinities are no difference."""
    zero = hlo.zeros_like(a)
    apart = hlo.select(hlo.compare("EQ", a, b), zero, hlo.subtract(a, b))
    return hlo.add(hlo.maximum(a, b), hlo.log_plus_one(hlo.exponential(hlo.negate(hlo.abs_(apart)))))


def _running(name: str, combine: Callable[[ir.Value, ir.Value], ir.Value], neutral: float, doc: str) -> None:
    @op(name, "x &key (axis 0)", group=GROUP, rule="[… n …] -> [… n …]", doc=doc)
    def running(call: Call, x: object, axis: object) -> Tensor:
        x = tensor(call, "x", x)
        along = axis_of(call, x, "axis", axis)
        value, dtype = wide(x)
        places = 1
        while places < x.shape[along]:
            value = combine(value, shifted(value, along, places, neutral))
            places *= 2
        value, dtype = narrow(value, x, dtype)
        return give(call, value, dtype, x.shape)


_running("cumsum", hlo.add, 0, "Sum of each element and those before it along an axis.")
_running("cumprod", hlo.multiply, 1, "Product of each element and those before it along an axis.")


@op("logcumsumexp", "x &key (axis 0)", group=GROUP, rule="[… n …] -> [… n …]",
    doc="Logarithm of the running sum of exponentials, without overflow.")
def logcumsumexp(call: Call, x: object, axis: object) -> Tensor:
    x = float_tensor(call, "x", x)
    along = axis_of(call, x, "axis", axis)
    value, dtype = wide(x)
    shape, kind = hlo.shape_of(value), hlo.element_type(value)
    nothing = hlo.compare("EQ", value, hlo.splat(float("-inf"), shape, kind))
    value = hlo.select(nothing, hlo.splat(BOTTOM, shape, kind), value)
    places = 1
    while places < x.shape[along]:
        value = log_add(value, shifted(value, along, places, BOTTOM))
        places *= 2
    low = hlo.compare("LT", value, hlo.splat(BOTTOM / 2, shape, kind))
    value = hlo.select(low, hlo.splat(float("-inf"), shape, kind), value)
    value, dtype = narrow(value, x, dtype)
    return give(call, value, dtype, x.shape)
