"""Dots that a code generator has no schedule for."""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.legalize.wayround import WayRound


def _wide(op: ir.Operation) -> None:
    """The same dot with an f32 result, rounded afterwards."""
    if op.name != "stablehlo.dot_general" or str(hlo.element_type(op.results[0])) != "bf16":
        return
    with ir.InsertionPoint(op), op.location:
        result = hlo.tensor_type(hlo.shape_of(op.results[0]), "f32")
        attributes = {name: op.attributes[name] for name in op.attributes}
        wide = hlo.make(op.name, [result], list(op.operands), attributes).result
        value = hlo.convert(wide, "bf16")
    fn.replace(op, value)


WIDE_BF16 = WayRound("wide-bf16-dot", "a small dot of bf16 with a bf16 result fails to compile: no distribution",
                     ("cuda",), _wide)
