"""Rows that are wide and many enough for a kernel of their own (the pass `rows`), against JAX: value and gradient."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
import numpy as np
from language import floats
from oracle_jax import Case, is_what_jax_computes

X, ODD, HIGH = floats(64, 128), floats(67, 131), floats(2, 3, 40, 48)
GAIN, BIAS, WIDE = floats(128), floats(128, seed=1), floats(131)
W = floats(128, 96)
MASK = floats(40, 48) > 0


def norm(x, gain, bias):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * gain + bias


CASES = [
    Case("layer norm", "(layer-norm x g b)", {"x": X, "g": GAIN, "b": BIAS}, norm),
    Case("layer norm, odd", "(layer-norm x g b)", {"x": ODD, "g": WIDE, "b": floats(131, seed=1)}, norm),
    Case("two layer norms", "(layer-norm (+ x (layer-norm x g b)) g b)", {"x": X, "g": GAIN, "b": BIAS},
         lambda x, g, b: norm(x + norm(x, g, b), g, b), tolerance=1e-4),
    Case("around a product", "(layer-norm (+ x (matmul (gelu (matmul (layer-norm x g b) w)) (transpose w [1 0]))) g b)",
         {"x": X, "g": GAIN, "b": BIAS, "w": W},
         lambda x, g, b, w: norm(x + jax.nn.gelu(norm(x, g, b) @ w, approximate=False) @ w.T, g, b), tolerance=3e-4),
    Case("rms norm", "(rms-norm x g)", {"x": ODD, "g": WIDE},
         lambda x, g: x * jax.lax.rsqrt((x ** 2).mean(-1, keepdims=True) + 1e-5) * g),
    Case("softmax", "(softmax x)", {"x": ODD}, jax.nn.softmax),
    Case("softmax of four axes, masked", "(softmax (where m x -1e30))", {"x": HIGH, "m": MASK},
         lambda x, m: jax.nn.softmax(jnp.where(m, x, -1e30))),
    Case("softmax of a softmax", "(softmax (softmax (* x 3)))", {"x": X},
         lambda x: jax.nn.softmax(jax.nn.softmax(x * 3))),
    Case("softmax along another axis", "(softmax x :axis 0)", {"x": X}, lambda x: jax.nn.softmax(x, 0)),
    Case("its products", "(matmul (softmax x) (transpose (log-softmax x) [1 0]))", {"x": X},
         lambda x: jax.nn.softmax(x) @ jax.nn.log_softmax(x).T, tolerance=1e-4),
    Case("log-softmax", "(log-softmax x)", {"x": HIGH}, jax.nn.log_softmax),
    Case("several of a row",
         "(list (+ (* x (max x :axis -1 :keep true)) (sum (abs x) :axis -1 :keep true)) (sum x :axis -1))",
         {"x": ODD}, lambda x: (x * x.max(-1, keepdims=True) + abs(x).sum(-1, keepdims=True), x.sum(-1))),
    Case("a part of it", "(* (/ x (+ 1 (sum (square x) :axis -1 :keep true))) (expand-dims (sum y :axis -1) -1))",
         {"x": X, "y": floats(64, 128, seed=3)},
         lambda x, y: x / (1 + (x ** 2).sum(-1, keepdims=True)) * y.sum(-1, keepdims=True), tolerance=1e-4),
    Case("three of them", "(reduce (fn (h i) (layer-norm (+ h x) g b)) [0 1 2] x)", {"x": X, "g": GAIN, "b": BIAS},
         lambda x, g, b: norm(norm(norm(x + x, g, b) + x, g, b) + x, g, b), tolerance=3e-4),
    Case("cross-entropy", "(cross-entropy x y)", {"x": X, "y": np.arange(64, dtype=np.int32)},
         lambda x, y: -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], -1).mean()),
    Case("attention", "(attention q k q :causal true)", {"q": floats(2, 2, 64, 16), "k": floats(2, 2, 64, 16, seed=1)},
         lambda q, k: jax.nn.softmax(jnp.where(np.tri(64, dtype=bool), q @ k.swapaxes(-1, -2) / 4, -1e30)) @ q,
         tolerance=1e-4),
    Case("columns", "(sum x :axis 0)", {"x": floats(192, 40)}, lambda x: x.sum(0)),
    Case("columns of pieces", "(sum x :axis [0 1])", {"x": floats(4, 160, 24)}, lambda x: x.sum((0, 1))),
    Case("layer norm of three axes", "(layer-norm x g b)", {"x": floats(2, 64, 128), "g": GAIN, "b": BIAS}, norm),
    Case("a bias of a product", "(+ (matmul x w) b)", {"x": floats(128, 24), "w": floats(24, 16), "b": floats(16)},
         lambda x, w, b: x @ w + b),
]

test_is_what_jax_computes = is_what_jax_computes


