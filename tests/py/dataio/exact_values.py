"""What a dtype holds for a value, by exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

INTEGERS = {f"{sign}int{bits}": (0 if sign else -(1 << (bits - 1)), (1 << bits if sign else 1 << (bits - 1)) - 1)
            for sign in ("", "u") for bits in (8, 16, 32, 64)}
RANGES = {**{name.replace("uint", "u").replace("int", "i"): r for name, r in INTEGERS.items()}, "bool": (0, 1)}
# significand bits, smallest normal exponent, largest exponent
FLOATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}
Number = Fraction | float  # a float only where it is not finite


def round_to(value: Fraction, dtype: str) -> Fraction | None:
    """To the nearest number of the format, ties to even; None for an overflow."""
    digits, low, high = FLOATS[dtype]
    if value == 0:
        return value
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    unit = Fraction(2) ** (max(exponent, low) - digits + 1)
    rounded = round(size / unit) * unit  # Python rounds halves to even
    if rounded >= Fraction(2) ** (high + 1):
        return None
    return rounded if value > 0 else -rounded


def wanted(value: Number, exact: bool, dtype: str) -> Number | None:
    """What the dtype holds for the value, None where it is refused. `exact`: an integer or a bool, never rounded."""
    if isinstance(value, float):
        return value if dtype in FLOATS else None
    if dtype not in FLOATS:
        low, high = RANGES[dtype]
        return value if value.denominator == 1 and low <= value <= high else None
    rounded = round_to(value, dtype)
    return None if exact and rounded != value else rounded


def decoded(array: np.ndarray, dtype: str) -> list[Number]:
    if dtype == "bf16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return [value if isinstance(value, float) and not math.isfinite(value) else Fraction(value)
            for value in array.tolist()]


def same(a: Number, b: Number) -> bool:
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


def exact_value(value: object) -> Number:
    if isinstance(value, float | np.floating):
        return Fraction(float(value)) if math.isfinite(value) else float(value)
    return Fraction(value)  # type: ignore[arg-type]
