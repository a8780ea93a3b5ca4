"""Axes, counts and shapes given as arguments: whole numbers known at compile time, checked against a tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sexpgpu.compiler.frontend.ops.registry import Call
from sexpgpu.compiler.frontend.ops.support.explain import place
from sexpgpu.compiler.frontend.ops.support.staged import describe, rule_note, show_shape
from sexpgpu.compiler.frontend.values import Dim, Tensor
from sexpgpu.diagnostics import Edit, Fix, Span

#: No tensor has more: a terabyte of single bytes, and far from where 64 bits end.
MOST_ELEMENTS = 1 << 40


def integer(call: Call, parameter: str, value: object, what: str = "", span: Span | None = None) -> int:
    """An integer argument (a `Dim` stays one); E-TYPE-006 for anything else, with the two ways to round a float."""
    what = what or f"`{parameter}`"
    if isinstance(value, int) and not isinstance(value, bool):
        if -MOST_ELEMENTS <= value <= MOST_ELEMENTS:
            return value
        call.fail("E-SHAPE-009", f"{what} of `{call.op.name}` is {value}, more than any tensor has",
                  at=span or call.where(parameter), label="too large")
    span = span or call.where(parameter)
    fix: Fix | str | None = None
    if isinstance(value, float):
        near = f" {int(value)}" if value.is_integer() else ""
        fix = f"`(round …)` gives the nearest integer{near}; `(quotient a b)` divides without leaving the integers"
    elif isinstance(value, Tensor):
        fix = "sizes and axes are known at compile time; `(dim x 0)` gives the size of an axis"
    call.fail("E-TYPE-006", f"{what} of `{call.op.name}` is an integer, not {describe(value)}", at=span,
              label=f"this is {describe(value)}", secondary=call.written(span), fix=fix)


def axis_of(call: Call, x: Tensor, parameter: str, value: object, *, extra: int = 0, name: str = "the tensor") -> int:
    """An axis of `x` from 0 (negative counts from the end). `extra` more axes are allowed for a new one."""
    axis = integer(call, parameter, value, "the axis")
    rank = x.rank + extra
    if -rank <= axis < rank:
        return axis % rank
    span = call.where(parameter)
    if rank == 0:
        call.fail("E-SHAPE-003", f"`{call.op.name}` along axis {axis}, and {name} is a scalar", at=span,
                  label="a scalar has no axes", notes=rule_note(call))
    fix = Fix(f"axes are {-rank} to {rank - 1}; the last one is `-1`", (Edit(span, "-1"),))
    call.fail("E-SHAPE-003", f"`{call.op.name}` along axis {axis} of {name} of {x.rank} "
              f"{'axis' if x.rank == 1 else 'axes'}, {show_shape(x.shape)}", at=span,
              label=f"no axis {axis}", notes=rule_note(call), fix=fix)


def axes_of(call: Call, x: Tensor, parameter: str, value: object) -> tuple[int, ...]:
    """One axis, a list of axes, or nil for all of them; sorted, each once."""
    if value is None:
        return tuple(range(x.rank))
    if not isinstance(value, tuple):
        return (axis_of(call, x, parameter, value),)
    axes = [axis_of(call, x, parameter, a) for a in value]
    for i, axis in enumerate(axes):
        if axis in axes[:i]:
            call.fail("E-SHAPE-003", f"`{call.op.name}` names axis {axis} twice", at=call.where(parameter),
                      label=f"axis {axis} stands twice")
    return tuple(sorted(axes))


def shape_argument(call: Call, parameter: str, value: object, *, wildcard: bool = False) -> tuple[int, ...]:
    """A shape: a list of integers above zero (one integer is a shape of one axis). With `wildcard`, -1 is let
    through for `reshape` to fill in."""
    span = call.where(parameter)
    sizes: Sequence[object] = value if isinstance(value, tuple) else (value,)
    if not isinstance(value, tuple) and not isinstance(value, (int, float)):
        call.fail("E-TYPE-013", f"the shape of `{call.op.name}` is a list of integers, not {describe(value)}", at=span,
                  label=f"this is {describe(value)}", fix="a shape is written `[2 3]`")
    result = []
    for i, size in enumerate(sizes):
        if type(size) is not Dim or size < 1:   # only what is wrong is looked up in the text
            where = call.item(parameter, i) if isinstance(value, tuple) else span
            size = integer(call, parameter, size, f"axis {i} of the shape", where)
        number = size
        if number < 1 and not (wildcard and number == -1):
            call.fail("E-SHAPE-009", f"axis {i} of the shape of `{call.op.name}` is {int(number)}", at=where,
                      label=f"size {int(number)}",
                      notes=_origin_of_size(number) or ["a size is 1 or more: tensors without elements do not exist"])
        result.append(number)
    if abs(math.prod(result)) > MOST_ELEMENTS:
        call.fail("E-SHAPE-009", f"a tensor of {math.prod(result):,} elements is more than any device holds", at=span,
                  label="too large")
    return tuple(result)


def counted(call: Call, size: int, at: Span) -> None:
    """Refuses an axis whose indices do not fit the i32 that `call` gives them in, or counts with."""
    if size > 1 << 31:
        call.fail("E-SHAPE-009", f"`{call.op.name}` counts along an axis of {int(size):,}, and its indices are i32",
                  at=at, label="too long an axis")


def _origin_of_size(number: int) -> list[str]:
    if isinstance(number, Dim) and number.origin:
        return [f"the {int(number)} comes from {place(number.origin)}"]
    return []
