"""Contractions of f32 as `linalg`, with the tiles of their loops written on them."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir
from iree.compiler.dialects import arith
from sexpgpu.compiler import hlo


def schedule(pipeline: str, options: str = "", **tiles: list[int]) -> ir.Attribute:
    """Which of the code generator's pipelines for processors takes the operation, and its tiles by level: a size for
    each loop, 0 for one that is not tiled."""
    config = ", ".join(f"{level} = {sizes}" for level, sizes in tiles.items())
    return ir.Attribute.parse(
        f"#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<{config}>, translation_info = "
        f"#iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<{pipeline}>{options}>>")


def contraction(name: str, left: ir.Value, right: ir.Value, shape: list[int],
                attributes: Mapping[str, ir.Attribute]) -> ir.Value:
    """A named operation of `linalg` that adds products of `left` and `right` to zeros of the result's shape."""
    f32, result = hlo.element_type(left), hlo.tensor_type(shape, "f32")
    empty = hlo.make("tensor.empty", [result], []).result
    zero = arith.ConstantOp(f32, 0.0).result
    start = hlo.make("linalg.fill", [result], [zero, empty], {"operandSegmentSizes": _segments(1, 1)}, regions=1)
    body = hlo.block(start.regions[0], [f32, f32])
    with ir.InsertionPoint(body):
        hlo.make("linalg.yield", [], [body.arguments[0]])
    op = hlo.make(name, [result], [left, right, start.result],
                  {"operandSegmentSizes": _segments(2, 1), **attributes}, regions=1)
    body = hlo.block(op.regions[0], [f32, f32, f32])
    with ir.InsertionPoint(body):
        a, b, total = body.arguments
        hlo.make("linalg.yield", [], [arith.AddFOp(total, arith.MulFOp(a, b).result).result])
    return op.result


def _segments(*sizes: int) -> ir.Attribute:
    return ir.DenseI32ArrayAttr.get(sizes)
