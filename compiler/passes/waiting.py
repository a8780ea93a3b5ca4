"""Values that are made to wait: the order in which a backend computes is its own, and only a dependence changes it."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from sexpgpu.compiler import hlo


def after(arrived: ir.Value, values: Sequence[ir.Value]) -> list[ir.Value]:
    """The same values, known no earlier than `arrived`, of floats: a zero is made of one of its elements and added to
    them. A barrier alone orders nothing: the backend starts what it can, the second computation beside the first, and
    keeps both.
    """
    rank = len(hlo.shape_of(arrived))
    one = hlo.reshape(hlo.slice_(arrived, [0] * rank, [1] * rank), [])
    zero = hlo.minimum(hlo.abs_(one), hlo.zeros_like(one))
    return [hlo.add(v, hlo.broadcast_scalar(_zero(zero, hlo.element_type(v)), hlo.shape_of(v))) for v in values]


def _zero(zero: ir.Value, kind: ir.Type) -> ir.Value:
    """As a number of that kind; an integer is 0 where `zero` is no number."""
    if not isinstance(kind, ir.IntegerType):
        return hlo.convert(zero, kind)
    return hlo.select(hlo.compare("GT", zero, hlo.zeros_like(zero)), hlo.splat(1, [], kind), hlo.splat(0, [], kind))
