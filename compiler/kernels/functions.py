"""Functions of vectors of f32 for which the code generator has nothing as quick."""

from __future__ import annotations

from collections.abc import Sequence

from sexpgpu.compiler.kernels.code import Vector

#: erf(x) = x P(x²) / Q(x²) up to 3.92, from where it is 1: the quotient of this degree whose largest relative error is
#: least (exchange algorithm of Remez, in 50 digits), 1.9e-8 before anything is rounded. At `BEYOND` it is above 1 by
#: more than it can be wrong.
BEYOND = 4.05
P = (1.12837915, 0.190407333, 0.0527488435, 0.00376565588, 0.000284883904, 2.05008447e-6)
Q = (1.0, 0.502076846, 0.114109475, 0.014969294, 0.00116254553, 3.80917479e-5)


def clamped(x: Vector, bound: float) -> Vector:
    """x between -bound and bound; NaN where it is NaN."""
    k = x.kernel
    return k.splat(bound).least(k.splat(-bound).most(x))


def polynomial(x: Vector, coefficients: Sequence[float]) -> Vector:
    """By Horner's rule; the constant comes first."""
    k = x.kernel
    *rest, value = map(k.splat, coefficients)
    for coefficient in reversed(rest):
        value = coefficient.plus_product(value, x)
    return value


def erf(x: Vector) -> Vector:
    """To 4e-7 of it. The code generator's takes each coefficient from one of four sets, number by number: three
    selections for each."""
    x = clamped(x, BEYOND)
    square = x * x
    return clamped(x * polynomial(square, P) / polynomial(square, Q), 1.0)
