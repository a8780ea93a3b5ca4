"""Functions of one number, element by element: exponentials, roots, rounding, trigonometry, the error function.

One table: the name, what it is on a compile-time number, on a value of `ctx`, and in the graph. Compile-time results
follow IEEE, as in the graph: the logarithm of 0 is `-inf`, of a negative number NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support import host
from sexpgpu.compiler.frontend.ops.support.elementwise import Elementwise, at, elementwise
from sexpgpu.compiler.frontend.values import HostScalar
from sexpgpu.diagnostics import Span
from sexpgpu.diagnostics.record import record

if TYPE_CHECKING:
    from iree.compiler import ir

FLAT = "none: it is constant almost everywhere"


def ieee(function: Callable[[float], float], at_pole: float = math.nan) -> Callable[[float], float]:
    """A function of `math` that gives NaN outside of its domain, and `at_pole` at 0 where it has a pole there."""
    def call(x: float) -> float:
        if x == 0 and not math.isnan(at_pole):
            return at_pole
        try:
            return function(x)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf
    return call


def log1p_number(x: float) -> float:
    return -math.inf if x == -1 else ieee(math.log1p)(x)


def nearest(x: float) -> int:
    """Halves go to the even neighbour, as in the graph."""
    return round(x)


def sigmoid_number(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def host_sigmoid(x: HostScalar, span: Span) -> HostScalar:
    one = host.constant(1.0, span)
    grown = host.float_unary("math.exp", host.negate(HostScalar(host.to_kind(x, "f64"), "f64", span), span), span)
    return host.float_binary("arith.divf", one, host.binary("arith.addi", "arith.addf", one, grown, span), span)


def erf_inv_number(x: float) -> float:
    if abs(x) >= 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    from statistics import NormalDist  # takes longer to import than most programs to check

    return NormalDist().inv_cdf((x + 1) / 2) / math.sqrt(2)


def host_square(x: HostScalar, span: Span) -> HostScalar:
    return host.binary("arith.muli", "arith.mulf", x, x, span)


def host_reciprocal(x: HostScalar, span: Span) -> HostScalar:
    return host.float_binary("arith.divf", host.constant(1.0, span), x, span)


def host_sign(x: HostScalar, span: Span) -> HostScalar:
    zero = host.constant(0, span)
    up = host.select(host.compare("GT", x, zero, span), host.constant(1, span), zero, span)
    sign = host.select(host.compare("LT", x, zero, span), host.constant(-1, span), up, span)
    return sign if x.kind != "f64" else HostScalar(host.to_kind(sign, "f64"), "f64", span)


def stage_square(x: ir.Value) -> ir.Value:
    return hlo.multiply(x, x)


def stage_reciprocal(x: ir.Value) -> ir.Value:
    return hlo.divide(hlo.splat(1, hlo.shape_of(x), hlo.element_type(x)), x)


@record
class Function:
    """One row of the table."""

    name: str
    group: str
    doc: str
    spec: Elementwise
    grad: str = "yes"


def real(number: Callable[[float], float], name: str, stage: Callable[..., ir.Value]) -> Elementwise:
    return Elementwise(number, host.UNARY.get(name), stage, domain="float")


def rounding(number: Callable[[float], object], name: str, stage: Callable[..., ir.Value]) -> Elementwise:
    return Elementwise(number, partial(host.whole, name), stage, domain="float")


ARITHMETIC, SPECIAL = "arithmetic", "trigonometry, special"

TABLE: tuple[Function, ...] = (
    Function("abs", ARITHMETIC, "Absolute value.", Elementwise(abs, host.absolute, hlo.abs_)),
    Function("sign", ARITHMETIC, "-1, 0 or 1; NaN of NaN.", Elementwise(
        lambda x: x if x != x else type(x)((x > 0) - (x < 0)), host_sign, hlo.sign), FLAT),
    Function("exp", ARITHMETIC, "e to the power x.", real(ieee(math.exp), "exp", hlo.exponential)),
    Function("log", ARITHMETIC, "Natural logarithm.", real(ieee(math.log, -math.inf), "log", hlo.log)),
    Function("log1p", ARITHMETIC, "log(1 + x), exact near 0.", real(log1p_number, "log1p", hlo.log_plus_one)),
    Function("expm1", ARITHMETIC, "exp(x) - 1, exact near 0.",
             real(ieee(math.expm1), "expm1", hlo.exponential_minus_one)),
    Function("sqrt", ARITHMETIC, "Square root.", real(ieee(math.sqrt), "sqrt", hlo.sqrt)),
    Function("rsqrt", ARITHMETIC, "1 / sqrt(x).", real(
        ieee(lambda x: 1 / math.sqrt(x), math.inf), "rsqrt", hlo.rsqrt)),
    Function("square", ARITHMETIC, "x · x.", Elementwise(lambda x: x * x, host_square, stage_square)),
    Function("reciprocal", ARITHMETIC, "1 / x.", Elementwise(
        lambda x: 1 / x, host_reciprocal, stage_reciprocal, domain="float")),
    Function("floor", ARITHMETIC, "The largest whole number not above x; an integer at compile time.",
             rounding(math.floor, "math.floor", hlo.floor), FLAT),
    Function("ceil", ARITHMETIC, "The smallest whole number not below x; an integer at compile time.",
             rounding(math.ceil, "math.ceil", hlo.ceil), FLAT),
    Function("round", ARITHMETIC, "The nearest whole number, halves to the even one; an integer at compile time.",
             rounding(nearest, "math.roundeven", hlo.round_nearest_even), FLAT),
    Function("sin", SPECIAL, "Sine of radians.", real(ieee(math.sin), "sin", hlo.sine)),
    Function("cos", SPECIAL, "Cosine of radians.", real(ieee(math.cos), "cos", hlo.cosine)),
    Function("tan", SPECIAL, "Tangent of radians.", real(ieee(math.tan), "tan", hlo.tan)),
    Function("tanh", SPECIAL, "Hyperbolic tangent.", real(math.tanh, "tanh", hlo.tanh)),
    Function("sigmoid", SPECIAL, "1 / (1 + exp(-x)).", Elementwise(
        sigmoid_number, host_sigmoid, hlo.logistic, domain="float")),
    Function("erf", SPECIAL, "The error function.", real(math.erf, "erf", hlo.erf)),
    Function("erf-inv", SPECIAL, "The inverse of the error function.", real(erf_inv_number, "", hlo.erf_inv)),
)


def _enter(row: Function) -> None:
    @op(row.name, "x", group=row.group, rule="a -> a", grad=row.grad, doc=row.doc)
    def apply(call: Call, x: object) -> object:
        return elementwise(call, row.spec, [at(call, "x", x)])


for _row in TABLE:
    _enter(_row)


@op("atan2", "y x", group=SPECIAL, rule="broadcast(a b) -> c", doc="The angle of the point (x, y), in (-π, π].")
def atan2(call: Call, y: object, x: object) -> object:
    spec = Elementwise(math.atan2, partial(host.float_binary, "math.atan2"), hlo.atan2, domain="float")
    return elementwise(call, spec, [at(call, "y", y), at(call, "x", x)])
