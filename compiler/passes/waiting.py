"""Values that are made to wait: the order in which a backend computes is its own, and only a dependence changes it."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from sexpgpu.compiler import hlo


def after(arrived: ir.Value, values: Sequence[ir.Value]) -> list[ir.Value]:
    """The same values of floats, known no earlier than `arrived`: a zero is made of one of its elements and added to
    them. A barrier alone orders nothing: the backend starts what it can, the second computation beside the first, and
    keeps both.
    """
    rank = len(hlo.shape_of(arrived))
    one = hlo.reshape(hlo.slice_(arrived, [0] * rank, [1] * rank), [])
    zero = hlo.minimum(hlo.abs_(one), hlo.zeros_like(one))
    return [hlo.add(v, hlo.broadcast_scalar(hlo.convert(zero, hlo.element_type(v)), hlo.shape_of(v))) for v in values]
