"""Arithmetic on the host scalars of `ctx` functions, in the `arith` and `math` dialects.

Integers are exact i64, fractions f64; where the two meet, the integer becomes f64, and a bool 0 or 1 as i64. Plain
numbers of the program become constants. Nothing here touches tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from iree.compiler import ir
from sexpgpu.compiler.frontend.values import HostScalar
from sexpgpu.diagnostics import Span

TYPES = {"i64": "i64", "f64": "f64", "bool": "i1", "choice": "i64"}


def constant(number: int | float | bool, span: Span) -> HostScalar:
    """A plain number as a host scalar."""
    kind = "bool" if isinstance(number, bool) else "i64" if isinstance(number, int) else "f64"
    type_ = ir.Type.parse(TYPES[kind])
    if kind == "bool":
        attribute: ir.Attribute = ir.BoolAttr.get(bool(number))
    else:
        attribute = ir.FloatAttr.get(type_, float(number)) if kind == "f64" else ir.IntegerAttr.get(type_, int(number))
    made = ir.Operation.create("arith.constant", results=[type_], attributes={"value": attribute})
    return HostScalar(made.result, kind, span)


def scalar(value: object, span: Span) -> HostScalar:
    if isinstance(value, HostScalar):
        return value
    assert isinstance(value, (int, float))
    return constant(value, span)


def _op(name: str, kind: str, operands: Sequence[ir.Value], attributes: dict | None = None) -> ir.Value:
    return ir.Operation.create(name, results=[ir.Type.parse(TYPES[kind])], operands=list(operands),
                               attributes=attributes or {}).result


def to_kind(x: HostScalar, kind: str) -> ir.Value:
    """`x` as an i64 or an f64; never from a fraction to an integer."""
    value, have = x.value, "i64" if x.kind == "choice" else x.kind
    if have == "bool" and kind != "bool":
        value, have = _op("arith.extui", "i64", [value]), "i64"
    if have == "i64" and kind == "f64":
        if not isinstance(value, ir.BlockArgument):
            # A 0 or 1 that follows a condition would be folded into a conversion of the condition itself, which the
            # host's code generator gets wrong (a 32-bit result for an f64).
            value = _op("util.optimization_barrier", "i64", [value])
        return _op("arith.sitofp", "f64", [value])
    assert have == kind, f"{have} to {kind}"
    return value


def common(xs: Sequence[HostScalar]) -> tuple[str, list[ir.Value]]:
    kind = "f64" if any(x.kind == "f64" for x in xs) else "i64"
    return kind, [to_kind(x, kind) for x in xs]


def binary(integer_op: str, float_op: str, x: HostScalar, y: HostScalar, span: Span) -> HostScalar:
    kind, operands = common([x, y])
    return HostScalar(_op(integer_op if kind == "i64" else float_op, kind, operands), kind, span)


def float_unary(name: str, x: HostScalar, span: Span) -> HostScalar:
    return HostScalar(_op(name, "f64", [to_kind(x, "f64")]), "f64", span)


def float_binary(name: str, x: HostScalar, y: HostScalar, span: Span) -> HostScalar:
    return HostScalar(_op(name, "f64", [to_kind(x, "f64"), to_kind(y, "f64")]), "f64", span)


def compare(direction: str, x: HostScalar, y: HostScalar, span: Span) -> HostScalar:
    """`direction` is EQ, NE, LT, LE, GT or GE; comparisons with NaN are false, but NE."""
    kind, operands = common([x, y])
    if kind == "i64":
        predicate = {"EQ": 0, "NE": 1, "LT": 2, "LE": 3, "GT": 4, "GE": 5}[direction]  # arith: eq ne slt sle sgt sge
        name = "arith.cmpi"
    else:
        predicate = {"EQ": 1, "GT": 2, "GE": 3, "LT": 4, "LE": 5, "NE": 13}[direction]  # arith: oeq ogt oge olt ole une
        name = "arith.cmpf"
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    return HostScalar(_op(name, "bool", operands, {"predicate": attribute}), "bool", span)


def select(condition: HostScalar, x: HostScalar, y: HostScalar, span: Span) -> HostScalar:
    if x.kind == y.kind == "bool":
        kind, operands = "bool", [x.value, y.value]
    else:
        kind, operands = common([x, y])
    return HostScalar(_op("arith.select", kind, [condition.value, *operands]), kind, span)


def logic(name: str, x: HostScalar, y: HostScalar, span: Span) -> HostScalar:
    """`arith.andi`, `arith.ori` or `arith.xori` of two bools."""
    return HostScalar(_op(name, "bool", [x.value, y.value]), "bool", span)


def truth_not(x: HostScalar, span: Span) -> HostScalar:
    return logic("arith.xori", x, constant(True, span), span)


def whole(name: str, x: HostScalar, span: Span) -> HostScalar:
    """Rounding: an integer is itself; a fraction goes through `name` (`math.floor`, …) and stays an f64, for the host
    has no conversion of an f64 to an i64."""
    if x.kind != "f64":
        return HostScalar(to_kind(x, "i64"), "i64", span)
    return float_unary(name, x, span)


def modulo(x: HostScalar, y: HostScalar, span: Span) -> HostScalar:
    """With the sign of the divisor, as at compile time."""
    kind, (a, b) = common([x, y])
    if kind == "i64":
        rest = _op("arith.remsi", "i64", [a, b])
        zero = constant(0, span).value
        wrong = HostScalar(rest, "i64", span), HostScalar(zero, "i64", span)
        differs = logic("arith.xori", compare("LT", *wrong, span),
                        compare("LT", HostScalar(b, "i64", span), wrong[1], span), span)
        fix = logic("arith.andi", differs, compare("NE", *wrong, span), span)
        return select(fix, HostScalar(_op("arith.addi", "i64", [rest, b]), "i64", span), wrong[0], span)
    whole = _op("math.floor", "f64", [_op("arith.divf", "f64", [a, b])])
    return HostScalar(_op("arith.subf", "f64", [a, _op("arith.mulf", "f64", [whole, b])]), "f64", span)


def quotient(x: HostScalar, y: HostScalar, span: Span) -> HostScalar:
    """The whole part of the division, towards zero."""
    kind, (a, b) = common([x, y])
    if kind == "i64":
        return HostScalar(_op("arith.divsi", "i64", [a, b]), "i64", span)
    share = HostScalar(_op("arith.divf", "f64", [a, b]), "f64", span)
    below = compare("LT", share, constant(0.0, span), span)
    # The host has no truncation.
    return select(below, float_unary("math.ceil", share, span), float_unary("math.floor", share, span), span)


def absolute(x: HostScalar, span: Span) -> HostScalar:
    kind, operands = common([x])
    return HostScalar(_op("math.absi" if kind == "i64" else "math.absf", kind, operands), kind, span)


def negate(x: HostScalar, span: Span) -> HostScalar:
    return binary("arith.subi", "arith.subf", constant(0, span), x, span) if x.kind != "f64" else \
        float_unary("arith.negf", x, span)


#: Functions of one fraction, by the name of the language.
UNARY: dict[str, Callable[[HostScalar, Span], HostScalar]] = {
    name: partial(float_unary, f"math.{word}") for name, word in (
        ("exp", "exp"), ("log", "log"), ("log1p", "log1p"), ("expm1", "expm1"), ("sqrt", "sqrt"), ("rsqrt", "rsqrt"),
        ("sin", "sin"), ("cos", "cos"), ("tanh", "tanh"), ("erf", "erf"))
}
# The host has no tangent.
UNARY["tan"] = lambda x, span: float_binary("arith.divf", float_unary("math.sin", x, span),
                                            float_unary("math.cos", x, span), span)
