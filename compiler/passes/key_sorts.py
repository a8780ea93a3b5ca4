"""Sorts that give indices (`hlo.sort_indices`) as passes see them, and how many of the indices are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.reading import dims_of

#: Up to this many, the first are found without sorting the rest.
FEW = 16


@dataclass(frozen=True, slots=True)
class KeySort:
    """`order` is sorted along `axis`, of length `n`; `first` is how many indices are read from the beginning: all, or
    what one slice takes."""

    order: ir.Value
    axis: int
    n: int
    first: int

    @property
    def few(self) -> bool:
        return self.first <= FEW and self.first < self.n


def _slice(op: ir.Operation, axis: int, n: int) -> ir.Operation | None:
    users = [use.owner.operation for use in op.results[1].uses]
    if len(users) != 1 or users[0].name != "stablehlo.slice":
        return None
    shape, limits = hlo.shape_of(op.results[0]), dims_of(users[0], "limit_indices")
    whole = all(m == k for d, (m, k) in enumerate(zip(shape, limits, strict=True)) if d != axis)
    plain = not any(dims_of(users[0], "start_indices")) and all(s == 1 for s in dims_of(users[0], "strides"))
    return users[0] if whole and plain else None


def rewrite(module: ir.Module, how: Callable[[KeySort], ir.Value]) -> None:
    """Puts what `how` makes, the `first` indices of each sort, in its place."""
    for func in fn.functions(module):
        for op in [op for op in fn.walk(fn.body(func)) if op.name == "stablehlo.sort" and hlo.KEYS in op.attributes]:
            axis = ir.IntegerAttr(op.attributes["dimension"]).value
            n = hlo.shape_of(op.results[0])[axis]
            part = _slice(op, axis, n)
            old = op.results[1] if part is None else part.results[0]
            with ir.InsertionPoint(op), op.location:
                value = how(KeySort(op.operands[0], axis, n, hlo.shape_of(old)[axis]))
            old.replace_all_uses_with(value)
            if part is not None:
                part.erase()
            op.erase()
