"""CUDA: a negated sum is folded into a reduction whose identity IREE then does not find."""

from __future__ import annotations

from iree.compiler import ir

from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes.legalize.wayround import WayRound, replace
from sexpgpu.compiler.passes.reading import reducer_of


def _negate(op: ir.Operation) -> None:
    if op.name != "stablehlo.negate":
        return
    owner = op.operands[0].owner
    while not isinstance(owner, ir.Block) and owner.name in ("stablehlo.reshape", "stablehlo.broadcast_in_dim"):
        owner = owner.operands[0].owner
    if isinstance(owner, ir.Block) or owner.name != "stablehlo.reduce" or reducer_of(owner.operation) != "stablehlo.add":
        return
    with ir.InsertionPoint(op), op.location:
        value = hlo.negate(hlo.optimization_barrier(op.operands[0]))
    replace(op, value)


NEGATED_SUM = WayRound("negated-sum", "`-(sum x)` fails to compile: no neutral element", ("cuda",), _negate)
