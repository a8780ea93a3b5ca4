"""JAX, one jitted step with donated state: `jax_step.py WEIGHTS.npz BATCH HEADS LAYERS RATE`."""

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax
import jax.numpy as jnp
import numpy as np

from peers import batches, serve

weights, batch, heads, layers, rate = sys.argv[1], *map(int, sys.argv[2:5]), float(sys.argv[5])
first = {name: jnp.asarray(array) for name, array in np.load(weights).items()}
DECAYED = {name for name in first if not name.endswith((".b", "gain", "bias"))}
seq, width = first["places"].shape


def norm(w: dict, x: jax.Array, name: str) -> jax.Array:
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * w[f"{name}.gain"] + w[f"{name}.bias"]


def loss(w: dict, tokens: jax.Array) -> jax.Array:
    def project(x: jax.Array, name: str) -> jax.Array:
        return x @ w[f"{name}.w"] + w[f"{name}.b"]

    x = w["tokens"][tokens[:, :-1]] + w["places"]
    mask = jnp.tril(jnp.ones((seq, seq), bool))
    for i in range(layers):
        at = f"block.{i}"
        y = norm(w, x, f"{at}.norm-1")
        q, k, v = (project(y, f"{at}.{n}").reshape(*x.shape[:2], heads, -1) for n in "qkv")
        scores = jnp.einsum("bthd,bshd->bhts", q, k) / np.float32(np.sqrt(width // heads))
        share = jax.nn.softmax(jnp.where(mask, scores, -1e30), -1)
        x = x + project(jnp.einsum("bhts,bshd->bthd", share, v).reshape(x.shape), f"{at}.out")
        y = jax.nn.gelu(project(norm(w, x, f"{at}.norm-2"), f"{at}.up"), approximate=False)
        x = x + project(y, f"{at}.down")
    logits = jax.nn.log_softmax(norm(w, x, "norm") @ w["tokens"].T)
    return -jnp.take_along_axis(logits, tokens[:, 1:, None], -1).mean()


@partial(jax.jit, donate_argnums=(0, 1, 2))
def update(w: dict, m: dict, v: dict, n: jax.Array, tokens: jax.Array) -> tuple:
    value, gradient = jax.value_and_grad(loss)(w, tokens)
    size = jnp.sqrt(sum(jnp.square(g).sum() for g in gradient.values()))
    scale = jnp.minimum(1.0, 1.0 / size)
    new_w, new_m, new_v = {}, {}, {}
    for name, g in gradient.items():
        g = g * scale
        new_m[name] = 0.9 * m[name] + 0.1 * g
        new_v[name] = 0.999 * v[name] + 0.001 * g * g
        change = (new_m[name] / -jnp.expm1(n * np.log(0.9))) / (
            jnp.sqrt(new_v[name] / -jnp.expm1(n * np.log(0.999))) + 1e-8)
        decay = 0.1 if name in DECAYED else 0.0
        new_w[name] = w[name] - rate * (change + decay * w[name])
    return value, new_w, new_m, new_v


state = [first, *({name: jnp.zeros_like(t) for name, t in first.items()} for _ in range(2))]
count = 0


def step(tokens: np.ndarray) -> float:
    global count
    count += 1
    value, *state[:] = update(*state, np.float32(count), tokens)
    jax.block_until_ready(state)
    return float(value)


serve(step, batches((batch, seq + 1), first["tokens"].shape[0]))
