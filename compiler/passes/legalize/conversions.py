"""Conversions that a fused dot reads wrongly, or that the host does not know."""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.legalize.wayround import WayRound


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
    fn.replace(op, value)


def _mask(op: ir.Operation) -> None:
    kind = _source(op)
    if kind is None or kind.width != 1:
        return
    with ir.InsertionPoint(op), op.location:
        x, shape = op.operands[0], hlo.shape_of(op.results[0])
        element = hlo.element_type(op.results[0])
        value = hlo.select(x, hlo.splat(1, shape, element), hlo.splat(0, shape, element))
    fn.replace(op, value)


def _in_loop(op: ir.Operation) -> bool:
    while op.name != "func.func":
        op = op.parent.operation
        if op.name == "stablehlo.while":
            return True
    return False


def _counter(op: ir.Operation) -> None:
    """A loop's counter lives on the host, and what is computed from it alone; behind the mark it is the device's."""
    kind = _source(op)
    if kind is None or hlo.shape_of(op.results[0]) or not _in_loop(op):
        return
    to = str(hlo.element_type(op.results[0]))
    if (kind.width, to) == (32, "f32") and kind.is_signless:
        return
    with ir.InsertionPoint(op), op.location:
        x = op.operands[0]
        op.operands[0] = hlo.make("iree_tensor_ext.compute_barrier.start", [x.type], [x]).result


COUNTER = WayRound("counter-convert", "the number of a round converted to f64, f16 or bf16 does not compile",
                   ("cpu", "vulkan", "cuda"), _counter)
UNSIGNED = WayRound("unsigned-convert", "u8 and u16 converted to floats are read as signed where a dot takes them in",
                    ("cpu", "vulkan", "cuda"), _unsigned)
MASK = WayRound("mask-convert", "booleans converted to floats negate the dot that takes them in, where matmuls are "
                "generalised (-O2)", ("cpu", "vulkan", "cuda"), _mask)
