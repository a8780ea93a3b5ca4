"""Operations on each element."""

from __future__ import annotations

from functools import partial

from iree.compiler import ir
from sexpgpu.compiler.hlo.core import Dims, element_type, make, shape_of, tensor_type


def _unary(name: str, x: ir.Value) -> ir.Value:
    return make(f"stablehlo.{name}", [x.type], [x]).result


def _binary(name: str, x: ir.Value, y: ir.Value) -> ir.Value:
    assert x.type == y.type, f"{name}: {x.type} and {y.type}"
    return make(f"stablehlo.{name}", [x.type], [x, y]).result


negate = partial(_unary, "negate")
abs_ = partial(_unary, "abs")
sign = partial(_unary, "sign")
exponential = partial(_unary, "exponential")
exponential_minus_one = partial(_unary, "exponential_minus_one")
log = partial(_unary, "log")
log_plus_one = partial(_unary, "log_plus_one")
sqrt = partial(_unary, "sqrt")
rsqrt = partial(_unary, "rsqrt")
cbrt = partial(_unary, "cbrt")
floor = partial(_unary, "floor")
ceil = partial(_unary, "ceil")
round_nearest_even = partial(_unary, "round_nearest_even")
sine = partial(_unary, "sine")
cosine = partial(_unary, "cosine")
tan = partial(_unary, "tan")
tanh = partial(_unary, "tanh")
logistic = partial(_unary, "logistic")
not_ = partial(_unary, "not")
optimization_barrier = partial(_unary, "optimization_barrier")

add = partial(_binary, "add")
subtract = partial(_binary, "subtract")
multiply = partial(_binary, "multiply")
divide = partial(_binary, "divide")
remainder = partial(_binary, "remainder")
power = partial(_binary, "power")
maximum = partial(_binary, "maximum")
minimum = partial(_binary, "minimum")
atan2 = partial(_binary, "atan2")
and_ = partial(_binary, "and")
or_ = partial(_binary, "or")
xor = partial(_binary, "xor")
shift_left = partial(_binary, "shift_left")
shift_right_logical = partial(_binary, "shift_right_logical")
shift_right_arithmetic = partial(_binary, "shift_right_arithmetic")


def erf(x: ir.Value) -> ir.Value:
    return make("chlo.erf", [x.type], [x]).result


def erf_inv(x: ir.Value) -> ir.Value:
    return make("chlo.erf_inv", [x.type], [x]).result


def is_finite(x: ir.Value) -> ir.Value:
    return make("stablehlo.is_finite", [tensor_type(shape_of(x), "i1")], [x]).result


def compare(direction: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """`direction` is EQ, NE, LT, LE, GT or GE; the comparison type follows from the element type."""
    assert x.type == y.type
    kind = element_type(x)
    if isinstance(kind, ir.IntegerType):
        compare_type = "UNSIGNED" if kind.is_unsigned or kind.width == 1 else "SIGNED"
    else:
        compare_type = "FLOAT"
    return make("stablehlo.compare", [tensor_type(shape_of(x), "i1")], [x, y], {
        "comparison_direction": ir.Attribute.parse(f"#stablehlo<comparison_direction {direction}>"),
        "compare_type": ir.Attribute.parse(f"#stablehlo<comparison_type {compare_type}>"),
    }).result


def select(condition: ir.Value, on_true: ir.Value, on_false: ir.Value) -> ir.Value:
    """`condition` has the shape of the branches, or is a scalar."""
    assert on_true.type == on_false.type
    return make("stablehlo.select", [on_true.type], [condition, on_true, on_false]).result


def convert(x: ir.Value, element: ir.Type | str) -> ir.Value:
    type_ = tensor_type(shape_of(x), element)
    return x if type_ == x.type else make("stablehlo.convert", [type_], [x]).result


def reduce_precision(x: ir.Value, exponent_bits: int, mantissa_bits: int) -> ir.Value:
    """Rounded to fewer bits, in the same element type."""
    i32 = ir.IntegerType.get_signless(32)
    return make("stablehlo.reduce_precision", [x.type], [x], {
        "exponent_bits": ir.IntegerAttr.get(i32, exponent_bits),
        "mantissa_bits": ir.IntegerAttr.get(i32, mantissa_bits),
    }).result


def bitcast_convert(x: ir.Value, shape: Dims, element: ir.Type | str) -> ir.Value:
    return make("stablehlo.bitcast_convert", [tensor_type(shape, element)], [x]).result
