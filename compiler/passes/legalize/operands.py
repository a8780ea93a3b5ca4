"""Kernels of many operands: IREE's devices bind 32 buffers a kernel, and its fusion does not count them.

A sum of 33 tensors that lie in memory becomes one kernel: it compiles, and the artifact does not load. So a block is
walked once, with what each elementwise value reads from memory; where that is too much, its widest operand is stored.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes.legalize.wayround import WayRound

#: Leaves room for results, and for what is fused with a reduction or a product at the front.
MOST = 24

#: Fused into a kernel like what is computed element by element.
MOVES = frozenset({"stablehlo.reshape", "stablehlo.broadcast_in_dim", "stablehlo.transpose", "stablehlo.convert"})
ENDS = ("func.return", "stablehlo.return")


def _fuses(op: ir.Operation) -> bool:
    if not op.name.startswith(("stablehlo.", "chlo.")) or len(op.regions) or len(op.results) != 1 or not op.operands:
        return False
    if op.name in MOVES:
        return True
    shape = hlo.shape_of(op.results[0])
    return op.name != "stablehlo.optimization_barrier" and all(
        isinstance(v.type, ir.RankedTensorType) and hlo.shape_of(v) in (shape, []) for v in op.operands)


def _stored(value: ir.Value, op: ir.Operation) -> ir.Value:
    with ir.InsertionPoint(op), op.location:
        stored = hlo.optimization_barrier(value)
    for number, operand in enumerate(op.operands):
        if operand == value:
            op.operands[number] = stored
    return stored


def _limit(end: ir.Operation) -> None:
    if end.name not in ENDS:
        return
    reads: dict[ir.Value, frozenset[ir.Value]] = {}

    def of(value: ir.Value) -> frozenset[ir.Value]:
        return reads.get(value, frozenset((value,)))

    for op in [o.operation for o in end.block.operations]:
        if op.name == "stablehlo.constant":
            reads[op.results[0]] = frozenset()
        elif _fuses(op):
            values = sorted(set(op.operands), key=lambda v: len(of(v)), reverse=True)
            total = frozenset().union(*(of(v) for v in values))
            while len(total) > MOST and len(of(values[0])) > 1:
                values = [*values[1:], _stored(values[0], op)]
                total = frozenset().union(*(of(v) for v in values))
            reads[op.results[0]] = total


MANY = WayRound("many-operands", "a sum of 33 tensors becomes a kernel of more buffers than a device binds",
                ("cpu", "vulkan", "cuda"), _limit)
