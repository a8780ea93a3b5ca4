"""Parts of a tensor, and its elements in another order along an axis: split, slice, flip, roll."""

from __future__ import annotations

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.axes import axes_of, axis_of, integer
from sexpgpu.compiler.frontend.ops.support.explain import Operand, clue, origin_notes
from sexpgpu.compiler.frontend.ops.support.staged import describe, give, rule_note, show_shape, tensor
from sexpgpu.compiler.frontend.values import Dim, Tensor
from sexpgpu.diagnostics import Edit, Fix, Label

GROUP = "shape"


@op("split", "x parts &key (axis 0)", group=GROUP, rule="[… n·p …], p -> p of [… n …]",
    doc="A list of equal parts along an axis, or of parts of the sizes that a list gives.")
def split(call: Call, x: object, parts: object, axis: object) -> tuple[Tensor, ...]:
    x = tensor(call, "x", x)
    along = axis_of(call, x, "axis", axis)
    size = x.shape[along]
    span = call.where("parts")
    notes = [*origin_notes([Operand("the tensor", call.where("x"), x.shape, (along,))]), *rule_note(call)]
    if isinstance(parts, tuple):
        sizes = [integer(call, "parts", n, "a part") for n in parts]
        if sum(sizes) != size or any(n < 1 for n in sizes):
            call.fail("E-SHAPE-011", f"`split` of axis {along}, size {int(size)}, into {show_shape(sizes)}, "
                      f"{sum(sizes)} in all", at=span, label=f"{sum(sizes)} in all",
                      secondary=(Label(call.where("x"), f"shape {show_shape(x.shape)}"),), notes=notes)
    else:
        count = integer(call, "parts", parts)
        if count < 1 or size % count:
            other = next((a for a in range(x.rank) if count > 0 and x.shape[a] % count == 0), None)
            call.fail("E-SHAPE-011", f"`split` of axis {along}, size {int(size)}, into {int(count)} equal parts",
                      at=span, label=f"{int(size)} is no multiple of {int(count)}",
                      secondary=(Label(call.where("x"), f"shape {show_shape(x.shape)}"),), notes=notes,
                      fix=None if other is None else f"axis {other}, of size {int(x.shape[other])}, divides",
                      clues=[c for n in _divisors(int(size), int(count)) for c in clue(count, n)])
        sizes = [int(size) // count] * count
    result, start = [], 0
    for n in sizes:
        result.append(_cut(call, x, along, start, start + int(n), 1, n))
        start += int(n)
    return tuple(result)


def _divisors(size: int, count: int) -> list[int]:
    """The numbers of equal parts that are nearest to `count`."""
    found = [n for n in range(1, min(size, 4 * abs(count) + 4) + 1) if size % n == 0]
    return sorted(found, key=lambda n: abs(n - count))[:3]


def _cut(call: Call, x: Tensor, axis: int, start: int, end: int, step: int, size: int | None = None) -> Tensor:
    starts = [0] * x.rank
    limits = [int(d) for d in x.shape]
    strides = [1] * x.rank
    starts[axis], limits[axis], strides[axis] = int(start), int(end), int(step)
    dims: list[int] = list(x.shape)
    if size is not None:
        dims[axis] = size
    if end - start != x.shape[axis] or step != 1:
        dims[axis] = size if size is not None else -(-(int(end) - int(start)) // int(step))
        value = hlo.slice_(x.value, starts, limits, strides)
    else:
        value = x.value
    return give(call, value, x.dtype, dims)


@op("slice", "x axis start end &optional (step 1)", group=GROUP, rule="[… n …] -> [… end-start …]",
    doc="The part of an axis from `start` to below `end`; negative places count from the end, a nil `end` is the end.")
def slice_(call: Call, x: object, axis: object, start: object, end: object, step: object) -> Tensor:
    x = tensor(call, "x", x)
    along = axis_of(call, x, "axis", axis)
    size = x.shape[along]
    first = _bound(call, x, along, "start", 0 if start is None else start)
    last = _bound(call, x, along, "end", size if end is None else end)
    pace = integer(call, "step", step)
    if pace < 1:
        call.fail("E-SHAPE-006", f"`slice` with a step of {int(pace)}", at=call.where("step"),
                  label=f"step {int(pace)}", fix="`flip` turns an axis round")
    if last <= first:
        call.fail("E-SHAPE-006", f"`slice` of axis {along} from {int(first)} to {int(last)} takes nothing",
                  at=call.where("end"), label=f"ends at {int(last)}",
                  secondary=(Label(call.where("start"), f"starts at {int(first)}"),),
                  notes=["tensors without elements do not exist", *rule_note(call)])
    # A slice from 0 has the size its end has, and that number's origin says more than the slice.
    named = last if first == 0 and pace == 1 and isinstance(last, Dim) and last.origin else None
    return _cut(call, x, along, first, last, pace, named)


def _bound(call: Call, x: Tensor, axis: int, parameter: str, value: object) -> int:
    size = x.shape[axis]
    if isinstance(value, Tensor):
        call.fail("E-TYPE-006", f"the {parameter} of `slice` is known at compile time, not {describe(value)}",
                  at=call.where(parameter), label=f"this is {describe(value)}",
                  fix="`dynamic-slice` starts where a tensor says")
    place = integer(call, parameter, value)
    counted = place + int(size) if place < 0 else place
    if 0 <= counted <= size:
        return counted
    span = call.where(parameter)
    others = [a for a in range(x.rank) if a != axis and place <= x.shape[a]] if place > 0 else []
    fix: Fix | str = Fix(f"the axis ends at {int(size)}", (Edit(span, str(int(size))),))
    if others:
        fix = Fix(f"the axis ends at {int(size)}; axis {others[0]} has size {int(x.shape[others[0]])}", fix.edits)
    call.fail("E-SHAPE-006", f"`slice` {'ends' if parameter == 'end' else 'starts'} at {int(place)}, and axis {axis} "
              f"of {show_shape(x.shape)} has size {int(size)}", at=span, label=f"{int(place)} of {int(size)}",
              secondary=(Label(call.where("x"), f"shape {show_shape(x.shape)}"),),
              notes=[*origin_notes([Operand("the tensor", call.where("x"), x.shape, (axis,)),
                                    Operand("the slice", span, (place,), (0,))]), *rule_note(call)],
              fix=fix, clues=[*clue(place, int(size)), *clue(size, int(place))])


@op("flip", "x &key axis", group=GROUP, rule="[…] -> […]", doc="The axes in reverse; all of them without `:axis`.")
def flip(call: Call, x: object, axis: object) -> Tensor:
    x = tensor(call, "x", x)
    return give(call, hlo.reverse(x.value, axes_of(call, x, "axis", axis)), x.dtype, x.shape)


@op("roll", "x shift &key (axis 0)", group=GROUP, rule="[… n …] -> [… n …]",
    doc="Moved along an axis by `shift` places; what leaves at the end returns at the start.")
def roll(call: Call, x: object, shift: object, axis: object) -> Tensor:
    x = tensor(call, "x", x)
    along = axis_of(call, x, "axis", axis)
    size = int(x.shape[along])
    places = integer(call, "shift", shift) % size
    if places == 0:
        return x
    tail = _cut(call, x, along, size - places, size, 1)
    head = _cut(call, x, along, 0, size - places, 1)
    return give(call, hlo.concatenate([tail.value, head.value], along), x.dtype, x.shape)
