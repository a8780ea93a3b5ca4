"""Attention and rotary positions: values, gradients and gradients of gradients are JAX's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from language import floats
from oracle_jax import Case, differences, run

Q, K, V = floats(2, 4, 5, 8), floats(2, 4, 5, 8, seed=1), floats(2, 4, 5, 8, seed=2)
FEW_K, FEW_V = floats(2, 2, 7, 8), floats(2, 2, 7, 6, seed=4)
LONG = {"q": floats(1, 2, 261, 4), "k": floats(1, 2, 261, 4, seed=1), "v": floats(1, 2, 261, 4, seed=2)}
ALL = {"q": Q, "k": K, "v": V}
TRIANGLE = np.tril(np.ones((5, 5), bool))
#: The second query sees nothing.
HOLES = np.array([[1, 1, 0, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 1, 0], [1, 1, 0, 1, 0]], bool)


def attend(q, k, v, mask=None, scale=None):
    scores = jnp.einsum("bhtd,bhsd->bhts", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = jnp.where(mask, scores, -1e30)
    return jax.nn.softmax(scores) @ v


def rope(x, base=10000.0, offset=0):
    half = x.shape[-1] // 2
    angles = jnp.arange(offset, offset + x.shape[-2])[:, None] * base ** (-jnp.arange(half) / half)
    angles = angles.astype(np.float32)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * jnp.cos(angles) - b * jnp.sin(angles), b * jnp.cos(angles) + a * jnp.sin(angles)], -1)


CASES = [
    Case("rope", "(rope q)", {"q": Q}, rope),
    Case("rope offset", "(rope q :base 500.0 :offset 3)", {"q": Q}, lambda q: rope(q, 500.0, 3)),
    Case("attention", "(attention q k v)", {"q": Q, "k": K, "v": V}, attend),
    Case("attention causal", "(attention q k v :causal true)", {"q": Q, "k": K, "v": V},
         lambda q, k, v: attend(q, k, v, np.tril(np.ones((5, 5), bool)))),
    Case("attention masked", "(attention q k v :mask m :scale 0.2)",
         {"q": Q, "k": K, "v": V, "m": np.arange(40).reshape(2, 1, 4, 5)[:, :, :1] % 3 > 0},
         lambda q, k, v, m: attend(q, k, v, m, 0.2)),
    Case("attention grouped", "(attention q k v)", {"q": Q, "k": FEW_K, "v": FEW_V},
         lambda q, k, v: attend(q, jnp.repeat(k, 2, 1), jnp.repeat(v, 2, 1))),
    Case("attention causal with cache", "(attention q k v :causal true)", {"q": Q, "k": FEW_K, "v": FEW_V},
         lambda q, k, v: attend(q, jnp.repeat(k, 2, 1), jnp.repeat(v, 2, 1), np.tril(np.ones((5, 7), bool), 2))),
    Case("attention of nothing seen", "(attention q k v :mask m)", {**ALL, "m": HOLES}, attend),
    Case("attention causal and masked", "(attention q k v :mask m :causal true)", {**ALL, "m": HOLES},
         lambda q, k, v, m: attend(q, k, v, m & TRIANGLE)),
    Case("attention causal in blocks", "(attention q k v :causal true)", LONG,
         lambda q, k, v: attend(q, k, v, np.tril(np.ones((261, 261), bool)))),
    Case("attention bf16", "(attention q k v)", {n: np.asarray(jnp.asarray(x, jnp.bfloat16)) for n, x in ALL.items()},
         lambda q, k, v: attend(*(x.astype(jnp.float32) for x in (q, k, v))).astype(jnp.bfloat16), tolerance=2e-2),
    Case("attention f64", "(attention q k v)", {n: x.astype(np.float64) for n, x in ALL.items()}, attend,
         tolerance=1e-12),
    Case("attention of a learned scale", "(attention q k v :scale s)", {**ALL, "s": np.float32(0.3)},
         lambda q, k, v, s: attend(q, k, v, None, s)),
    Case("attention penalty", "(sum (square (gradient (fn (q) (sum (square (attention q k v :causal true)))) q)))", ALL,
         lambda q, k, v: (jax.grad(lambda q: (attend(q, k, v, TRIANGLE) ** 2).sum())(q) ** 2).sum()),
]


@pytest.fixture(scope="module")
def outcomes():
    return run(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_is_what_jax_computes(case, outcomes):
    assert not differences(case, outcomes[case.name])
