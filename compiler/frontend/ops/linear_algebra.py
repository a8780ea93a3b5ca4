"""Products: matmul, dot, outer. `einsum` has its own file.

`matmul` follows NumPy: vectors stand for a row on the left and a column on the right, leading axes broadcast. A right
operand of two axes is one plain product, however many axes the left one has: that is what compiles best.
"""

from __future__ import annotations

import math

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.broadcast import Argument, agree_dtype, broadcast_dims, stretch
from sexpgpu.compiler.frontend.ops.support.dtype import BOOL
from sexpgpu.compiler.frontend.ops.support.explain import Operand, mismatch
from sexpgpu.compiler.frontend.ops.support.staged import (
    cast_fix,
    describe,
    give,
    rule_note,
    show_shape,
    tensor,
    wrapped,
)
from sexpgpu.compiler.frontend.values import Tensor
from sexpgpu.diagnostics import Edit, Fix, Span

GROUP = "linear algebra"


def factors(call: Call, a: object, b: object) -> tuple[Tensor, Tensor]:
    """Two tensors of one dtype of numbers."""
    left, right = tensor(call, "a", a), tensor(call, "b", b)
    if BOOL in (left.dtype, right.dtype):
        which = "a" if left.dtype is BOOL else "b"
        other = right.dtype if left.dtype is BOOL and right.dtype is not BOOL else left.dtype
        target = "f32" if other is BOOL else other.name
        call.fail("E-TYPE-017", f"`{call.op.name}` of booleans", at=call.where(which), label="this is bool",
                  fix=cast_fix(call.where(which), target))
    agree_dtype(call, [Argument(left, call.where("a")), Argument(right, call.where("b"))])
    return left, right


@op("matmul", "a b", group=GROUP, rule="[… m k] [… k n] -> [… m n]",
    doc="Matrix product over the last two axes; leading axes broadcast, a vector is a row on the left and a column on "
        "the right.")
def matmul(call: Call, a: object, b: object) -> Tensor:
    left, right = factors(call, a, b)
    for parameter, x in (("a", left), ("b", right)):
        if x.rank == 0:
            call.fail("E-SHAPE-004", f"`matmul` of {describe(x)}", at=call.where(parameter), label="a scalar",
                      notes=rule_note(call), fix="`*` multiplies by a scalar")
    check_contraction(call, left, right, left.rank - 1, max(right.rank - 2, 0))
    if right.rank <= 2:
        return _by_matrix(call, left, right)
    return _batched(call, left, right)


def _by_matrix(call: Call, left: Tensor, right: Tensor) -> Tensor:
    """[… k] by [k n] or [k]: the leading axes are rows of one matrix."""
    k = int(left.shape[-1])
    rows = [int(d) for d in left.shape[:-1]]
    x = left.value
    if len(rows) > 1:
        x = hlo.reshape(x, [math.prod(rows), k])
    value = hlo.dot_general(x, right.value, contract=([len(hlo.shape_of(x)) - 1], [0]))
    dims = [*left.shape[:-1], *right.shape[1:]]
    return give(call, hlo.reshape(value, [int(d) for d in dims]), left.dtype, dims)


def _batched(call: Call, left: Tensor, right: Tensor) -> Tensor:
    """Leading axes become batch axes of the dot, stretched where they broadcast."""
    vector = left.rank == 1
    rows = left.shape[-2:] if not vector else left.shape
    lead_a, lead_b = left.shape[:-2], right.shape[:-2]
    lead, failed = broadcast_dims([lead_a, lead_b])
    if failed:
        back = failed[2] + 2
        operands = [Operand("left", call.where("a"), left.shape, (left.rank - back,), left.span),
                    Operand("right", call.where("b"), right.shape, (right.rank - back,), right.span)]
        call.fail("E-SHAPE-001", f"`matmul` of {show_shape(left.shape)} and {show_shape(right.shape)}: the leading "
                  f"sizes {int(left.shape[-back])} and {int(right.shape[-back])} do not broadcast",
                  **mismatch(operands, rule_note(call)))
    sizes = [int(d) for d in lead]
    x = stretch(left.value, [*sizes, *[int(d) for d in rows]])
    y = stretch(right.value, [*sizes, *[int(d) for d in right.shape[-2:]]])
    n = len(sizes)
    batch = list(range(n))
    value = hlo.dot_general(x, y, contract=([n + len(rows) - 1], [n]), batch=(batch, batch))
    dims = [*lead, *([] if vector else [rows[0]]), right.shape[-1]]
    return give(call, value, left.dtype, dims)


def check_contraction(call: Call, left: Tensor, right: Tensor, axis_a: int, axis_b: int) -> None:
    """The contracted axes have one size, or E-SHAPE-002 with both shapes and the transpose that would do."""
    m, n = left.shape[axis_a], right.shape[axis_b]
    if m == n:
        return
    operands = [Operand("left", call.where("a"), left.shape, (axis_a,), left.span),
                Operand("right", call.where("b"), right.shape, (axis_b,), right.span)]
    call.fail("E-SHAPE-002", f"`{call.op.name}` of {show_shape(left.shape)} and {show_shape(right.shape)}: "
              f"{int(m)} and {int(n)} are contracted", **mismatch(operands, rule_note(call)),
              fix=_transposed(left, right, call.where("a"), call.where("b")))


def _transposed(left: Tensor, right: Tensor, span_a: Span, span_b: Span) -> Fix | None:
    """A transpose of one operand, or an exchange of both, that makes a product possible."""
    if right.rank >= 2 and right.shape[-1] == left.shape[-1]:
        return Fix(f"the right operand transposed is {show_shape(_swapped(right))}", _swap_edits(right, span_b))
    if left.rank >= 2 and right.rank >= 2 and left.shape[-2] == right.shape[-2]:
        return Fix(f"the left operand transposed is {show_shape(_swapped(left))}", _swap_edits(left, span_a))
    if left.rank == right.rank == 2 and right.shape[1] == left.shape[0]:
        return Fix(f"in the other order they fit: {show_shape(right.shape)} by {show_shape(left.shape)}")
    return None


def _swapped(x: Tensor) -> list[int]:
    return [*x.shape[:-2], x.shape[-1], x.shape[-2]]


def _swap_edits(x: Tensor, span: Span) -> tuple[Edit, ...]:
    if x.rank == 2:
        return wrapped(span, "(transpose ", ")")
    order = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    return wrapped(span, "(transpose ", f" {show_shape(order)})")


@op("dot", "a b", group=GROUP, rule="[k] [k] -> []", doc="Inner product of two vectors.")
def dot(call: Call, a: object, b: object) -> Tensor:
    left, right = factors(call, a, b)
    for parameter, x in (("a", left), ("b", right)):
        if x.rank != 1:
            call.fail("E-SHAPE-004", f"`dot` of {describe(x)}", at=call.where(parameter), label=f"{x.rank} axes",
                      notes=rule_note(call), fix="`matmul` is the product of matrices")
    check_contraction(call, left, right, 0, 0)
    return give(call, hlo.dot_general(left.value, right.value, contract=([0], [0])), left.dtype, ())


@op("outer", "a b", group=GROUP, rule="[m] [n] -> [m n]", doc="Every product of an element of one vector with one of "
                                                              "the other.")
def outer(call: Call, a: object, b: object) -> Tensor:
    left, right = factors(call, a, b)
    for parameter, x in (("a", left), ("b", right)):
        if x.rank != 1:
            call.fail("E-SHAPE-004", f"`outer` of {describe(x)}", at=call.where(parameter), label=f"{x.rank} axes",
                      notes=rule_note(call))
    dims = [left.shape[0], right.shape[0]]
    shape = [int(d) for d in dims]
    value = hlo.multiply(hlo.broadcast_in_dim(left.value, shape, [0]), hlo.broadcast_in_dim(right.value, shape, [1]))
    return give(call, value, left.dtype, dims)


