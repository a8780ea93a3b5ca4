"""One dispatch for what works on numbers, on host scalars and on tensors.

An `Elementwise` holds the three meanings of one operation. Which applies follows from the arguments: all numbers, at
compile time; with a value of `ctx`, scalar code of the host; with a tensor, the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from sexpgpu.compiler.frontend.ops.registry import Call
from sexpgpu.compiler.frontend.ops.support import host
from sexpgpu.compiler.frontend.ops.support.broadcast import Argument, agree
from sexpgpu.compiler.frontend.ops.support.dtype import BOOL
from sexpgpu.compiler.frontend.ops.support.staged import (
    cast_fix,
    describe,
    give,
    is_number,
    refuse_kind,
    require_float,
)
from sexpgpu.compiler.frontend.values import HostScalar, Tensor
from sexpgpu.diagnostics import Span
from sexpgpu.diagnostics.record import record
from sexpgpu.runtime.dtypes import DType

if TYPE_CHECKING:
    from iree.compiler import ir

World = Literal["number", "host", "tensor"]


@record
class Elementwise:
    """`number` gets Python numbers; `host`, when there is one, host scalars and the span; `stage`, values of one
    type. `domain` says which dtypes `stage` takes; with `keep_bool`, bools stay bools. `result` is the dtype of the
    graph's result when it is not the operands'."""

    number: Callable[..., object]
    host: Callable[..., HostScalar] | None
    stage: Callable[..., ir.Value]
    domain: Literal["number", "float", "integer", "bits", "any"] = "number"
    keep_bool: bool = False
    result: DType | None = None


def world_of(call: Call, arguments: Sequence[Argument]) -> World:
    """Where the operation is computed; E-TYPE-003 for what is no number, E-TYPE-012 for a ctx value beside a tensor."""
    world: World = "number"
    for argument in arguments:
        value = argument.value
        if isinstance(value, Tensor):
            world = "tensor"
        elif isinstance(value, HostScalar):
            world = "host" if world == "number" else world
        elif not is_number(value):
            call.fail("E-TYPE-003", f"`{call.op.name}` takes numbers and tensors, not {describe(value)}",
                      at=argument.span, label=f"this is {describe(value)}")
    if world == "tensor":
        for argument in arguments:
            if isinstance(argument.value, HostScalar):
                refuse_kind(call, argument.span, argument.value, "tensors here")
    return world


def elementwise(call: Call, spec: Elementwise, arguments: Sequence[Argument]) -> object:
    """The result of `spec` on the arguments, wherever that is computed."""
    match world_of(call, arguments):
        case "number":
            return compute(call, spec.number, [a.value for a in arguments])
        case "host":
            if spec.host is None:
                call.fail("E-TYPE-012", f"`{call.op.name}` does not work on values of `ctx`", label="a value of ctx")
            return spec.host(*[host.scalar(a.value, a.span) for a in arguments], call.span)
        case "tensor":
            return stage(call, spec, arguments)


def stage(call: Call, spec: Elementwise, arguments: Sequence[Argument]) -> Tensor:
    """The operation in the graph: operands agree in dtype and shape, then `spec.stage`."""
    if spec.domain == "float":
        for argument in arguments:
            if isinstance(argument.value, Tensor):
                require_float(call, argument.value.dtype, argument.span)
    dtype, dims, operands = agree(call, arguments, keep_bool=spec.keep_bool)
    if (spec.domain == "integer" and not dtype.is_integer) or (spec.domain == "bits" and dtype.is_float):
        span = next(a.span for a in arguments if isinstance(a.value, Tensor))
        call.fail("E-TYPE-008", f"`{call.op.name}` works on integers, and its tensor is {dtype}", at=span,
                  label=f"this is {dtype}", fix=cast_fix(span, "i32"))
    if spec.domain == "number" and dtype is BOOL:
        call.fail("E-TYPE-017", f"`{call.op.name}` of booleans", at=arguments[0].span, label="this is bool",
                  fix=cast_fix(arguments[0].span, "i32"))
    return give(call, spec.stage(*operands), spec.result or dtype, dims)


def compute(call: Call, function: Callable[..., object], numbers: Sequence[object]) -> object:
    """Compile-time arithmetic; what Python refuses is E-VALUE-014."""
    try:
        return function(*numbers)
    except ZeroDivisionError:
        call.fail("E-VALUE-014", f"`{call.op.name}` divides by zero", label="the divisor is 0")
    except (OverflowError, ValueError) as error:
        shown = " ".join(repr(n) for n in numbers)
        call.fail("E-VALUE-014", f"`({call.op.name} {shown})` has no result", label=str(error))


def at(call: Call, parameter: str, value: object, index: int | None = None) -> Argument:
    """An argument with its span."""
    span: Span = call.where(parameter) if index is None else call.where(parameter, index)
    return Argument(value, span)


def at_rest(call: Call, parameter: str, values: Sequence[object]) -> list[Argument]:
    """The elements of a `&rest` parameter, each with its span."""
    return [at(call, parameter, value, i) for i, value in enumerate(values)]
