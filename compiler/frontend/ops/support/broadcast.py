"""NumPy's broadcasting, with the diagnostics of a failed one, and the agreement of operands in dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Call
from sexpgpu.compiler.frontend.ops.support.dtype import BOOL, F32, I32, check_number, convert
from sexpgpu.compiler.frontend.ops.support.explain import Operand, mismatch
from sexpgpu.compiler.frontend.ops.support.staged import Reduced, cast_fix, refuse_kind, show_shape, wrapped
from sexpgpu.compiler.frontend.values import Tensor
from sexpgpu.diagnostics import Edit, Fix, Label, Span
from sexpgpu.diagnostics.record import record
from sexpgpu.runtime.dtypes import DType

if TYPE_CHECKING:
    from iree.compiler import ir


@record
class Argument:
    """A value and where it stands."""

    value: object
    span: Span


def broadcast_dims(shapes: Sequence[Sequence[int]]) -> tuple[list[int], tuple[int, int, int] | None]:
    """The broadcast shape, and where it fails (operand, operand, axis from the end counting from 1), if it does."""
    rank = max((len(s) for s in shapes), default=0)
    result: list[int] = []
    for back in range(1, rank + 1):
        best: int | None = None
        for i, shape in enumerate(shapes):
            if back > len(shape):
                continue
            if best is None or (shapes[best][-back] == 1 and shape[-back] != 1):
                best = i
            elif shape[-back] not in (1, shapes[best][-back]):
                return [], (best, i, back)
        assert best is not None
        result.insert(0, shapes[best][-back])
    return result, None


def broadcast_shapes(call: Call, tensors: Sequence[Tensor], spans: Sequence[Span]) -> list[int]:
    """The shape all of `tensors` broadcast to, or E-SHAPE-001."""
    dims, failed = broadcast_dims([t.shape for t in tensors])
    if failed is None:
        return dims
    i, j, back = failed
    a, b = tensors[i], tensors[j]
    names = ("left", "right") if len(tensors) == 2 else (f"operand {i + 1}", f"operand {j + 1}")
    operands = [Operand(name, spans[k], tensors[k].shape, (tensors[k].rank - back,), tensors[k].span)
                for name, k in zip(names, (i, j), strict=True)]
    call.fail("E-SHAPE-001", f"`{call.op.name}` of {show_shape(a.shape)} and {show_shape(b.shape)}: "
              f"{int(a.shape[-back])} and {int(b.shape[-back])} do not broadcast",
              **mismatch(operands, ["rule: axes are matched from the last one; two sizes are equal, or one is 1"]),
              fix=_fix(a, b, spans[i], spans[j]))


def _fix(a: Tensor, b: Tensor, span_a: Span, span_b: Span) -> Fix | None:
    """One edit that makes the shapes fit: an axis a reduction could have kept, a transpose, an axis of size 1."""
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Reduced) and broadcast_dims([x.kept, y.shape])[1] is None:
            return Fix(f"`:keep true` at {x.span} keeps the reduced axis with size 1: {show_shape(x.kept)}",
                       (Edit(x.span.before_last, " :keep true"),))
    for x, y, span in ((a, b, span_a), (b, a, span_b)):
        if x.rank == 2 == y.rank and (x.shape[1], x.shape[0]) == tuple(y.shape):
            return Fix(f"transposed, it is {show_shape(y.shape)}: `(transpose …)`", wrapped(span, "(transpose ", ")"))
    for x, y, span in ((a, b, span_a), (b, a, span_b)):
        if x.rank < y.rank and tuple(x.shape) == tuple(y.shape)[: x.rank] and x.rank:
            new = [*x.shape, *[1] * (y.rank - x.rank)]
            if y.rank - x.rank == 1:
                return Fix(f"`(expand-dims … -1)` makes it {show_shape(new)}", wrapped(span, "(expand-dims ", " -1)"))
            return Fix(f"it fits from the left: reshape it to {show_shape(new)}")
    return None


def broadcast_arguments(call: Call, arguments: Sequence[Argument]) -> list[int]:
    """The shape that the tensors among the arguments broadcast to."""
    found = [(a.value, a.span) for a in arguments if isinstance(a.value, Tensor)]
    return broadcast_shapes(call, [t for t, _ in found], [span for _, span in found])


def stretch(value: ir.Value, dims: Sequence[int]) -> ir.Value:
    """`value` broadcast to `dims`, its axes matched from the right."""
    rank = len(hlo.shape_of(value))
    return hlo.broadcast_in_dim(value, [int(d) for d in dims], list(range(len(dims) - rank, len(dims))))


def agree_dtype(call: Call, arguments: Sequence[Argument], *, keep_bool: bool = False) -> DType:
    """The one dtype that tensors and numbers compute in; E-TYPE-004 for two. Bools become numbers unless all are
    bools and `keep_bool` is set."""
    chosen: DType | None = None
    holder: Argument | None = None
    for argument in arguments:
        value = argument.value
        if not isinstance(value, (Tensor, int, float)):
            refuse_kind(call, argument.span, value, "numbers and tensors")
        if isinstance(value, Tensor) and value.dtype is not BOOL:
            if chosen is None:
                chosen, holder = value.dtype, argument
            elif value.dtype is not chosen:
                assert holder is not None
                widened = holder if value.dtype.is_float and not chosen.is_float else argument
                target = value.dtype if widened is holder else chosen
                call.fail("E-TYPE-004", f"`{call.op.name}` of {chosen} and {value.dtype}", at=argument.span,
                          label=f"a tensor of {value.dtype}", secondary=(Label(holder.span, f"a tensor of {chosen}"),),
                          fix=cast_fix(widened.span, target.name))
    if chosen is not None:
        return chosen
    numbers = [a.value for a in arguments if not isinstance(a.value, (Tensor, bool))]
    if any(isinstance(n, float) for n in numbers):
        return F32
    return BOOL if keep_bool and not numbers else I32


def agree(call: Call, arguments: Sequence[Argument], *, keep_bool: bool = False) -> tuple[DType, list[int],
                                                                                         list[ir.Value]]:
    """Operands of an elementwise operation in one dtype and one shape. At least one is a tensor."""
    dtype = agree_dtype(call, arguments, keep_bool=keep_bool)
    tensors = [a for a in arguments if isinstance(a.value, Tensor)]
    dims = broadcast_arguments(call, tensors)
    return dtype, dims, [operand(call, a, dtype, dims, tensors) for a in arguments]


def operand(call: Call, argument: Argument, dtype: DType, dims: Sequence[int],
            tensors: Sequence[Argument] = ()) -> ir.Value:
    """One operand in `dtype`, stretched to `dims`; numbers become constants of that shape."""
    value = argument.value
    if isinstance(value, Tensor):
        return stretch(convert(value.value, value.dtype, dtype), dims)
    assert isinstance(value, (int, float))
    other = next((t.span for t in tensors), None)
    return hlo.splat(check_number(call, value, dtype, argument.span, other), [int(d) for d in dims], dtype.mlir)
