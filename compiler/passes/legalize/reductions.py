"""Vulkan: a reduction over axes that others stand between, fused with what reads it, takes in the wrong elements.

So a reduction goes over one run of neighbouring axes at a time, the last first.
"""

from __future__ import annotations

import itertools

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes.functions import clone_one
from sexpgpu.compiler.passes.legalize.wayround import WayRound
from sexpgpu.compiler.passes.reading import dims_of


def _runs(axes: list[int]) -> list[list[int]]:
    numbered = enumerate(sorted(axes))
    return [[axis for _, axis in run] for _, run in itertools.groupby(numbered, lambda pair: pair[1] - pair[0])]


def _over(op: ir.Operation, values: list[ir.Value], starts: list[ir.Value], axes: list[int]) -> list[ir.Value]:
    """`op`'s reduction of other values, over other axes."""
    types = [hlo.tensor_type([n for d, n in enumerate(hlo.shape_of(v)) if d not in axes], hlo.element_type(v))
             for v in values]
    new = hlo.make("stablehlo.reduce", types, [*values, *starts], {"dimensions": hlo.i64_array(axes)}, regions=1)
    body = op.regions[0].blocks[0]
    block = hlo.block(new.regions[0], [a.type for a in body.arguments])
    known = dict(zip(body.arguments, block.arguments, strict=True))
    with ir.InsertionPoint(block):
        for inner in body.operations:
            clone_one(inner.operation, known)
    return list(new.results)


def _split(op: ir.Operation) -> None:
    runs = _runs(dims_of(op, "dimensions")) if op.name == "stablehlo.reduce" else []
    if len(runs) < 2:
        return
    count = len(op.results)
    values, starts = list(op.operands)[:count], list(op.operands)[count:]
    with ir.InsertionPoint(op), op.location:
        for axes in reversed(runs[1:]):
            values = _over(op, values, starts, axes)
    for i, value in enumerate(values):
        op.operands[i] = value
    op.attributes["dimensions"] = hlo.i64_array(runs[0])


APART = WayRound("axes-apart", "a reduction over axes that others stand between takes in the wrong elements",
                 ("vulkan",), _split)
