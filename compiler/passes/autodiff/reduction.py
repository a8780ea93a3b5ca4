"""Derivatives of reductions. Equal maxima share the cotangent evenly, as in JAX."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from sexpgpu.compiler.hlo import (
    broadcast_in_dim,
    compare,
    divide,
    element_type,
    multiply,
    reduce,
    select,
    shape_of,
    splat,
    zeros_like,
)
from sexpgpu.compiler.passes.autodiff.rules import NoDerivative, Primal, Thunk, rule
from sexpgpu.compiler.passes.reading import dims_of, reducer_of


@rule("stablehlo.reduce")
def _reduce(p: Primal) -> Sequence[Thunk | None]:
    kind = reducer_of(p.op)
    if kind is None or len(p.operands) != 2:
        raise NoDerivative("a reduction has a derivative when it combines one tensor by add, multiply, max or min")
    x, _ = p.operands
    dims = dims_of(p.op, "dimensions")
    kept = [d for d in range(len(shape_of(x))) if d not in dims]

    def spread(value: ir.Value) -> ir.Value:
        return broadcast_in_dim(value, shape_of(x), kept)

    def add_() -> ir.Value:
        return spread(p.g)

    def extremum() -> ir.Value:
        winner = compare("EQ", x, spread(p.out))
        one, zero = splat(1, shape_of(x), element_type(x)), zeros_like(x)
        count = reduce(select(winner, one, zero), dims, "add")
        return select(winner, spread(divide(p.g, count)), zero)

    def product() -> ir.Value:
        """g · (product of the others): exact with zeros, where only a lone zero gets anything."""
        zero, one = zeros_like(x), splat(1, shape_of(x), element_type(x))
        is_zero = compare("EQ", x, zero)
        safe = select(is_zero, one, x)
        rest = reduce(safe, dims, "multiply")
        zeros = reduce(select(is_zero, one, zero), dims, "add")
        none, single = splat(0, shape_of(zeros), element_type(x)), splat(1, shape_of(zeros), element_type(x))
        g = multiply(p.g, rest)
        for_zero = spread(select(compare("EQ", zeros, single), g, none))
        for_rest = divide(spread(select(compare("EQ", zeros, none), g, none)), safe)
        return select(is_zero, for_zero, for_rest)

    match kind:
        case "stablehlo.add":
            return [add_, lambda: reduce(p.g, range(len(kept)), "add") if kept else p.g]
        case "stablehlo.maximum" | "stablehlo.minimum":
            return [extremum, None]
        case "stablehlo.multiply":
            return [product, None]
    raise NoDerivative(f"a reduction by `{kind}` has no derivative")


