"""Running sums and products along an axis: windows that passes give a form (`compiler/running.py`)."""

from __future__ import annotations

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.reductions import narrow, wide
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.axes import axis_of
from sexpgpu.compiler.frontend.ops.support.staged import float_tensor, give, tensor
from sexpgpu.compiler.frontend.values import Tensor
from sexpgpu.compiler.running import recurrence, running, shifted

GROUP = "reductions"
#: Far below every finite logarithm of a sum, and finite: the gradient of an infinity would be NaN.
BOTTOM = -1e38


def _running(name: str, kind: str, doc: str) -> None:
    @op(name, "x &key (axis 0)", group=GROUP, rule="[… n …] -> [… n …]", doc=doc)
    def operation(call: Call, x: object, axis: object) -> Tensor:
        x = tensor(call, "x", x)
        along = axis_of(call, x, "axis", axis)
        value, dtype = wide(x)
        value, dtype = narrow(running(value, along, kind), x, dtype)
        return give(call, value, dtype, x.shape)


_running("cumsum", "add", "Sum of each element and those before it along an axis.")
_running("cumprod", "multiply", "Product of each element and those before it along an axis.")


@op("logcumsumexp", "x &key (axis 0)", group=GROUP, rule="[… n …] -> [… n …]",
    doc="Logarithm of the running sum of exponentials, without overflow.")
def logcumsumexp(call: Call, x: object, axis: object) -> Tensor:
    """With m the running maximum, m + log s, where s[i] = exp(m[i - 1] - m[i]) s[i - 1] + exp(x[i] - m[i]). What m is
    makes no difference to the result, so it needs no derivative."""
    x = float_tensor(call, "x", x)
    along = axis_of(call, x, "axis", axis)
    value, dtype = wide(x)
    shape, kind = hlo.shape_of(value), hlo.element_type(value)
    nothing = hlo.compare("EQ", value, hlo.splat(float("-inf"), shape, kind))
    value = hlo.select(nothing, hlo.splat(BOTTOM, shape, kind), value)
    # The cut stands before the maximum: nothing is to be differentiated behind it.
    shut = hlo.marker("stop_gradient", [value], [value.type]).result
    # Finite, so that an infinity less itself is none: the sum becomes infinite instead.
    most = hlo.minimum(running(shut, along, "maximum"), hlo.splat(-BOTTOM, shape, kind))
    faded = hlo.exponential(hlo.subtract(shifted(most, along, 1, BOTTOM), most))
    total = recurrence(faded, hlo.exponential(hlo.subtract(value, most)), along)
    value = hlo.add(most, hlo.log(total))
    low = hlo.compare("LT", value, hlo.splat(BOTTOM / 2, shape, kind))
    value = hlo.select(low, hlo.splat(float("-inf"), shape, kind), value)
    value, dtype = narrow(value, x, dtype)
    return give(call, value, dtype, x.shape)
