"""Derivatives of elementwise operations.

Ties and poles follow JAX: half each at equal maxima, none at the bounds of a clamp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from iree.compiler import ir
from sexpgpu.compiler.hlo import (
    abs_,
    add,
    compare,
    convert,
    cosine,
    divide,
    element_type,
    exponential,
    floor,
    log,
    make,
    multiply,
    negate,
    power,
    reduce,
    rsqrt,
    select,
    shape_of,
    sign,
    sine,
    splat,
    subtract,
    zeros_like,
)
from sexpgpu.compiler.passes.autodiff.rules import RULES, Primal, Thunk, rule

V = ir.Value


def like(x: V, number: float) -> V:
    """`number` in the type of `x`."""
    return splat(number, shape_of(x), element_type(x))


def scale(x: V, number: float) -> V:
    return multiply(x, like(x, number))


def _one_minus_square(y: V) -> V:
    return subtract(like(y, 1), multiply(y, y))


def _chlo(name: str, x: V) -> V:
    return make(f"chlo.{name}", [x.type], [x]).result


#: g, x, y = f(x) → the cotangent of x.
UNARY: dict[str, Callable[[V, V, V], V]] = {
    "stablehlo.negate": lambda g, x, y: negate(g),
    "stablehlo.abs": lambda g, x, y: multiply(g, sign(x)),
    "stablehlo.exponential": lambda g, x, y: multiply(g, y),
    "stablehlo.exponential_minus_one": lambda g, x, y: multiply(g, add(y, like(y, 1))),
    "stablehlo.log": lambda g, x, y: divide(g, x),
    "stablehlo.log_plus_one": lambda g, x, y: divide(g, add(x, like(x, 1))),
    "stablehlo.sqrt": lambda g, x, y: multiply(g, divide(like(y, 0.5), y)),
    "stablehlo.rsqrt": lambda g, x, y: multiply(g, scale(divide(y, x), -0.5)),
    "stablehlo.cbrt": lambda g, x, y: multiply(g, scale(divide(y, x), 1 / 3)),
    "stablehlo.sine": lambda g, x, y: multiply(g, cosine(x)),
    "stablehlo.cosine": lambda g, x, y: negate(multiply(g, sine(x))),
    "stablehlo.tan": lambda g, x, y: multiply(g, add(like(y, 1), multiply(y, y))),
    "stablehlo.tanh": lambda g, x, y: multiply(g, _one_minus_square(y)),
    "stablehlo.logistic": lambda g, x, y: multiply(g, multiply(y, subtract(like(y, 1), y))),
    "chlo.square": lambda g, x, y: multiply(g, scale(x, 2)),
    "chlo.erf": lambda g, x, y: multiply(g, scale(exponential(negate(multiply(x, x))), 2 / math.sqrt(math.pi))),
    "chlo.erfc": lambda g, x, y: multiply(g, scale(exponential(negate(multiply(x, x))), -2 / math.sqrt(math.pi))),
    "chlo.erf_inv": lambda g, x, y: multiply(g, scale(exponential(multiply(y, y)), math.sqrt(math.pi) / 2)),
    "chlo.tan": lambda g, x, y: multiply(g, add(like(y, 1), multiply(y, y))),
    "chlo.sinh": lambda g, x, y: multiply(g, _chlo("cosh", x)),
    "chlo.cosh": lambda g, x, y: multiply(g, _chlo("sinh", x)),
    "chlo.asin": lambda g, x, y: multiply(g, rsqrt(_one_minus_square(x))),
    "chlo.acos": lambda g, x, y: negate(multiply(g, rsqrt(_one_minus_square(x)))),
    "chlo.atan": lambda g, x, y: divide(g, add(like(x, 1), multiply(x, x))),
    "chlo.asinh": lambda g, x, y: multiply(g, rsqrt(add(multiply(x, x), like(x, 1)))),
    "chlo.acosh": lambda g, x, y: multiply(g, rsqrt(subtract(multiply(x, x), like(x, 1)))),
    "chlo.atanh": lambda g, x, y: divide(g, _one_minus_square(x)),
    "chlo.lgamma": lambda g, x, y: multiply(g, _chlo("digamma", x)),
}


def _unary_rule(name: str) -> None:
    derivative = UNARY[name]

    @rule(name)
    def _(p: Primal) -> Sequence[Thunk | None]:
        return [lambda: derivative(p.g, p.operands[0], p.out)]


for _name in UNARY:
    _unary_rule(_name)


@rule("stablehlo.add")
def _add(p: Primal) -> Sequence[Thunk | None]:
    return [lambda: p.g, lambda: p.g]


@rule("stablehlo.subtract")
def _subtract(p: Primal) -> Sequence[Thunk | None]:
    return [lambda: p.g, lambda: negate(p.g)]


@rule("stablehlo.multiply")
def _multiply(p: Primal) -> Sequence[Thunk | None]:
    x, y = p.operands
    return [lambda: multiply(p.g, y), lambda: multiply(p.g, x)]


@rule("stablehlo.divide")
def _divide(p: Primal) -> Sequence[Thunk | None]:
    _, y = p.operands
    return [lambda: divide(p.g, y), lambda: negate(multiply(divide(p.g, y), p.out))]


@rule("stablehlo.remainder")
def _remainder(p: Primal) -> Sequence[Thunk | None]:
    """x − y · trunc(x / y): the quotient's steps count as constant."""
    x, y = p.operands

    def of_y() -> V:
        q = divide(x, y)
        return negate(multiply(p.g, multiply(sign(q), floor(abs_(q)))))

    return [lambda: p.g, of_y]


@rule("stablehlo.power")
def _power(p: Primal) -> Sequence[Thunk | None]:
    """d/dx = y · x^(y−1), taken as 0 where y is 0; d/dy = log(x) · x^y, with log(0) taken as 0."""
    x, y = p.operands

    def of_x() -> V:
        zero = compare("EQ", y, zeros_like(y))
        exponent = select(zero, like(y, 1), subtract(y, like(y, 1)))
        return multiply(p.g, select(zero, zeros_like(y), multiply(y, power(x, exponent))))

    def of_y() -> V:
        base = select(compare("EQ", x, zeros_like(x)), like(x, 1), x)
        return multiply(p.g, multiply(log(base), p.out))

    return [of_x, of_y]


@rule("stablehlo.atan2")
def _atan2(p: Primal) -> Sequence[Thunk | None]:
    x, y = p.operands

    def over_norm() -> V:
        return divide(p.g, add(multiply(x, x), multiply(y, y)))

    return [lambda: multiply(over_norm(), y), lambda: negate(multiply(over_norm(), x))]


def _extremum(p: Primal, wins: str) -> Sequence[Thunk | None]:
    x, y = p.operands

    def share(own: V, other: V) -> V:
        zero, half = zeros_like(p.g), scale(p.g, 0.5)
        return select(compare(wins, own, other), p.g, select(compare("EQ", own, other), half, zero))

    return [lambda: share(x, y), lambda: share(y, x)]


@rule("stablehlo.maximum")
def _maximum(p: Primal) -> Sequence[Thunk | None]:
    return _extremum(p, "GT")


@rule("stablehlo.minimum")
def _minimum(p: Primal) -> Sequence[Thunk | None]:
    return _extremum(p, "LT")


@rule("stablehlo.select")
def _select(p: Primal) -> Sequence[Thunk | None]:
    condition = p.operands[0]
    return [None, lambda: select(condition, p.g, zeros_like(p.g)), lambda: select(condition, zeros_like(p.g), p.g)]


@rule("stablehlo.clamp")
def _clamp(p: Primal) -> Sequence[Thunk | None]:
    """Bounds may be scalars beside a tensor; their cotangent is then the sum."""
    low, x, high = p.operands

    def spread(bound: V) -> V:
        if shape_of(bound) == shape_of(x):
            return bound
        return make("stablehlo.broadcast_in_dim", [x.type], [bound],
                    {"broadcast_dimensions": ir.DenseI64ArrayAttr.get([])}).result

    def gathered(bound: V, direction: str) -> V:
        flows = select(compare(direction, x, spread(bound)), p.g, zeros_like(p.g))
        return flows if shape_of(bound) == shape_of(x) else reduce(flows, range(len(shape_of(x))), "add")

    def inside() -> V:
        above, below = compare("GT", x, spread(low)), compare("LT", x, spread(high))
        return select(above, select(below, p.g, zeros_like(p.g)), zeros_like(p.g))

    return [lambda: gathered(low, "LT"), inside, lambda: gathered(high, "GT")]


@rule("stablehlo.convert")
def _convert(p: Primal) -> Sequence[Thunk | None]:
    return [lambda: convert(p.g, element_type(p.operands[0]))]


@rule("stablehlo.reduce_precision")
def _reduce_precision(p: Primal) -> Sequence[Thunk | None]:
    attributes = {k: p.op.attributes[k] for k in ("exponent_bits", "mantissa_bits")}
    return [lambda: make("stablehlo.reduce_precision", [p.g.type], [p.g], attributes).result]


@rule("stablehlo.optimization_barrier")
def _barrier(p: Primal) -> Sequence[Thunk | None]:
    return [None if g is None else (lambda g=g: g) for g in p.cotangents]


__all__ = ["RULES", "like", "scale"]
