"""Powers: IREE computes exp(y · log x), which is NaN for a negative base and for 0^0, whatever the exponent."""

from __future__ import annotations

import numpy as np
from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.legalize.wayround import WayRound


def _is_fraction(exponent: ir.Value) -> bool:
    """A constant that is no whole number: there the plain form is right, NaN for a negative base."""
    owner = exponent.owner
    while not isinstance(owner, ir.Block) and owner.name == "stablehlo.broadcast_in_dim":
        owner = owner.operands[0].owner
    if isinstance(owner, ir.Block) or owner.name != "stablehlo.constant":
        return False
    value = ir.DenseElementsAttr(owner.attributes["value"])
    return bool(value.is_splat) and not float(np.array(ir.FloatAttr(value.get_splat_value()).value)).is_integer()


def _power(op: ir.Operation) -> None:
    """|x|^y, with the sign of an odd whole exponent, NaN for a broken one; 1 where y is 0 or x is 1."""
    if op.name != "stablehlo.power" or isinstance(hlo.element_type(op.results[0]), ir.IntegerType):
        return
    x, y = op.operands
    if _is_fraction(y):
        return
    with ir.InsertionPoint(op), op.location:
        shape, element = hlo.shape_of(x), hlo.element_type(x)
        zero, one, half = (hlo.splat(n, shape, element) for n in (0, 1, 0.5))
        size = hlo.power(hlo.abs_(x), y)
        halved = hlo.multiply(y, half)
        odd = hlo.compare("NE", halved, hlo.floor(halved))
        whole = hlo.compare("EQ", y, hlo.floor(y))
        signed = hlo.select(whole, hlo.select(odd, hlo.negate(size), size), hlo.splat(float("nan"), shape, element))
        value = hlo.select(hlo.compare("LT", x, zero), signed, size)
        trivial = hlo.or_(hlo.compare("EQ", y, zero), hlo.compare("EQ", x, one))
        value = hlo.select(trivial, one, value)
    fn.replace(op, value)


POWER = WayRound("power", "a power with a negative base, 0^0 and 1^inf are NaN", ("cpu", "vulkan", "cuda"), _power)
