"""Loops, recomputation and derivatives asked for, against JAX: value and gradient."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
from jax import lax
from language import floats
from oracle_jax import Case, is_what_jax_computes

W = floats(3, 3) * 0.5
A = {"h": floats(3), "w": W, "xs": floats(7, 3)}
B = {"h": floats(3), "w": W, "xs": floats(23, 3)}


def rnn(h, w, xs, reverse=False):
    carry, ys = lax.scan(lambda h, x: (jnp.tanh(h @ w + x), jnp.sin(h)), h, xs, reverse=reverse)
    return [ys, carry]


def rnnr(h, w, xs):
    return rnn(h, w, xs, True)


@jax.custom_vjp
def cg(x):
    return jnp.sin(x)


cg.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * 2 * x,))


def pen(x, w):
    return jnp.sum(jax.grad(lambda x: jnp.sum(jnp.tanh(x @ w) ** 2))(x) ** 2)


def pen_scan(h, w, xs):
    return jnp.sum(jax.grad(lambda h: lax.scan(lambda h, x: (jnp.tanh(h @ w + x), None), h, xs)[0].sum())(h) ** 2)


STEP = "(fn (h x) (list (tanh (+ (matmul h w) x)) (sin h)))"
INNER = "(fn (h) (sum (first (scan (fn (h x) (list (tanh (+ (matmul h w) x)) nil)) h xs))))"
PENALTY = f"(sum (square (gradient {INNER} h)))"
COUNTED = "(first (while-loop (fn (c) (< (nth c 1) 5)) (fn (c) (list (* (first c) 2) (+ (nth c 1) 1))) (list x 0)))"

CASES = [
    Case("scan", f"(reverse (scan {STEP} h xs))", A, rnn),
    Case("scan backwards", f"(reverse (scan {STEP} h xs :reverse true))", A, rnnr),
    Case("scan in blocks", f"(reverse (scan {STEP} h xs :remat true))", B, rnn),
    Case("scan in blocks backwards", f"(reverse (scan {STEP} h xs :remat true :reverse true))", B, rnnr),
    Case("scan of two", "(scan (fn (h x) (list (+ h (* (first x) (last x))) nil)) "
         "0.0 (list (flatten xs) (flatten xs)))",
         {"xs": floats(2, 4)}, lambda xs: jnp.sum(xs * xs)),
    Case("scan by length", "(first (scan (fn (x none) (list (* x x) nil)) x nil :length 3))", {"x": floats(4)},
         lambda x: x ** 8),
    Case("remat", "(remat (sin (* x (remat (exp (* x w))))))", {"x": floats(4), "w": floats(4)},
         lambda x, w: jnp.sin(x * jnp.exp(x * w))),
    Case("custom", "(custom-gradient sin (fn (g y x) (* g 2 x)) x)", {"x": floats(4)}, cg),
    Case("custom of two", "(custom-gradient (fn (x w) (* x w)) (fn (g y x w) (list (* g y) nil)) x w)",
         {"x": floats(4), "w": floats(4)}, lambda x, w: (lambda y: y + (x - lax.stop_gradient(x)) * y)(
             lax.stop_gradient(x * w))),
    Case("custom of second order", "(sum (square (gradient (fn (x) (sum (custom-gradient exp (fn (g y x) (* g y)) x)))"
         " x)))", {"x": floats(4)}, lambda x: (jnp.exp(x) ** 2).sum()),
    Case("gradient", "(gradient (fn (x) (sum (pow x 3))) x)", {"x": floats(4)}, lambda x: 3 * x ** 2),
    Case("gradient by two", "(reverse (gradient (fn (x w) (sum (* x w w))) x w))", {"x": floats(4), "w": floats(4)},
         lambda x, w: [2 * x * w, w * w]),
    Case("gradient of nothing", "(+ x (gradient (fn (x) (sum w)) x))", {"x": floats(4), "w": floats(4)},
         lambda x, w: x),
    Case("penalty", "(sum (square (gradient (fn (x) (sum (square (tanh (matmul x w))))) x)))",
         {"x": floats(4, 3), "w": W}, pen),
    Case("penalty through a scan", PENALTY, A, pen_scan),
    Case("while", COUNTED, {"x": floats(4)}, lambda x: x * 32, grad=False),
    Case("repeat", "(repeat 3 (fn (h i) (tanh (matmul h w))) x)", {"x": floats(2, 3), "w": W},
         lambda x, w: jnp.tanh(jnp.tanh(jnp.tanh(x @ w) @ w) @ w)),
    Case("repeat by number", "(repeat 3 (fn (h i) (* h (+ 1.0 (cast i :f32)))) x)", {"x": floats(3)},
         lambda x: x * 6),
]

test_is_what_jax_computes = is_what_jax_computes
