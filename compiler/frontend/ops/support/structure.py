"""Values as lists of tensors: what a loop carries, what a function under `remat` or `gradient` gives.

A tensor is a leaf; a plain number becomes a scalar tensor, an integer i32 and a fraction f32; lists and plists are
taken apart; what else is inside (keywords, nil, functions) is the same after as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Failed
from sexpgpu.compiler.frontend.ops.support.dtype import BOOL, F32, I32, check_number
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.values import Tensor, has_poison, same_value
from sexpgpu.diagnostics import Label

if TYPE_CHECKING:
    from iree.compiler import ir
    from sexpgpu.compiler.frontend.ops.registry import Call


def as_tensors(call: Call, value: object) -> object:
    """The same structure with every number a scalar tensor."""
    if isinstance(value, tuple):
        return tuple([as_tensors(call, item) for item in value])
    if isinstance(value, (bool, int, float)):
        dtype = BOOL if isinstance(value, bool) else I32 if isinstance(value, int) else F32
        return Tensor(hlo.splat(check_number(call, value, dtype, call.span), [], dtype.mlir), dtype, (), call.span)
    return value


def leaves(value: object) -> list[Tensor]:
    """The tensors, from the left."""
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [value] if isinstance(value, Tensor) else []


def rebuilt(like: object, values: Sequence[ir.Value], drop: int = 0, lead: Sequence[int] = ()) -> object:
    """The structure of `like` with other values in it: axes dropped in front, or put there."""
    rest: Iterator[ir.Value] = iter(values)

    def build(item: object) -> object:
        if isinstance(item, tuple):
            return tuple([build(part) for part in item])
        if isinstance(item, Tensor):
            return Tensor(next(rest), item.dtype, (*lead, *item.shape[drop:]), item.span)
        return item

    return build(like)


def same_type(call: Call, before: object, after: object) -> list[ir.Value]:
    """The tensors of `after`, which has the type of `before`; E-TYPE-018 where it has not. Numbers adapt."""
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        return [v for a, b in zip(before, after, strict=True) for v in same_type(call, a, b)]
    if isinstance(before, Tensor):
        if isinstance(after, Tensor) and after.dtype is before.dtype and tuple(after.shape) == tuple(before.shape):
            return [after.value]
        if isinstance(after, (bool, int, float)) and not before.shape:
            number = check_number(call, after, before.dtype, call.span)
            return [hlo.splat(number, [], before.dtype.mlir)]
    elif same_value(before, after):
        return []
    if has_poison(after):
        raise Failed   # what is wrong in the body has been told
    places = [Label(v.span, f"{word}: {describe(v)}") for v, word in ((before, "before"), (after, "after"))
              if isinstance(v, Tensor)]
    call.fail("E-TYPE-018", f"what `{call.op.name}` carries is {describe(before)} before a round and "
              f"{describe(after)} after it", label="changes its type", secondary=_apart(places))



def _apart(labels: list[Label]) -> list[Label]:
    """Without the second of two labels at one place."""
    return labels[:1] if len(labels) == 2 and labels[0].span == labels[1].span else labels
