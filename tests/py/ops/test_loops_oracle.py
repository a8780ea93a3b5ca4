"""Loops through time of any length against JAX, value and gradient: several rounds in one, and in blocks."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
from jax import lax
from language import floats
from oracle_jax import Case, is_what_jax_computes, run
from sexpgpu.compiler.passes import blocks

#: One round left over, a whole number of units, and blocks of blocks.
LENGTHS = (17, 30, 300)
STEP = "(fn (h x) (let ((h (tanh (+ (matmul h w) x)))) (list h (sin h))))"


def through(reverse: bool):
    def of(h, w, xs):
        def cell(h, x):
            h = jnp.tanh(h @ w + x)
            return h, jnp.sin(h)

        carry, ys = lax.scan(cell, h, xs, reverse=reverse)
        return [ys, carry]

    return of


def gates(h, w, xs):
    def cell(carry, x):
        h, c = carry
        forget, write, new = jnp.split(x + h @ w, 3)
        c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(write) * jnp.tanh(new)
        return (jnp.tanh(c), c), None

    return lax.scan(cell, (h, h), xs)[0][0]


GATED = """(first (first (scan (fn (carry x)
  (let* ((g (split (+ x (matmul (first carry) w)) 3 :axis -1))
         (c (+ (* (sigmoid (nth g 0)) (last carry)) (* (sigmoid (nth g 1)) (tanh (nth g 2))))))
    (list (list (tanh c) c) nil))) (list h h) xs)))"""

CASES = [Case(f"{n} rounds{' back' if back else ''}", f"(reverse (scan {STEP} h xs{' :reverse true' if back else ''}))",
              {"h": floats(3), "w": floats(3, 3) * 0.4, "xs": floats(n, 3)}, through(back), tolerance=1e-4)
         for n in LENGTHS for back in (False, True)]
CASES.append(Case("gates", GATED, {"h": floats(3), "w": floats(3, 9), "xs": floats(29, 9)}, gates))


@pytest.fixture(scope="module", params=["light", "heavy"])
def outcomes(request):
    """Also as if the rounds were heavy: one at a time, in blocks."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "heavy":
            patch.setattr(blocks, "LIGHT_NUMBERS", 0)
            patch.setattr(blocks, "SMALL", 0)
        yield run(CASES)


test_is_what_jax_computes = is_what_jax_computes
