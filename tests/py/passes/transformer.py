"""A one-block transformer language model, staged by hand, and its twin in JAX."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from iree.compiler import ir
from sexpgpu.compiler import hlo
from staging import Stage

BATCH, TIME, WIDTH, HEADS, VOCABULARY = 4, 8, 16, 2, 11
SHAPES = {"tok": [VOCABULARY, WIDTH], "pos": [TIME, WIDTH], "gain": [WIDTH], "bias": [WIDTH],
          "wqkv": [WIDTH, 3 * WIDTH], "wo": [WIDTH, WIDTH], "w1": [WIDTH, 4 * WIDTH], "b1": [4 * WIDTH],
          "w2": [4 * WIDTH, WIDTH]}
RATE = 3e-3


def _broadcast_last(x: ir.Value, shape: tuple[int, ...]) -> ir.Value:
    return hlo.broadcast_in_dim(x, shape, [len(shape) - len(hlo.shape_of(x)) + i for i in range(len(hlo.shape_of(x)))])


def _broadcast_first(x: ir.Value, shape: tuple[int, ...]) -> ir.Value:
    return hlo.broadcast_in_dim(x, shape, list(range(len(hlo.shape_of(x)))))


def _linear(x: ir.Value, w: ir.Value) -> ir.Value:
    return hlo.dot_general(x, w, contract=([2], [0]))


def _layer_norm(x: ir.Value, gain: ir.Value, bias: ir.Value) -> ir.Value:
    shape = hlo.shape_of(x)

    def mean(v: ir.Value) -> ir.Value:
        total = hlo.reduce(v, [2], "add")
        return hlo.divide(total, hlo.splat(shape[2], shape[:2], "f32"))

    centred = hlo.subtract(x, _broadcast_first(mean(x), shape))
    scale = hlo.rsqrt(hlo.add(mean(hlo.multiply(centred, centred)), hlo.splat(1e-5, shape[:2], "f32")))
    normal = hlo.multiply(centred, _broadcast_first(scale, shape))
    return hlo.add(hlo.multiply(normal, _broadcast_last(gain, shape)), _broadcast_last(bias, shape))


def _softmax_parts(x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """x less its largest, and the sum of its exponentials over the last axis."""
    shape = hlo.shape_of(x)
    last = len(shape) - 1
    largest = hlo.marker("stop_gradient", [hlo.reduce(x, [last], "maximum")], [hlo.tensor_type(shape[:-1], "f32")])
    less = hlo.subtract(x, _broadcast_first(largest.result, shape))
    return less, hlo.reduce(hlo.exponential(less), [last], "add")


def _attention(x: ir.Value, wqkv: ir.Value, wo: ir.Value) -> ir.Value:
    size = WIDTH // HEADS
    qkv = hlo.reshape(_linear(x, wqkv), [BATCH, TIME, 3, HEADS, size])
    q, k, v = (hlo.reshape(hlo.slice_(qkv, [0, 0, i, 0, 0], [BATCH, TIME, i + 1, HEADS, size]),
                           [BATCH, TIME, HEADS, size]) for i in range(3))
    batch = ([0, 2], [0, 2])
    scores = hlo.dot_general(q, k, contract=([3], [3]), batch=batch)
    shape = hlo.shape_of(scores)
    scores = hlo.multiply(scores, hlo.splat(size ** -0.5, shape, "f32"))
    causal = hlo.compare("GE", hlo.iota(shape, 2, "i32"), hlo.iota(shape, 3, "i32"))
    less, total = _softmax_parts(hlo.select(causal, scores, hlo.splat(-1e9, shape, "f32")))
    weights = hlo.divide(hlo.exponential(less), _broadcast_first(total, shape))
    mixed = hlo.dot_general(weights, v, contract=([3], [1]), batch=([0, 1], [0, 2]))
    return _linear(hlo.reshape(hlo.transpose(mixed, [0, 2, 1, 3]), [BATCH, TIME, WIDTH]), wo)


def _loss(logits: ir.Value, targets: ir.Value) -> ir.Value:
    less, total = _softmax_parts(logits)
    hit = hlo.compare("EQ", hlo.iota(hlo.shape_of(logits), 2, "i32"), _broadcast_first(targets, hlo.shape_of(logits)))
    chosen = hlo.reduce(hlo.select(hit, less, hlo.zeros_like(less)), [2], "add")
    each = hlo.subtract(hlo.log(total), chosen)
    return hlo.divide(hlo.reduce(each, [0, 1], "add"), hlo.splat(BATCH * TIME, [], "f32"))


def stage_transformer() -> Stage:
    stage = Stage()
    with stage:
        ids = hlo.tensor_type([BATCH, TIME], "i32")
        with stage.function("train", "train", [ids, ids]) as ((tokens, targets), results):
            p = {n: stage.param(n, s, _initialiser(stage, n, s)) for n, s in SHAPES.items()}
            h = hlo.gather(p["tok"], hlo.reshape(tokens, [BATCH, TIME, 1]), offset_dims=[2], collapsed=[0],
                           index_map=[0], index_dim=2, sizes=[1, WIDTH], shape=[BATCH, TIME, WIDTH])
            h = hlo.add(h, _broadcast_last(p["pos"], (BATCH, TIME, WIDTH)))
            h = hlo.add(h, _attention(_layer_norm(h, p["gain"], p["bias"]), p["wqkv"], p["wo"]))
            inner = _linear(_layer_norm(h, p["gain"], p["bias"]), p["w1"])
            inner = hlo.tanh(hlo.add(inner, _broadcast_last(p["b1"], hlo.shape_of(inner))))
            h = hlo.add(h, _linear(inner, p["w2"]))
            logits = hlo.dot_general(h, p["tok"], contract=([2], [1]))
            stage.counter("tokens", hlo.splat(BATCH * TIME, [], "i32"))
            results.append(_loss(logits, targets))
        stage.finish_inits()
        stage.adamw(list(SHAPES.items()))
        stage.manifest(schedules=[{"name": "lr", "export": None, "constant": RATE}])
    return stage


def _initialiser(stage: Stage, name: str, shape: list[int]):
    if name in ("gain", "bias", "b1"):
        return lambda: hlo.splat(1.0 if name == "gain" else 0.0, shape, "f32")
    return lambda: stage.uniform(0, shape, -0.2, 0.2)


def jax_loss(p: Mapping[str, object], tokens: np.ndarray, targets: np.ndarray) -> object:
    import jax
    import jax.numpy as jnp

    def norm(x: jax.Array) -> jax.Array:
        mean = jnp.mean(x, -1, keepdims=True)
        var = jnp.mean((x - mean) ** 2, -1, keepdims=True)
        return (x - mean) / jnp.sqrt(var + 1e-5) * p["gain"] + p["bias"]

    size = WIDTH // HEADS
    h = p["tok"][tokens] + p["pos"]
    q, k, v = jnp.moveaxis((norm(h) @ p["wqkv"]).reshape(*tokens.shape, 3, HEADS, size), 2, 0)
    scores = jnp.einsum("bthd,bshd->bhts", q, k) * size ** -0.5
    weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((TIME, TIME), bool)), scores, -1e9), -1)
    h = h + jnp.einsum("bhts,bshd->bthd", weights, v).reshape(*tokens.shape, WIDTH) @ p["wo"]
    h = h + jnp.tanh(norm(h) @ p["w1"] + p["b1"]) @ p["w2"]
    log_probs = jax.nn.log_softmax(h @ p["tok"].T, -1)
    return -jnp.mean(jnp.take_along_axis(log_probs, targets[..., None], -1))
