"""Sorts of keys as passes see them: integers that all differ along the axis, and how many of them are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.reading import dims_of

#: Up to this many, the least are found without sorting the rest.
FEW = 16


@dataclass(frozen=True, slots=True)
class KeySort:
    """`first` is how many keys are read from the beginning of the axis: all `n`, or what one slice takes."""

    op: ir.Operation
    axis: int
    n: int
    first: int

    @property
    def few(self) -> bool:
        return self.first <= FEW and self.first < self.n


def _slice(op: ir.Operation, axis: int, n: int) -> ir.Operation | None:
    users = [use.owner.operation for use in op.results[0].uses]
    if len(users) != 1 or users[0].name != "stablehlo.slice":
        return None
    shape, limits = hlo.shape_of(op.results[0]), dims_of(users[0], "limit_indices")
    whole = all(m == k for d, (m, k) in enumerate(zip(shape, limits, strict=True)) if d != axis)
    plain = not any(dims_of(users[0], "start_indices")) and all(s == 1 for s in dims_of(users[0], "strides"))
    return users[0] if whole and plain else None


def rewrite(module: ir.Module, how: Callable[[KeySort], ir.Value]) -> None:
    """Puts what `how` makes, the `first` keys of each sort, in its place."""
    for func in fn.functions(module):
        for op in [op for op in fn.walk(fn.body(func)) if op.name == "stablehlo.sort" and hlo.KEYS in op.attributes]:
            axis = ir.IntegerAttr(op.attributes["dimension"]).value
            n = hlo.shape_of(op.results[0])[axis]
            part = _slice(op, axis, n)
            old = op if part is None else part
            with ir.InsertionPoint(op), op.location:
                value = how(KeySort(op, axis, n, hlo.shape_of(old.results[0])[axis]))
            old.results[0].replace_all_uses_with(value)
            old.erase()
            if part is not None:
                op.erase()
