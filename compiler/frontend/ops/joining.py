"""Joining and repeating: concat, stack, pad, tile, repeat-axis."""

from __future__ import annotations

from collections.abc import Sequence

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.axes import axis_of, integer
from sexpgpu.compiler.frontend.ops.support.broadcast import Argument, agree_dtype
from sexpgpu.compiler.frontend.ops.support.dtype import check_number
from sexpgpu.compiler.frontend.ops.support.explain import Operand, mismatch
from sexpgpu.compiler.frontend.ops.support.staged import (
    describe,
    give,
    number_argument,
    rule_note,
    show_shape,
    tensor,
)
from sexpgpu.compiler.frontend.values import Dim, Tensor
from sexpgpu.diagnostics import Edit, Fix, Label

GROUP = "shape"


def tensors_of(call: Call, xs: object) -> list[Tensor]:
    """The elements of a list argument: one tensor or more, of one dtype."""
    span = call.where("xs")
    if not isinstance(xs, tuple) or not xs:
        call.fail("E-TYPE-013", f"`{call.op.name}` takes a list of tensors, not "
                  f"{'an empty list' if xs == () else describe(xs)}", at=span,
                  label=f"this is {describe(xs)}", fix=f"`({call.op.name} [a b] :axis 0)`")
    for i, x in enumerate(xs):
        if not isinstance(x, Tensor):
            call.fail("E-TYPE-002", f"`{call.op.name}` takes a list of tensors, and element {i} is {describe(x)}",
                      at=span, label=f"element {i} is {describe(x)}")
    agree_dtype(call, [Argument(x, x.span) for x in xs], keep_bool=True)
    first = xs[0]
    for i, x in enumerate(xs):
        if x.dtype is not first.dtype:
            call.fail("E-TYPE-004", f"`{call.op.name}` of {first.dtype} and {x.dtype}", at=x.span,
                      label=f"element {i}, {x.dtype}", secondary=(Label(first.span, f"element 0, {first.dtype}"),))
    return list(xs)


def _agree_but(call: Call, xs: Sequence[Tensor], axis: int | None) -> None:
    """All shapes are equal, but for `axis`; E-SHAPE-008 shows the first that is not."""
    first = xs[0]
    for i, x in enumerate(xs[1:], 1):
        if x.rank != first.rank:
            call.fail("E-SHAPE-008", f"`{call.op.name}` of {show_shape(first.shape)} and {show_shape(x.shape)}, "
                      f"of {first.rank} and {x.rank} axes",
                      **mismatch([Operand("element 0", first.span, first.shape),
                                  Operand(f"element {i}", x.span, x.shape)], rule_note(call)))
        wrong = [a for a in range(x.rank) if a != axis and x.shape[a] != first.shape[a]]
        if wrong:
            fix: Fix | str | None = None
            if axis is not None and len(wrong) == 1 and all(
                    y.shape[a] == first.shape[a] for y in xs for a in range(y.rank) if a != wrong[0]):
                span = call.where("axis")
                edits = (Edit(span, str(wrong[0])),) if span != call.span else (
                    Edit(span.before_last, f" :axis {wrong[0]}"),)
                fix = Fix(f"along `:axis {wrong[0]}` they fit", edits)
            call.fail("E-SHAPE-008", f"`{call.op.name}` of {show_shape(first.shape)} and {show_shape(x.shape)}"
                      + (f" along axis {axis}" if axis is not None else "")
                      + f": axis {wrong[0]} is {int(first.shape[wrong[0]])} and {int(x.shape[wrong[0]])}",
                      **mismatch([Operand("element 0", first.span, first.shape, wrong),
                                  Operand(f"element {i}", x.span, x.shape, wrong)], rule_note(call)), fix=fix)


@op("concat", "xs &key (axis 0)", group=GROUP, rule="[… n …] [… m …] -> [… n+m …]",
    doc="The tensors of a list one after the other along an axis.")
def concat(call: Call, xs: object, axis: object) -> Tensor:
    parts = tensors_of(call, xs)
    along = axis_of(call, parts[0], "axis", axis)
    _agree_but(call, parts, along)
    dims: list[int] = list(parts[0].shape)
    if len(parts) > 1:
        dims[along] = sum(int(x.shape[along]) for x in parts)
    value = parts[0].value if len(parts) == 1 else hlo.concatenate([x.value for x in parts], along)
    return give(call, value, parts[0].dtype, dims)


@op("stack", "xs &key (axis 0)", group=GROUP, rule="n of […] -> [n …]",
    doc="The tensors of a list along a new axis.")
def stack(call: Call, xs: object, axis: object) -> Tensor:
    parts = tensors_of(call, xs)
    along = axis_of(call, parts[0], "axis", axis, extra=1, name="the result")
    _agree_but(call, parts, None)
    dims: list[int] = list(parts[0].shape)
    widened = [int(d) for d in dims]
    widened.insert(along, 1)
    dims.insert(along, len(parts))
    value = [hlo.reshape(x.value, widened) for x in parts]
    return give(call, value[0] if len(value) == 1 else hlo.concatenate(value, along), parts[0].dtype, dims)


@op("pad", "x widths &key (value 0)", group=GROUP, rule="[n …], [before after] … -> [before+n+after …]",
    doc="A border of one value; `widths` is a list of `[before after]`, one for each axis.")
def pad(call: Call, x: object, widths: object, value: object) -> Tensor:
    x = tensor(call, "x", x)
    span = call.where("widths")
    pairs = widths if isinstance(widths, tuple) else ()
    if len(pairs) != x.rank or any(not isinstance(p, tuple) or len(p) != 2 for p in pairs):
        call.fail("E-SHAPE-004", f"`pad` takes one [before after] for each of the {x.rank} axes", at=span,
                  label=f"this is {describe(widths)}",
                  secondary=(Label(call.where("x"), f"shape {show_shape(x.shape)}"),),
                  fix="for two axes, `[[0 0] [1 1]]`")
    low = [integer(call, "widths", p[0], "a width") for p in pairs]
    high = [integer(call, "widths", p[1], "a width") for p in pairs]
    if any(n < 0 for n in (*low, *high)):
        call.fail("E-SHAPE-009", "a border of negative width", at=span, label="a width below 0", fix="`slice` cuts")
    number = check_number(call, number_argument(call, "value", value), x.dtype, call.where("value"), call.where("x"))
    dims = [d if not (a or b) else int(d) + a + b for d, a, b in zip(x.shape, low, high, strict=True)]
    return give(call, hlo.pad(x.value, hlo.splat(number, [], x.dtype.mlir), low, high), x.dtype, dims)


@op("tile", "x counts", group=GROUP, rule="[n m], [a b] -> [n·a m·b]",
    doc="The whole tensor repeated along its axes, as often as `counts` says for each (matched from the last).")
def tile(call: Call, x: object, counts: object) -> Tensor:
    x = tensor(call, "x", x)
    times = [integer(call, "counts", n, "a count") for n in (counts if isinstance(counts, tuple) else (counts,))]
    if any(n < 1 for n in times):
        call.fail("E-SHAPE-009", f"`tile` by {show_shape(times)}", at=call.where("counts"), label="a count below 1")
    rank = max(x.rank, len(times))
    times = [1] * (rank - len(times)) + times
    dims = [Dim(1)] * (rank - x.rank) + list(x.shape)
    between = [n for t, d in zip(times, dims, strict=True) for n in (int(t), int(d))]
    value = hlo.reshape(x.value, [int(d) for d in dims])
    value = hlo.broadcast_in_dim(value, between, list(range(1, 2 * rank, 2)))
    sizes = [d if t == 1 else t * int(d) for t, d in zip(times, dims, strict=True)]
    return give(call, hlo.reshape(value, [int(n) for n in sizes]), x.dtype, sizes)


@op("repeat-axis", "x count &key (axis 0)", group=GROUP, rule="[… n …] -> [… n·count …]",
    doc="Each element of an axis `count` times in a row, as grouped attention repeats its keys.")
def repeat_axis(call: Call, x: object, count: object, axis: object) -> Tensor:
    x = tensor(call, "x", x)
    along = axis_of(call, x, "axis", axis)
    times = integer(call, "count", count)
    if times < 1:
        call.fail("E-SHAPE-009", f"`repeat-axis` {int(times)} times", at=call.where("count"), label="a count below 1")
    dims = [int(d) for d in x.shape]
    wide = [*dims[: along + 1], int(times), *dims[along + 1:]]
    kept = [i for i in range(len(wide)) if i != along + 1]
    sizes: list[int] = list(x.shape)
    sizes[along] = dims[along] * int(times) if times != 1 else sizes[along]
    value = hlo.broadcast_in_dim(x.value, wide, kept)
    return give(call, hlo.reshape(value, [int(n) for n in sizes]), x.dtype, sizes)


