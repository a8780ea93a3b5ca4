"""Programs that are not ours, as JAX exports them: recurrent nets, residual blocks, sorting, derivatives inside."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from cases_rules import normal, positive
from jax import lax
from oracle import Case


def lstm(w: jax.Array, b: jax.Array, xs: jax.Array) -> jax.Array:
    def cell(carry, x):
        h, c = carry
        i, f, g, o = jnp.split(jnp.concatenate([x, h]) @ w + b, 4)
        c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros(w.shape[1] // 4, w.dtype)
    (h, _), hs = lax.scan(cell, (zero, zero), xs)
    return jnp.sum(hs ** 2) + jnp.sum(h)


def gru_both_ways(w: jax.Array, u: jax.Array, xs: jax.Array) -> jax.Array:
    def cell(h, x):
        z, r = jnp.split(jax.nn.sigmoid(x @ w + h @ u), 2)
        h = (1 - z) * h + z * jnp.tanh(x[:3] + r * h)
        return h, h

    start = jnp.zeros(3, xs.dtype)
    return jnp.concatenate([lax.scan(cell, start, xs)[1], lax.scan(cell, start, xs, reverse=True)[1]], -1)


def state_space(a: jax.Array, b: jax.Array, xs: jax.Array) -> jax.Array:
    """A diagonal recurrence by an associative scan."""
    def combine(left, right):
        return left[0] * right[0], left[1] * right[0] + right[1]

    gates = jnp.broadcast_to(jax.nn.sigmoid(a), xs.shape)
    return lax.associative_scan(combine, (gates, xs * b))[1]


def residual_block(x: jax.Array, w1: jax.Array, w2: jax.Array, gain: jax.Array) -> jax.Array:
    def conv(x, w, stride):
        return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def norm(x):
        mean = x.mean((0, 1, 2))
        return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean((0, 1, 2)) + 1e-5) * gain

    h = jax.nn.relu(norm(conv(x, w1, 1)))
    return jax.nn.relu(norm(conv(h, w2, 1)) + x)


def layers_in_a_scan(x: jax.Array, stack: jax.Array) -> jax.Array:
    return lax.scan(lambda h, w: (h + jnp.tanh(h @ w), None), x, stack)[0]


def gradient_penalty(w: jax.Array, v: jax.Array, x: jax.Array) -> jax.Array:
    slope = jax.vmap(jax.grad(lambda x: jnp.tanh(x @ w) @ v))(x)
    return jnp.mean((jnp.linalg.norm(slope, axis=-1) - 1) ** 2)


def second_through_a_scan(h: jax.Array, w: jax.Array, xs: jax.Array) -> jax.Array:
    def run(h):
        return jnp.sum(lax.scan(lambda h, x: (jnp.tanh(h @ w + x), jnp.sin(h)), h, xs)[1])

    return jnp.sum(jax.grad(run)(h) ** 2)


def mixture(x: jax.Array, router: jax.Array, experts: jax.Array) -> jax.Array:
    scores = x @ router
    best, where = lax.top_k(scores, 2)
    shares = jax.nn.softmax(best)
    return jnp.einsum("bk,bkio,bi->bo", shares, experts.at[where].get(mode="clip"), x)


PROGRAMS = [
    Case("lstm", lstm, [normal(7, 16) * 0.5, normal(16), normal(9, 3)]),
    Case("lstm_long", lstm, [normal(7, 16) * 0.5, normal(16), normal(40, 3)], tolerance=1e-4),
    Case("gru_both_ways", gru_both_ways, [normal(4, 6), normal(3, 6), normal(11, 4)]),
    Case("state_space", state_space, [normal(4), normal(4), normal(13, 4)]),
    Case("residual_block", residual_block, [normal(2, 5, 5, 3), normal(3, 3, 3, 3), normal(3, 3, 3, 3), normal(3)],
         tolerance=1e-4),
    Case("layers_in_a_scan", layers_in_a_scan, [normal(2, 4), normal(12, 4, 4)], tolerance=1e-4),
    Case("gradient_penalty", gradient_penalty, [normal(3, 5), normal(5), normal(4, 3)], tolerance=1e-4),
    Case("second_through_a_scan", second_through_a_scan, [normal(3), normal(3, 3) * 0.5, normal(10, 3)],
         tolerance=1e-4),
    Case("checkpointed", lambda x, w: jax.checkpoint(lambda x: jnp.tanh(jnp.sin(x @ w) @ w))(x),
         [normal(2, 3), normal(3, 3)]),
    Case("mixture", mixture, [normal(4, 3), normal(3, 5), normal(5, 3, 2)]),
    Case("sorted_loss", lambda x, y: jnp.mean((jnp.sort(x) - jnp.sort(y)) ** 2), [normal(3, 9), normal(3, 9)]),
    Case("cumulative", lambda x: jnp.cumsum(x, 1) * jnp.cumprod(1 + 0.1 * x, 1), [normal(2, 6)]),
    Case("cumulative_with_zeros", lambda x: jnp.cumprod(x, 0), [np.array([2, 0, 3, 0, 1, 4, 5], np.float32)]),
    Case("log_sum_exp", lambda x: jax.nn.logsumexp(x * 3, -1) + jax.nn.log_softmax(x)[:, 0], [normal(3, 5)]),
    Case("segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 3) ** 2, [normal(5, 2), np.array([0, 2, 2, 1, 0])]),
    Case("entmax_like", lambda x: jnp.sum(jnp.maximum(x - jnp.mean(x, -1, keepdims=True), 0) ** 1.5), [positive(3, 5)],
         tolerance=1e-4),
]
