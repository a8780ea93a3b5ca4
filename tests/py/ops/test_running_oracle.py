"""Running sums, products and logarithms of sums against JAX, value and gradient: in a kernel, and expanded."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
import numpy as np
from language import floats
from oracle_jax import Case, differences, run

OPERATIONS = {"cumsum": jnp.cumsum, "cumprod": jnp.cumprod,
              "logcumsumexp": lambda x, axis: jax.lax.cumlogsumexp(x, axis=axis)}
#: Rows turned round, with rows and columns left over; eight and sixteen lines side by side, and some twice; and what
#: no kernel takes: few rows, few lines.
SHAPES = (((11, 21), 1), ((8, 5), 1), ((2, 9, 8), 1), ((3, 10, 19), 1), ((5, 20), 1), ((2, 7, 3), 1), ((1, 4), 0))


def case(name: str, shape: tuple[int, ...], axis: int) -> Case:
    def expected(x: jax.Array) -> jax.Array:
        return OPERATIONS[name](x, axis)

    return Case(f"{name} {shape} {axis}", f"({name} x :axis {axis})", {"x": floats(*shape)}, jax.jit(expected))


CASES = [case(name, *where) for name in OPERATIONS for where in SHAPES]
ZERO = np.where(np.arange(231).reshape(11, 21) % 7 == 3, np.float32(0), floats(11, 21))
FAR = floats(11, 21) * np.float32(300)
NOTHING = np.where(np.arange(231).reshape(11, 21) % 3 == 0, np.float32(-np.inf), floats(11, 21))
CASES += [Case(f"{name} {what}", f"({name} x :axis 1)", {"x": x}, jax.jit(lambda x, f=OPERATIONS[name]: f(x, 1)))
          for name, what, x in (("cumprod", "with zeros", ZERO), ("logcumsumexp", "far apart", FAR))]
CASES += [Case("logcumsumexp of nothing", "(logcumsumexp x :axis 1)", {"x": NOTHING},
               jax.jit(lambda x: jax.lax.cumlogsumexp(x, axis=1)), grad=False),
          Case("of second order", "(gradient (fn (y) (sum (square (cumprod (cumsum y :axis 1) :axis 1)))) x)",
               {"x": floats(9, 5)}, jax.jit(jax.grad(lambda x: (jnp.cumprod(jnp.cumsum(x, 1), 1) ** 2).sum())),
               tolerance=2e-4)]


@pytest.fixture(scope="module")
def outcomes():
    return run(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_is_what_jax_computes(case, outcomes):
    assert not differences(case, outcomes[case.name])


def test_an_infinity_reaches_nothing_before_it():
    x = np.tile(np.array([1, 2, np.inf, 3, -np.inf, 4, 5], np.float32), (9, 3))
    cases = [Case("sum", "(cumsum x :axis 1)", {"x": x}, jnp.cumsum, grad=False),
             Case("beside", "(cumsum x :axis 0)", {"x": x.T}, jnp.cumsum, grad=False),
             Case("logarithm", "(logcumsumexp x :axis 1)", {"x": x}, jnp.cumsum, grad=False)]
    found = run(cases)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found["sum"].results[0], np.cumsum(x, 1))
        np.testing.assert_array_equal(found["beside"].results[0], np.cumsum(x.T, 0))
    np.testing.assert_allclose(found["logarithm"].results[0], np.logaddexp.accumulate(x, 1), rtol=1e-6)


def test_the_error_of_a_sum_does_not_grow_with_its_length():
    x = np.full((8, 1 << 16), 0.1, np.float32)
    case = Case("long", "(cumsum x :axis 1)", {"x": x}, jnp.cumsum, grad=False)
    np.testing.assert_allclose(run([case])["long"].results[0], np.cumsum(x, 1, dtype=np.float64), rtol=1e-7)


def test_on_vulkan(vulkan: str):
    chosen = [case(name, (3, 9), 1) for name in OPERATIONS]
    found = run(chosen, "vulkan", vulkan)
    assert not [d for c in chosen for d in differences(c, found[c.name])]
