"""Bits of integers: and, or, xor, not, shifts. Compile-time integers are unbounded, as two's complement."""

from __future__ import annotations

import operator
from collections.abc import Callable

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.elementwise import Elementwise, at, elementwise
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.values import Tensor

GROUP = "bits"
NO_GRAD = "none: integers have none"


def stage_shift_right(a: ir.Value, b: ir.Value) -> ir.Value:
    """Keeps the sign of signed integers."""
    unsigned = ir.IntegerType(hlo.element_type(a)).is_unsigned
    return hlo.shift_right_logical(a, b) if unsigned else hlo.shift_right_arithmetic(a, b)


def _integers(call: Call, *named: tuple[str, object]) -> None:
    """Floats and the like are refused; tensors are looked at when they are staged."""
    for parameter, value in named:
        if not isinstance(value, (int, Tensor)):
            call.fail("E-TYPE-008", f"`{call.op.name}` works on integers, not {describe(value)}",
                      at=call.where(parameter), label=f"this is {describe(value)}")


def _binary(name: str, number: Callable[[int, int], int], stage: Callable[..., ir.Value], doc: str) -> None:
    @op(name, "x y", group=GROUP, rule="broadcast(int int) -> int", grad=NO_GRAD, doc=doc)
    def apply(call: Call, x: object, y: object) -> object:
        _integers(call, ("x", x), ("y", y))
        spec = Elementwise(number, None, stage, domain="integer")
        return elementwise(call, spec, [at(call, "x", x), at(call, "y", y)])


_binary("bit-and", operator.and_, hlo.and_, "The bits of both.")
_binary("bit-or", operator.or_, hlo.or_, "The bits of either.")
_binary("bit-xor", operator.xor, hlo.xor, "The bits of one and not both.")
_binary("shift-left", operator.lshift, hlo.shift_left, "Bits moved up by `y` places, zeros after them.")
_binary("shift-right", operator.rshift, stage_shift_right,
        "Bits moved down by `y` places; the sign of signed integers stays.")


@op("bit-not", "x", group=GROUP, rule="int -> int", grad=NO_GRAD, doc="Every bit turned.")
def bit_not(call: Call, x: object) -> object:
    _integers(call, ("x", x))
    return elementwise(call, Elementwise(operator.invert, None, hlo.not_, domain="integer"), [at(call, "x", x)])
