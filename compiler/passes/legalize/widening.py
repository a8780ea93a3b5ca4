"""Conversions to a wider type, in a kernel that reads them along two axes.

IREE puts such a conversion, and what is computed element by element behind it, into each kernel that reads it, for it
costs less than the bytes it saves. On Vulkan a kernel that reads it in two ways gives wrong numbers now and then, as if
its threads read what others had not converted yet. So it is stored first.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes.legalize.wayround import WayRound
from sexpgpu.compiler.passes.reading import dims_of

#: Elementwise operations behind the conversion that are looked at.
DEEPEST = 8
#: Operations that read in another order or another shape, and the attribute that says which.
WAYS = {"stablehlo.broadcast_in_dim": "broadcast_dimensions", "stablehlo.transpose": "permutation",
        "stablehlo.reshape": ""}


def _bits(value: ir.Value) -> int:
    kind = hlo.element_type(value)
    return kind.width if isinstance(kind, (ir.IntegerType, ir.FloatType)) else 0


def _widened(value: ir.Value, depth: int = DEEPEST) -> bool:
    """Whether it is a conversion to a wider type, or computed of one element by element."""
    if isinstance(value.owner, ir.Block) or not depth:
        return False
    op = value.owner.operation
    if op.name == "stablehlo.convert":
        return 0 < _bits(op.operands[0]) < _bits(value)
    same = op.name.startswith(("stablehlo.", "chlo.")) and op.name not in WAYS and not len(op.regions) and \
        op.name != "stablehlo.optimization_barrier" and all(
            isinstance(v.type, ir.RankedTensorType) and hlo.shape_of(v) == hlo.shape_of(value) for v in op.operands)
    return same and any(_widened(v, depth - 1) for v in op.operands)


def _way(use: ir.OpOperand) -> tuple[object, ...]:
    op = use.owner.operation
    if op.name not in WAYS:
        return ()
    return op.name, tuple(hlo.shape_of(op.results[0])), *(dims_of(op, WAYS[op.name]) if WAYS[op.name] else ())


def _stored(op: ir.Operation) -> None:
    if len(op.results) != 1 or not isinstance(op.results[0].type, ir.RankedTensorType):
        return
    value = op.results[0]
    uses = list(value.uses)
    if len({_way(use) for use in uses}) < 2 or not _widened(value):
        return
    with ir.InsertionPoint.after(op), op.location:
        stored = hlo.make("iree_tensor_ext.compute_barrier.start", [value.type], [value]).result
    for use in uses:
        use.owner.operation.operands[use.operand_number] = stored


WIDENED = WayRound("widened-twice", "what is converted to a wider type and read along two axes is wrong now and then",
                   ("vulkan", "cuda"), _stored)
