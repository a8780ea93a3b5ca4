"""A tensor of 64-bit numbers that is one number everywhere, other than 0, is no fill of a device's but a kernel; two
places that write into equal ones get one between them, and what the second finds there is what was in memory before.
(Zeros, and narrower numbers, are fills, and each place has its own.)

What is padded then chooses between itself, padded with zeros, and the number; what is written into is a copy.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.known import number_of
from sexpgpu.compiler.passes.legalize.wayround import WayRound, copy
from sexpgpu.compiler.passes.reading import dims_of


def _wide(value: ir.Value) -> bool:
    return str(hlo.element_type(value)) in ("f64", "i64", "ui64")


def _fill(op: ir.Operation) -> None:
    if op.name not in ("stablehlo.pad", "stablehlo.dynamic_update_slice", "stablehlo.scatter") or \
            not _wide(op.operands[0]):
        return
    with ir.InsertionPoint(op), op.location:
        if op.name != "stablehlo.pad":
            if number_of(op.operands[0]):
                op.operands[0] = copy(op.operands[0])
            return
        x, number = op.operands
        if number_of(number) == 0:
            return
        low, high, interior = (dims_of(op, f"edge_padding_{side}") if side != "interior" else
                               dims_of(op, "interior_padding") for side in ("low", "high", "interior"))
        inside = hlo.pad(hlo.splat(True, hlo.shape_of(x), "i1"), hlo.splat(False, [], "i1"), low, high, interior)
        zeros = hlo.pad(x, hlo.splat(0, [], hlo.element_type(x)), low, high, interior)
        value = hlo.select(inside, zeros, hlo.broadcast_scalar(number, hlo.shape_of(zeros)))
    fn.replace(op, value)


WIDE_FILL = WayRound("wide-fill", "of two tensors of 64-bit numbers padded with one number, the second has what was in "
                     "memory", ("cpu", "vulkan", "cuda"), _fill)
