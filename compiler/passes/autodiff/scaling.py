"""Loss scaling: the cotangent of the loss is multiplied, and the gradients divided again.

The marker `loss_scale` passes the loss through; its other operands are the scale and, where that is dynamic, the
number of steps since it last changed. A dynamic scale is halved by a gradient that is not finite and doubled after
`GROWTH` steps without one (Micikevicius and others 2018, arXiv:1710.03740).
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn

MARKER = "loss_scale"
SCALE, GOOD = "loss-scale", "loss-scale.good"
#: What a dynamic scale begins at, and its bounds.
FIRST, LEAST, MOST = 2.0 ** 16, 1.0, 2.0 ** 24
GROWTH = 2000


def marker_of(func: ir.Operation) -> ir.Operation | None:
    return next((op for op in fn.body(func).operations if hlo.marker_kind(op) == MARKER), None)


def unscaled(marker: ir.Operation, gradients: Sequence[ir.Value]) -> list[ir.Value]:
    scale = marker.operation.operands[1]
    share = hlo.divide(hlo.splat(1.0, [], "f32"), scale)
    return [hlo.multiply(g, hlo.broadcast_scalar(hlo.convert(share, hlo.element_type(g)), hlo.shape_of(g)))
            for g in gradients]


def adjusted(marker: ir.Operation, gradients: Sequence[ir.Value]) -> dict[str, ir.Value]:
    """The new values of a dynamic scale's two buffers; nothing of a constant one."""
    operands = list(marker.operation.operands)
    if len(operands) < 3:
        return {}
    scale, good = operands[1:]
    finite = hlo.splat(True, [], "i1")
    for g in gradients:
        finite = hlo.and_(finite, hlo.reduce(hlo.is_finite(g), range(len(hlo.shape_of(g))), "and"))
    zero, one = hlo.splat(0, [], "i32"), hlo.splat(1, [], "i32")
    count = hlo.select(finite, hlo.add(good, one), zero)
    grows = hlo.compare("GE", count, hlo.splat(GROWTH, [], "i32"))
    half = hlo.maximum(hlo.multiply(scale, hlo.splat(0.5, [], "f32")), hlo.splat(LEAST, [], "f32"))
    twice = hlo.minimum(hlo.multiply(scale, hlo.splat(2.0, [], "f32")), hlo.splat(MOST, [], "f32"))
    new = hlo.select(finite, hlo.select(grows, twice, scale), half)
    return {f"buffer:{SCALE}": new, f"buffer:{GOOD}": hlo.select(grows, zero, count)}
