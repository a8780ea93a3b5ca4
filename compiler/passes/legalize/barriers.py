"""Barriers: IREE never frees the memory of a tensor that has passed `stablehlo.optimization_barrier`.

Its own mark between computations, which it removes once kernels are formed, keeps them apart as well. Scalars of the
host (`util.optimization_barrier`) are not concerned.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes.legalize.wayround import WayRound


def _mark(op: ir.Operation) -> None:
    if op.name != "stablehlo.optimization_barrier":
        return
    with ir.InsertionPoint(op), op.location:
        for operand, result in zip(op.operands, op.results, strict=True):
            marked = hlo.make("iree_tensor_ext.compute_barrier.start", [result.type], [operand]).result
            result.replace_all_uses_with(marked)
    op.erase()


BARRIER = WayRound("barrier", "what passes a barrier is never freed", ("cpu", "vulkan", "cuda"), _mark)
