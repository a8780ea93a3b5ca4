"""Tensors out of a call's arguments, and results with shapes that remember where they came from.

Assumes a `Call` with location and insertion point set. Everything that is refused here is refused with a code of the
TYPE family at the argument's own span.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, TypeGuard

from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.compiler.frontend.ops.registry import Call
from sexpgpu.compiler.frontend.values import Dim, HostScalar, Origin, Tensor
from sexpgpu.diagnostics import Edit, Fix, Span
from sexpgpu.diagnostics.record import record
from sexpgpu.runtime.dtypes import DType

if TYPE_CHECKING:
    from iree.compiler import ir


@record(eq=False)
class Reduced(Tensor):
    """What a reduction without `:keep` gives: it remembers the shape `:keep true` would have given, for the fix of a
    broadcast that fails for the want of that axis."""

    kept: tuple[Dim, ...]


def give(call: Call, value: ir.Value, dtype: DType, dims: Sequence[int]) -> Tensor:
    """The result of `call`. Sizes without an origin are said to come from this operation."""
    maker = call.maker
    return Tensor(value, dtype, _with_origins(maker, dims), maker.span or call.span)


def with_origins(call: Call, dims: Sequence[int]) -> tuple[Dim, ...]:
    """The sizes of a result; those without an origin come from this call."""
    return _with_origins(call.maker, dims)


def _with_origins(maker: Origin, dims: Sequence[int]) -> tuple[Dim, ...]:
    return tuple(d if isinstance(d, Dim) and d.origin else Dim(d, maker) for d in dims)


def is_number(value: object) -> TypeGuard[int | float]:
    """A compile-time number; booleans count, as 0 and 1."""
    return isinstance(value, (int, float))


def number_argument(call: Call, parameter: str, value: object) -> int | float:
    """A number known at compile time, or E-TYPE-003."""
    if is_number(value):
        return value
    call.fail("E-TYPE-003", f"the {parameter} of `{call.op.name}` is a number known at compile time, not "
              f"{describe(value)}", at=call.where(parameter), label=f"this is {describe(value)}")


def show_shape(dims: Sequence[int]) -> str:
    return "[" + " ".join(str(int(d)) for d in dims) + "]"


def describe(value: object) -> str:
    """What a value is, in the few words of a label: `an i32 tensor [4 32]`, `the string "abc"`, `a function`."""
    match value:
        case Tensor():
            article = "an" if value.dtype.name[0] in "if" else "a"
            shape = f" {show_shape(value.shape)}" if value.shape else " scalar"
            return f"{article} {value.dtype}{shape}" if not value.shape else f"{article} {value.dtype} tensor{shape}"
        case HostScalar(kind="choice"):
            return f"one of the names {', '.join(f'`{name}`' for name in value.choices)}"
        case HostScalar():
            return "a value of ctx"
        case None:
            return "nil"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value!r}" if not isinstance(value, Dim) else f"the number {int(value)}"
        case str():
            return f'the string "{value}"' if len(value) <= 24 else "a string"
        case Keyword():
            return f"the keyword `{value}`"
        case tuple():
            return f"a list of {len(value)}"
        case _:
            return "a function" if callable(value) or type(value).__name__ in ("Closure", "Op") else "a value"


def wrapped(span: Span, before: str, after: str) -> tuple[Edit, ...]:
    """The edits that put text around an argument."""
    return (Edit(Span(span.file, span.line, span.column, span.line, span.column), before),
            Edit(Span(span.file, span.end_line, span.end_column, span.end_line, span.end_column), after))


def cast_fix(span: Span, dtype: str) -> Fix:
    return Fix(f"cast it: `(cast … :{dtype})`", wrapped(span, "(cast ", f" :{dtype})"))


def rule_note(call: Call) -> list[str]:
    return [f"rule: `{call.op.name}`: {call.op.rule}"] if call.op.rule else []


def refuse_kind(call: Call, span: Span, value: object, wanted: str) -> NoReturn:
    """A value of another kind stands where a tensor must."""
    if isinstance(value, HostScalar):
        call.fail("E-TYPE-012", f"`{call.op.name}` takes {wanted}, and a value of `ctx` is a scalar of the host",
                  at=span, label="this follows `ctx`",
                  fix="in the graph, `(schedule :name (fn (ctx) …))` gives a scalar tensor that follows `ctx`")
    call.fail("E-TYPE-002", f"`{call.op.name}` takes {wanted}, not {describe(value)}", at=span,
              label=f"this is {describe(value)}", notes=rule_note(call))


def require_graph(call: Call) -> None:
    """Tensors are staged in the graph; a function of `ctx` has none."""
    if not call.in_graph:
        call.fail("E-TYPE-016", f"`{call.op.name}` makes a tensor, and functions of `ctx` compute with numbers",
                  label="a tensor here")


def tensor(call: Call, parameter: str, value: object, index: int | None = None) -> Tensor:
    """The argument as a tensor, or E-TYPE-002."""
    if isinstance(value, Tensor):
        return value
    refuse_kind(call, call.where(parameter, index), value, "a tensor")


def float_tensor(call: Call, parameter: str, value: object) -> Tensor:
    """The argument as a tensor of floats, or E-TYPE-007."""
    x = tensor(call, parameter, value)
    require_float(call, x.dtype, call.where(parameter))
    return x


def require_float(call: Call, dtype: DType, span: Span) -> None:
    if not dtype.is_float:
        call.fail("E-TYPE-007", f"`{call.op.name}` is defined for floats, and its tensor is {dtype}", at=span,
                  label=f"this is {dtype}", fix=cast_fix(span, "f32"))


def integer_tensor(call: Call, parameter: str, value: object, what: str) -> Tensor:
    """The argument as a tensor of integers (`what` they are: "indices"), or E-TYPE-008."""
    x = tensor(call, parameter, value)
    if not x.dtype.is_integer:
        span = call.where(parameter)
        call.fail("E-TYPE-008", f"`{call.op.name}` takes {what} as integers, and these are {x.dtype}", at=span,
                  label=f"this is {x.dtype}", fix=cast_fix(span, "i32"))
    return x
