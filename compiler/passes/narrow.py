"""Products of which only a slice is read compute that slice.

The cotangent of what was joined before a product (`[x h] w` in a cell) is a product with the whole weight, cut into one
part for each of the joined; the part of an input that needs none is dropped, and the rest is a smaller product.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.reading import dims_of, dot_numbers


def _cut(x: ir.Value, axes: Sequence[int], starts: Sequence[int], limits: Sequence[int]) -> ir.Value:
    """`axes[i]` from `starts[i]` to below `limits[i]`."""
    shape = hlo.shape_of(x)
    low = dict(zip(axes, starts, strict=True))
    high = dict(zip(axes, limits, strict=True))
    first = [low.get(i, 0) for i in range(len(shape))]
    last = [high.get(i, n) for i, n in enumerate(shape)]
    return x if last == list(shape) and not any(first) else hlo.slice_(x, first, last)


def _narrow(op: ir.Operation) -> None:
    users = [use.owner.operation for use in op.results[0].uses]
    if len(users) != 1 or users[0].name != "stablehlo.slice" or any(s != 1 for s in dims_of(users[0], "strides")):
        return
    part, numbers = users[0], dot_numbers(op)
    starts, limits = dims_of(part, "start_indices"), dims_of(part, "limit_indices")
    base = len(numbers.batch[0])
    operands, at = [], base
    for x, batch, contract in zip(op.operands, numbers.batch, numbers.contract, strict=True):
        free = [i for i in range(len(hlo.shape_of(x))) if i not in batch and i not in contract]
        mine = [*range(base), *range(at, at + len(free))]
        with ir.InsertionPoint(op), op.location:
            operands.append(_cut(x, [*batch, *free], [starts[i] for i in mine], [limits[i] for i in mine]))
        at += len(free)
    attributes = {name: op.attributes[name] for name in op.attributes}
    with ir.InsertionPoint(op), op.location:
        value = hlo.make(op.name, [part.results[0].type], operands, attributes).result
    fn.replace(part, value)
    op.erase()


def apply(module: ir.Module, options: NoOptions) -> None:
    for func in fn.functions(module):
        for op in fn.walk(fn.body(func)):
            if op.name == "stablehlo.dot_general":
                _narrow(op)


PASS = Pass("narrow", "products of which only a slice is read compute that slice", apply, optional=True)
