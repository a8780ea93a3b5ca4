"""Arithmetic: on compile-time numbers (Python's, with exact integers), on values of `ctx`, and on tensors.

`+ - * /` and the comparisons take any number of operands and fold from the left, as in Lisp. `/` of compile-time
integers is an integer where it divides and a float elsewhere; of integer tensors it is refused in favour of
`quotient` or a `cast`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support import host
from sexpgpu.compiler.frontend.ops.support.broadcast import Argument, agree_dtype, broadcast_arguments
from sexpgpu.compiler.frontend.ops.support.elementwise import Elementwise, at, at_rest, elementwise, world_of
from sexpgpu.compiler.frontend.ops.support.staged import cast_fix
from sexpgpu.compiler.frontend.values import HostScalar, Tensor
from sexpgpu.diagnostics import Fix, Span

GROUP = "arithmetic"
BROADCAST = "broadcast(a b) -> c"


def divide_numbers(a: int | float, b: int | float) -> int | float:
    """An integer where integers divide, else a float."""
    if isinstance(a, int) and isinstance(b, int) and a % b == 0:
        return a // b
    return a / b


def quotient_numbers(a: int | float, b: int | float) -> int | float:
    """The whole part, towards zero; exact for integers of any size."""
    if isinstance(a, int) and isinstance(b, int):
        whole = abs(a) // abs(b)
        return whole if (a < 0) == (b < 0) else -whole
    return float(math.trunc(a / b))


def power_numbers(a: int | float, b: int | float) -> int | float:
    result = a ** b
    if isinstance(result, complex):
        raise ValueError("a root of a negative number")
    return result


def extreme(choose: Callable, a: int | float, b: int | float) -> int | float:
    """NaN wins, as in the graph."""
    return a if a != a else b if b != b else choose(a, b)


def is_integer(x: ir.Value) -> bool:
    return isinstance(hlo.element_type(x), ir.IntegerType)


def staged_modulo(a: ir.Value, b: ir.Value) -> ir.Value:
    """The sign of the divisor, as NumPy's `mod`; StableHLO's remainder has that of the dividend."""
    rest = hlo.remainder(a, b)
    if is_integer(a) and ir.IntegerType(hlo.element_type(a)).is_unsigned:
        return rest
    zero = hlo.zeros_like(a)
    differs = hlo.compare("NE", hlo.compare("LT", rest, zero), hlo.compare("LT", b, zero))
    wrong = hlo.and_(differs, hlo.compare("NE", rest, zero))
    return hlo.select(wrong, hlo.add(rest, b), rest)


def staged_quotient(a: ir.Value, b: ir.Value) -> ir.Value:
    whole = hlo.divide(a, b)
    if is_integer(a):
        return whole
    return hlo.select(hlo.compare("LT", whole, hlo.zeros_like(whole)), hlo.ceil(whole), hlo.floor(whole))


def host_divide(a: HostScalar, b: HostScalar, span: Span) -> HostScalar:
    """Always a fraction: whether integers divide is not known at compile time."""
    return host.float_binary("arith.divf", a, b, span)


ADD = Elementwise(lambda a, b: a + b, partial(host.binary, "arith.addi", "arith.addf"), hlo.add)
SUBTRACT = Elementwise(lambda a, b: a - b, partial(host.binary, "arith.subi", "arith.subf"), hlo.subtract)
MULTIPLY = Elementwise(lambda a, b: a * b, partial(host.binary, "arith.muli", "arith.mulf"), hlo.multiply)
DIVIDE = Elementwise(divide_numbers, host_divide, hlo.divide)
MODULO = Elementwise(lambda a, b: a % b, host.modulo, staged_modulo)
QUOTIENT = Elementwise(quotient_numbers, host.quotient, staged_quotient)
NEGATE = Elementwise(lambda a: -a, host.negate, hlo.negate)
MAXIMUM = Elementwise(partial(extreme, max), partial(host.binary, "arith.maxsi", "arith.maximumf"), hlo.maximum)
MINIMUM = Elementwise(partial(extreme, min), partial(host.binary, "arith.minsi", "arith.minimumf"), hlo.minimum)
POWER = Elementwise(power_numbers, partial(host.float_binary, "math.powf"), hlo.power, domain="float")


def fold(call: Call, spec: Elementwise, arguments: list[Argument]) -> object:
    """From the left. Numbers meet the dtype all tensors agree on, so `(+ 1 2.5 x)` and `(+ x 1 2.5)` are one."""
    if len(arguments) > 2 and world_of(call, arguments) == "tensor":
        agree_dtype(call, arguments)
        broadcast_arguments(call, arguments)
    result = arguments[0]
    for argument in arguments[1:]:
        value = elementwise(call, spec, [result, argument])
        result = Argument(value, result.span.to(argument.span) if result.span.file == argument.span.file
                          else argument.span)
    return result.value


@op("+", "&rest xs", group=GROUP, rule=BROADCAST, doc="Sum of any number of operands; of none, 0.")
def plus(call: Call, xs: tuple) -> object:
    if not xs:
        return 0
    arguments = at_rest(call, "xs", xs)
    world_of(call, arguments)
    return fold(call, ADD, arguments)


@op("*", "&rest xs", group=GROUP, rule=BROADCAST, doc="Product of any number of operands; of none, 1.")
def times(call: Call, xs: tuple) -> object:
    if not xs:
        return 1
    arguments = at_rest(call, "xs", xs)
    world_of(call, arguments)
    return fold(call, MULTIPLY, arguments)


@op("-", "x &rest ys", group=GROUP, rule=BROADCAST, doc="The first operand less all others; of one operand, its "
                                                        "negative.")
def minus(call: Call, x: object, ys: tuple) -> object:
    first = at(call, "x", x)
    if not ys:
        return elementwise(call, NEGATE, [first])
    return fold(call, SUBTRACT, [first, *at_rest(call, "ys", ys)])


@op("/", "x &rest ys", group=GROUP, rule=BROADCAST, doc="The first operand divided by all others; of one operand, its "
    "reciprocal. Compile-time integers give an integer where they divide; integer tensors are refused (`quotient`).")
def divide(call: Call, x: object, ys: tuple) -> object:
    arguments = [at(call, "x", x), *at_rest(call, "ys", ys)]
    if not ys:
        arguments.insert(0, Argument(1, call.span))
    if world_of(call, arguments) == "tensor":
        _refuse_integers(call, arguments)
    return fold(call, DIVIDE, arguments)


def _refuse_integers(call: Call, arguments: list[Argument]) -> None:
    dtype = agree_dtype(call, arguments)
    if not dtype.is_float:
        span = next(a.span for a in arguments if isinstance(a.value, Tensor))
        fix = cast_fix(span, "f32")
        call.fail("E-TYPE-011", f"`/` of tensors of {dtype}", at=span, label=f"this is {dtype}",
                  fix=Fix("`quotient` divides whole numbers; for fractions, `(cast … :f32)` first", fix.edits))


@op("mod", "x y", group=GROUP, rule=BROADCAST, doc="Remainder with the sign of the divisor, as NumPy's.")
def mod(call: Call, x: object, y: object) -> object:
    return elementwise(call, MODULO, [at(call, "x", x), at(call, "y", y)])


@op("quotient", "x y", group=GROUP, rule=BROADCAST, grad="none: it is constant almost everywhere",
    doc="The whole part of a division, towards zero.")
def quotient(call: Call, x: object, y: object) -> object:
    return elementwise(call, QUOTIENT, [at(call, "x", x), at(call, "y", y)])


@op("neg", "x", group=GROUP, rule="a -> a", doc="The negative.")
def neg(call: Call, x: object) -> object:
    return elementwise(call, NEGATE, [at(call, "x", x)])


@op("maximum", "x y", group=GROUP, rule=BROADCAST, doc="The larger, element by element; NaN where either is NaN.")
def maximum(call: Call, x: object, y: object) -> object:
    return elementwise(call, MAXIMUM, [at(call, "x", x), at(call, "y", y)])


@op("minimum", "x y", group=GROUP, rule=BROADCAST, doc="The smaller, element by element; NaN where either is NaN.")
def minimum(call: Call, x: object, y: object) -> object:
    return elementwise(call, MINIMUM, [at(call, "x", x), at(call, "y", y)])


@op("clamp", "x low high", group=GROUP, rule="a, low, high -> a",
    doc="`x` held between `low` and `high`: `(minimum (maximum x low) high)`.")
def clamp(call: Call, x: object, low: object, high: object) -> object:
    raised = Argument(elementwise(call, MAXIMUM, [at(call, "x", x), at(call, "low", low)]), call.where("x"))
    return elementwise(call, MINIMUM, [raised, at(call, "high", high)])


@op("pow", "x y", group=GROUP, rule=BROADCAST,
    doc="`x` to the power `y`. Small whole exponents known at compile time become products, and keep integers.")
def power(call: Call, x: object, y: object) -> object:
    base, exponent = at(call, "x", x), at(call, "y", y)
    if isinstance(x, Tensor):
        if isinstance(y, int) and not isinstance(y, bool) and 0 < y <= 16:
            return _integer_power(call, base, y)
        shortcut = {0.5: hlo.sqrt, -0.5: hlo.rsqrt}.get(y) if isinstance(y, float) else None
        if shortcut and x.dtype.is_float:
            return elementwise(call, Elementwise(abs, None, shortcut, domain="float"), [base])
    return elementwise(call, POWER, [base, exponent])


def _integer_power(call: Call, base: Argument, exponent: int) -> object:
    """By repeated squaring."""
    square = base
    result: Argument | None = None
    while True:
        if exponent & 1:
            result = square if result is None else Argument(elementwise(call, MULTIPLY, [result, square]), base.span)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result.value
        square = Argument(elementwise(call, MULTIPLY, [square, square]), base.span)
