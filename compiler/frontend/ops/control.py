"""What steers differentiation: stop-gradient."""

from __future__ import annotations

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.staged import give, is_number, tensor
from sexpgpu.compiler.frontend.values import Tensor


@op("stop-gradient", "x", group="control", rule="a -> a", grad="none: that is its purpose",
    doc="The value itself, as a constant to the gradient.")
def stop_gradient(call: Call, x: object) -> object:
    if is_number(x):
        return x
    if isinstance(x, tuple):
        return tuple(stop_gradient(call, part) if isinstance(part, (Tensor, tuple)) else part for part in x)
    x = tensor(call, "x", x)
    return give(call, hlo.marker("stop_gradient", [x.value], [x.value.type]).result, x.dtype, x.shape)
