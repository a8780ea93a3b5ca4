"""Whole fragments as JAX exports them: what a network is made of, differentiated by our pass alone."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from cases_rules import normal, positive
from oracle import Case


def layer_norm(x: jax.Array, gain: jax.Array, bias: jax.Array) -> jax.Array:
    mean = jnp.mean(x, -1, keepdims=True)
    var = jnp.mean((x - mean) ** 2, -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + 1e-5) * gain + bias


def attention(x: jax.Array, wqkv: jax.Array, wo: jax.Array) -> jax.Array:
    batch, time, width = x.shape
    q, k, v = jnp.split((x @ wqkv).reshape(batch, time, 3, 2, width // 2), 3, axis=2)
    q, k, v = (t[:, :, 0].transpose(0, 2, 1, 3) for t in (q, k, v))
    scores = jnp.einsum("bhtd,bhsd->bhts", q, k) / np.sqrt(width // 2).astype(np.float32)
    mask = jnp.tril(jnp.ones((time, time), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, np.float32(-1e9)), axis=-1)
    return jnp.einsum("bhts,bhsd->bhtd", weights, v).transpose(0, 2, 1, 3).reshape(batch, time, width) @ wo


def cross_entropy(logits: jax.Array, targets: jax.Array) -> jax.Array:
    log_probs = jax.nn.log_softmax(logits, -1)
    return -jnp.mean(jnp.take_along_axis(log_probs, targets[..., None], -1, mode="clip"))


def tied_model(table: jax.Array, w: jax.Array, ids: jax.Array, targets: jax.Array) -> jax.Array:
    h = table.at[ids].get(mode="clip")
    h = h + jax.nn.gelu(h @ w)
    return cross_entropy(h @ table.T, targets)


def convolution_net(x: jax.Array, w1: jax.Array, w2: jax.Array) -> jax.Array:
    numbers = ("NHWC", "HWIO", "NHWC")
    h = jax.nn.relu(jax.lax.conv_general_dilated(x, w1, (1, 1), "SAME", dimension_numbers=numbers))
    h = jax.lax.reduce_window(h, -np.float32(np.inf), jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    return jnp.mean(h, (1, 2)) @ w2


def block(
    x: jax.Array, gain: jax.Array, wqkv: jax.Array, wo: jax.Array, w1: jax.Array, w2: jax.Array, targets: jax.Array
) -> jax.Array:
    zero = jnp.zeros_like(gain)
    x = x + attention(layer_norm(x, gain, zero), wqkv, wo)
    x = x + jax.nn.silu(layer_norm(x, gain, zero) @ w1) @ w2
    return cross_entropy(x, targets)


IDS = np.array([[1, 4, 1, 0], [6, 2, 3, 4]], np.int32)
TARGETS = np.array([[2, 0, 1, 6], [5, 5, 3, 1]], np.int32)

FRAGMENTS = [
    Case("layer_norm", layer_norm, [normal(2, 4, 8), normal(8), normal(8)]),
    Case(
        "rms_norm",
        lambda x, g: x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * g,
        [normal(3, 8), normal(8)],
    ),
    Case("softmax", lambda x: jax.nn.softmax(x, -1), [normal(3, 7)]),
    Case("gelu_tanh", lambda x: jax.nn.gelu(x, approximate=True), [normal(3, 7)]),
    Case(
        "mlp",
        lambda x, w1, b1, w2: jnp.sum(jax.nn.relu(x @ w1 + b1) @ w2),
        [normal(5, 4), normal(4, 8), normal(8), normal(8, 2)],
    ),
    Case("attention", attention, [normal(2, 4, 8), normal(8, 24), normal(8, 8)]),
    Case("cross_entropy", cross_entropy, [normal(2, 4, 7), TARGETS]),
    Case("tied_model", tied_model, [normal(7, 6), normal(6, 6), IDS, TARGETS]),
    Case("convolution_net", convolution_net, [normal(2, 6, 6, 3), normal(3, 3, 3, 4), normal(4, 5)]),
    Case(
        "block",
        block,
        [normal(2, 4, 8), positive(8), normal(8, 24), normal(8, 8), normal(8, 16), normal(16, 8), TARGETS],
    ),
    Case(
        "huber",
        lambda x, y: jnp.mean(jnp.where(jnp.abs(x - y) < 1, 0.5 * (x - y) ** 2, jnp.abs(x - y) - 0.5)),
        [normal(9), normal(9)],
    ),
    Case(
        "binary_cross_entropy",
        lambda x, y: jnp.mean(jnp.maximum(x, 0) - x * y + jnp.log1p(jnp.exp(-jnp.abs(x)))),
        [normal(9), positive(9)],
    ),
    Case(
        "einsum_bilinear",
        lambda a, m, b: jnp.einsum("bi,ijk,bj->bk", a, m, b),
        [normal(2, 3), normal(3, 4, 5), normal(2, 4)],
    ),
]
