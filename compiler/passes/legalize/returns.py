"""A function that gives back an argument and also computes a changed one from it (a scatter, a slice put in) changes it
in place: what it gives back is changed too. Behind a choice that nobody can foresee it gives back a copy.

A barrier, a clone and a sum with nothing are all seen through.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler.passes.legalize.wayround import WayRound, copy


def _argument(value: ir.Value) -> ir.Value | None:
    """The argument that a value is, in whatever shape."""
    while not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        if op.name != "stablehlo.reshape":
            return None
        value = op.operands[0]
    return value


def _give_back(op: ir.Operation) -> None:
    if op.name != "func.return":
        return
    for i, value in enumerate(list(op.operands)):
        argument = _argument(value)
        if argument is not None and isinstance(value.type, ir.RankedTensorType) and \
                any(use.owner.operation != op for use in argument.uses):
            with ir.InsertionPoint(op), op.location:
                op.operands[i] = copy(value)


RETURNED = WayRound("returned-argument", "an argument that is given back comes changed where a scatter changes it",
                    ("cpu", "vulkan", "cuda"), _give_back)
