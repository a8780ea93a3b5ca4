"""Conversions that a fused dot reads wrongly."""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes.legalize.wayround import WayRound, replace


def _source(op: ir.Operation) -> ir.IntegerType | None:
    """The integer type that a conversion to floats starts from."""
    if op.name != "stablehlo.convert":
        return None
    kind = hlo.element_type(op.operands[0])
    to = hlo.element_type(op.results[0])
    return kind if isinstance(kind, ir.IntegerType) and not isinstance(to, ir.IntegerType) else None


def _unsigned(op: ir.Operation) -> None:
    kind = _source(op)
    if kind is None or not kind.is_unsigned or kind.width >= 32:
        return
    with ir.InsertionPoint(op), op.location:
        wide = hlo.convert(op.operands[0], "i32")
        value = hlo.convert(wide, hlo.element_type(op.results[0]))
    replace(op, value)


def _mask(op: ir.Operation) -> None:
    kind = _source(op)
    if kind is None or kind.width != 1:
        return
    with ir.InsertionPoint(op), op.location:
        x, shape = op.operands[0], hlo.shape_of(op.results[0])
        element = hlo.element_type(op.results[0])
        value = hlo.select(x, hlo.splat(1, shape, element), hlo.splat(0, shape, element))
    replace(op, value)


UNSIGNED = WayRound("unsigned-convert", "u8 and u16 converted to floats are read as signed where a dot takes them in",
                    ("cpu", "vulkan", "cuda"), _unsigned)
MASK = WayRound("mask-convert", "booleans converted to floats negate the dot that takes them in, where matmuls are "
                "generalised (-O2)", ("cpu", "vulkan", "cuda"), _mask)
