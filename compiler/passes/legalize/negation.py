"""CUDA: a negation in front of a sum is folded into it as a subtraction, whose identity IREE then does not find.

A barrier keeps them apart. A product with -1 does not serve: the kernel becomes a contraction with a constant, which
fails to distribute over a warp in the gradient of a layer norm.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.legalize.wayround import WayRound
from sexpgpu.compiler.passes.reading import reducer_of

#: What is fused between a negation and a sum without changing the numbers.
MOVES = ("stablehlo.reshape", "stablehlo.broadcast_in_dim", "stablehlo.transpose")


def _feeds_sum(value: ir.Value) -> bool:
    for use in value.uses:
        user = use.owner.operation
        if user.name == "stablehlo.reduce" and reducer_of(user) == "stablehlo.add":
            return True
        if user.name in MOVES and _feeds_sum(user.results[0]):
            return True
    return False


def _negate(op: ir.Operation) -> None:
    x = op.operands[0] if op.name == "stablehlo.negate" else None
    if x is None or isinstance(hlo.element_type(x), ir.IntegerType) or not _feeds_sum(op.results[0]):
        return
    with ir.InsertionPoint(op), op.location:
        value = hlo.optimization_barrier(hlo.negate(x))
    fn.replace(op, value)


NEGATED_SUM = WayRound("negated-sum", "`sum (-x)` fails to compile: no neutral element", ("cuda",), _negate)
