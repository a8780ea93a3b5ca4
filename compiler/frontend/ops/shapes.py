"""Shape: the same elements under other axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.axes import axes_of, axis_of, integer, shape_argument
from sexpgpu.compiler.frontend.ops.support.broadcast import broadcast_dims, stretch
from sexpgpu.compiler.frontend.ops.support.explain import Operand, clue, mismatch, origin_notes
from sexpgpu.compiler.frontend.ops.support.staged import give, rule_note, show_shape, tensor
from sexpgpu.compiler.frontend.values import Dim, Tensor, origin_of
from sexpgpu.diagnostics import Edit, Fix, Label, Span

GROUP = "shape"


@op("reshape", "x shape", group=GROUP, rule="[shape] -> [other shape of as many elements]",
    doc="The same elements in the same order under other axes; one size may be -1 and is then worked out.")
def reshape(call: Call, x: object, shape: object) -> Tensor:
    x = tensor(call, "x", x)
    sizes = list(shape_argument(call, "shape", shape, wildcard=True))
    total = math.prod(int(d) for d in x.shape)
    holes = [i for i, n in enumerate(sizes) if n == -1]
    if len(holes) > 1:
        call.fail("E-SHAPE-005", "`reshape` can work out one size, and -1 stands "
                  f"{len(holes)} times", at=call.where("shape"), label=show_shape(sizes))
    known = math.prod(int(n) for n in sizes if n != -1)
    if holes and total % known == 0:
        sizes[holes[0]] = _same_size(x, total // known)
    elif holes or known != total:
        _refuse_reshape(call, x, sizes, total, known, holes)
    return give(call, hlo.reshape(x.value, [int(n) for n in sizes]), x.dtype, sizes)


def _same_size(x: Tensor, size: int) -> int:
    """The size, with the origin of an axis of `x` that has it."""
    return next((d for d in x.shape if d == size), size)


def _refuse_reshape(call: Call, x: Tensor, sizes: list[int], total: int, known: int, holes: list[int]) -> None:
    shown = show_shape(sizes)
    product = " · ".join(str(int(n)) for n in sizes if n != -1)
    facts = [f"{show_shape(x.shape)} has {total} elements, {shown} "
             + (f"has a multiple of {known}" if holes else f"has {product} = {known}" if len(sizes) > 1 else
                f"has {known}")]
    # A number that is written in the new shape needs no note: it stands under the label.
    written = call.where("shape")
    computed = [i for i, n in enumerate(sizes) if (o := origin_of(n)) and o.span and not written.contains(o.span)]
    operands = [Operand("the tensor", call.where("x"), x.shape, tuple(range(x.rank))),
                Operand("the new shape", written, sizes, computed)]
    near = [] if holes else _off_by_one_size(sizes, total)
    # A size taken over from the tensor is meant; one of the others is off.
    taken = {(int(d), origin_of(d)) for d in x.shape if origin_of(d)}
    near = [(i, n) for i, n in near if (int(sizes[i]), origin_of(sizes[i])) not in taken] or near
    fix: Fix | str | None = None
    if len(near) == 1:
        i, wanted = near[0]
        o = origin_of(sizes[i])
        edits = (Edit(o.span, str(wanted)),) if o and o.span and written.contains(o.span) else ()
        fix = Fix(f"with {wanted} in place of {int(sizes[i])} for axis {i} the elements are as many", edits)
    elif near:
        fix = "for as many elements, " + " or ".join(f"axis {i} would be {wanted}" for i, wanted in near)
    call.fail("E-SHAPE-005", f"`reshape` of {show_shape(x.shape)} to {shown} changes the number of elements, "
              f"{total} to {known}" if not holes else
              f"`reshape` of {show_shape(x.shape)} to {shown}: {total} is no multiple of {known}",
              at=call.where("shape"), label=f"{known} elements" if not holes else f"a multiple of {known}",
              secondary=_elements(call, x, total), notes=[*facts, *origin_notes(operands)], fix=fix,
              clues=[c for i, wanted in near for c in clue(sizes[i], wanted)])


def _elements(call: Call, x: Tensor, total: int) -> tuple[Label, ...]:
    return (Label(call.where("x"), f"{total} elements, {show_shape(x.shape)}"),)


def _off_by_one_size(sizes: Sequence[int], total: int) -> list[tuple[int, int]]:
    """Each axis that alone could be changed to fit, with the size it would have."""
    found = []
    for i in range(len(sizes)):
        rest = math.prod(int(n) for j, n in enumerate(sizes) if j != i)
        if total % rest == 0 and total // rest != sizes[i]:
            found.append((i, total // rest))
    return found


def permutation(call: Call, x: Tensor, parameter: str, value: object) -> tuple[int, ...]:
    """Each axis of `x` once, negative ones counted from the end; E-SHAPE-007."""
    given = value if isinstance(value, tuple) else (value,)
    axes = [integer(call, parameter, a, "an axis") for a in given]
    span = call.where(parameter)
    shown = show_shape(axes)
    rule = [f"the tensor is {show_shape(x.shape)}, its axes are {show_shape(range(x.rank))}", *rule_note(call)]
    if len(axes) != x.rank:
        call.fail("E-SHAPE-007", f"`{call.op.name}` names {len(axes)} axes of a tensor of {x.rank}", at=span,
                  label=f"{len(axes)} axes", secondary=_shaped(call, x), notes=rule, fix=_complete(axes, x, span),
                  tries=_permutations(x.rank, span))
    for axis in axes:
        if not -x.rank <= axis < x.rank:
            call.fail("E-SHAPE-007", f"`{call.op.name}` names axis {axis} of a tensor of {x.rank}", at=span,
                      label=f"no axis {axis}", secondary=_shaped(call, x), notes=rule,
                      tries=_permutations(x.rank, span))
    order = tuple(int(a) % x.rank for a in axes)
    if len(set(order)) != x.rank:
        twice = next(a for i, a in enumerate(order) if a in order[:i])
        left_out = next(a for a in range(x.rank) if a not in order)
        call.fail("E-SHAPE-007", f"`{call.op.name}` names axis {twice} twice and axis {left_out} not at all", at=span,
                  label=f"{shown} is not a permutation", secondary=_shaped(call, x), notes=rule,
                  tries=_permutations(x.rank, span))
    return order


def _shaped(call: Call, x: Tensor) -> tuple[Label, ...]:
    return (Label(call.where("x"), f"shape {show_shape(x.shape)}"),)


def _permutations(rank: int, span: Span) -> list[Fix]:
    """Every order of a few axes, for the program to choose from; the first axis, a batch, rather stays in place."""
    if rank > 4:
        return []
    orders = sorted(permutations(range(rank)), key=lambda order: (sum(a != i for i, a in enumerate(order)), order))
    return [Fix(f"with `{show_shape(order)}` it fits", (Edit(span, show_shape(order)),)) for order in orders[1:]]


def _complete(axes: Sequence[int], x: Tensor, span: Span) -> Fix | None:
    """For a permutation that is one axis short at the front (written for a tensor without the batch axis)."""
    if len(axes) == x.rank - 1 and sorted(a % (x.rank - 1) for a in axes) == list(range(x.rank - 1)):
        moved = show_shape([0, *[a % (x.rank - 1) + 1 for a in axes]])
        return Fix(f"with the first axis left in place: `{moved}`", (Edit(span, moved),))
    return None


@op("transpose", "x &optional axes", group=GROUP, rule="[a b … z], axes -> permuted",
    doc="The axes in the order `axes` gives (each once); without it, in reverse.")
def transpose(call: Call, x: object, axes: object) -> Tensor:
    x = tensor(call, "x", x)
    order = tuple(reversed(range(x.rank))) if axes is None else permutation(call, x, "axes", axes)
    return give(call, hlo.transpose(x.value, order), x.dtype, [x.shape[a] for a in order])


@op("permute", "x axes", group=GROUP, rule="[a b … z], axes -> permuted", doc="`transpose` with the order required.")
def permute(call: Call, x: object, axes: object) -> Tensor:
    x = tensor(call, "x", x)
    order = permutation(call, x, "axes", axes)
    return give(call, hlo.transpose(x.value, order), x.dtype, [x.shape[a] for a in order])


@op("squeeze", "x &key axis", group=GROUP, rule="[… 1 …] -> […]",
    doc="Without the axes of size 1, or without those that `:axis` names.")
def squeeze(call: Call, x: object, axis: object) -> Tensor:
    x = tensor(call, "x", x)
    if axis is None:
        axes = tuple(i for i, d in enumerate(x.shape) if d == 1)
    else:
        axes = axes_of(call, x, "axis", axis)
        for a in axes:
            if x.shape[a] != 1:
                call.fail("E-SHAPE-005", f"`squeeze` of axis {a}, whose size is {int(x.shape[a])}",
                          at=call.where("axis"), label=f"size {int(x.shape[a])}", secondary=_shaped(call, x),
                          notes=[*origin_notes([Operand("the tensor", call.where("x"), x.shape, (a,))]),
                                 *rule_note(call)], clues=clue(x.shape[a], 1))
    dims = [d for i, d in enumerate(x.shape) if i not in axes]
    return give(call, hlo.reshape(x.value, [int(d) for d in dims]), x.dtype, dims)


@op("expand-dims", "x axis", group=GROUP, rule="[…] -> [… 1 …]",
    doc="A new axis of size 1 at `axis` of the result; -1 puts it last. A list gives several.")
def expand_dims(call: Call, x: object, axis: object) -> Tensor:
    x = tensor(call, "x", x)
    given = axis if isinstance(axis, tuple) else (axis,)
    places = {axis_of(call, x, "axis", a, extra=len(given), name="the result") for a in given}
    rest = iter(x.shape)
    dims = [Dim(1) if i in places else next(rest) for i in range(x.rank + len(places))]
    return give(call, hlo.reshape(x.value, [int(d) for d in dims]), x.dtype, dims)


@op("broadcast-to", "x shape", group=GROUP, rule="[shape] -> [larger shape]",
    doc="Stretched to a shape that the tensor broadcasts to.")
def broadcast_to(call: Call, x: object, shape: object) -> Tensor:
    x = tensor(call, "x", x)
    sizes = list(shape_argument(call, "shape", shape))
    dims, failed = broadcast_dims([sizes, x.shape])
    if failed or [int(d) for d in dims] != [int(n) for n in sizes]:
        back = failed[2] if failed else next(b for b in range(1, x.rank + 1)
                                             if b > len(sizes) or x.shape[-b] not in (1, sizes[-b]))
        operands = [Operand("tensor", call.where("x"), x.shape, (x.rank - back,)),
                    Operand("shape", call.where("shape"), sizes, (len(sizes) - back,) if back <= len(sizes) else ())]
        call.fail("E-SHAPE-001", f"{show_shape(x.shape)} does not broadcast to {show_shape(sizes)}",
                  **mismatch(operands, rule_note(call)))
    return give(call, stretch(x.value, sizes), x.dtype, sizes)


@op("flatten", "x &key (start 0)", group=GROUP, rule="[a b c] -> [a·b·c]",
    doc="All axes from `:start` on as one; `:start 1` keeps the batch.")
def flatten(call: Call, x: object, start: object) -> Tensor:
    x = tensor(call, "x", x)
    first = axis_of(call, x, "start", start) if x.rank else 0
    tail = x.shape[first:]
    dims = [*x.shape[:first], tail[0] if len(tail) == 1 else math.prod(int(d) for d in tail)]
    return give(call, hlo.reshape(x.value, [int(d) for d in dims]), x.dtype, dims)
