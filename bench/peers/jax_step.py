"""JAX, one jitted step with donated state: `jax_step.py MODEL WEIGHTS.npz RATE`."""

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax
import jax.numpy as jnp
import numpy as np

from peers import serve
from peers.step_models import MODELS, Batch, decays

model, rate = MODELS[sys.argv[1]], float(sys.argv[3])
first = {name: jnp.asarray(array) for name, array in np.load(sys.argv[2]).items()}


@partial(jax.jit, donate_argnums=(0, 1, 2))
def update(w: dict, m: dict, v: dict, n: jax.Array, batch: dict) -> tuple:
    value, gradient = jax.value_and_grad(lambda w: model.jax(jax, w, batch))(w)
    scale = 1.0
    if model.clip is not None:
        size = jnp.sqrt(sum(jnp.square(g).sum() for g in gradient.values()))
        scale = jnp.minimum(1.0, model.clip / size)
    new_w, new_m, new_v = {}, {}, {}
    for name, g in gradient.items():
        g = g * scale
        new_m[name] = 0.9 * m[name] + 0.1 * g
        new_v[name] = 0.999 * v[name] + 0.001 * g * g
        change = (new_m[name] / -jnp.expm1(n * np.log(0.9))) / (
            jnp.sqrt(new_v[name] / -jnp.expm1(n * np.log(0.999))) + 1e-8)
        decay = model.decay if decays(name) else 0.0
        new_w[name] = w[name] - rate * (change + decay * w[name])
    return value, new_w, new_m, new_v


state = [first, *({name: jnp.zeros_like(t) for name, t in first.items()} for _ in range(2))]
count = 0


def step(batch: Batch) -> float:
    global count
    count += 1
    value, *state[:] = update(*state, np.float32(count), dict(batch))
    jax.block_until_ready(state)
    return float(value)


serve(step, model.batches())
