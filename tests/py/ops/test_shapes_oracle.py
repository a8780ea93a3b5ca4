"""Drawn shapes, axes and permutations against JAX: a dozen operations an example, compiled as one module."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle_jax import Case, differences, run

SIZES = st.integers(1, 6)


def words(numbers) -> str:
    return "[" + " ".join(map(str, numbers)) + "]"


@st.composite
def shapes(draw, least: int = 0) -> tuple[int, ...]:
    return tuple(draw(st.lists(SIZES, min_size=least, max_size=5)))


def numbers(shape, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@st.composite
def stretched(draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to `shape`."""
    kept = shape[draw(st.integers(0, len(shape))):]
    return tuple(n if draw(st.booleans()) else 1 for n in kept)


@st.composite
def cases(draw) -> list[Case]:
    made: list[Case] = []

    def add(source: str, expected, *arrays: np.ndarray, grad: bool = True) -> None:
        made.append(Case(f"{len(made)} {source} {[a.shape for a in arrays]}", source,
                         dict(zip("xy", arrays, strict=False)), expected, grad))

    x = numbers(draw(shapes()), 1)
    y = numbers(draw(stretched(x.shape)), 2)
    add("(* (+ x y) x)", lambda x, y: (x + y) * x, x, y)
    add("(where (> x y) x (maximum x y))", lambda x, y: jnp.where(x > y, x, jnp.maximum(x, y)), x, y)
    add("(flip (transpose x))", lambda x: jnp.flip(jnp.transpose(x)), x)
    x = numbers(draw(shapes(1)), 3)
    axes = draw(st.lists(st.integers(-x.ndim, x.ndim - 1), unique_by=lambda a, n=x.ndim: a % n, max_size=x.ndim))
    keep = draw(st.booleans())
    given_axes = f":axis {words(axes)} :keep {str(keep).lower()}"
    for name, f in (("sum", jnp.sum), ("mean", jnp.mean), ("max", jnp.max)):
        add(f"({name} x {given_axes})", lambda x, f=f: f(x, axis=tuple(axes), keepdims=keep), x)
    axis = draw(st.integers(-x.ndim, x.ndim - 1))
    for name, f in (("softmax", jax.nn.softmax), ("cumsum", jnp.cumsum), ("sort", jnp.sort), ("flip", jnp.flip),
                    ("logsumexp", jax.nn.logsumexp)):
        add(f"({name} x :axis {axis})", lambda x, f=f: f(x, axis=axis), x)
    order = draw(st.permutations(range(x.ndim)))
    add(f"(transpose x {words(order)})", lambda x: jnp.transpose(x, order), x)
    start = draw(st.integers(0, x.shape[axis] - 1))
    end = draw(st.integers(start + 1, x.shape[axis]))
    add(f"(slice x {axis} {start} {end})", lambda x: jax.lax.slice_in_dim(x, start, end, axis=axis), x)
    edges = [(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in x.shape]
    add(f"(pad x [{' '.join(map(words, edges))}])", lambda x: jnp.pad(x, edges), x)
    ids = np.random.default_rng(4).integers(0, x.shape[axis], draw(shapes())).astype(np.int32)
    add(f"(take x y :axis {axis})", lambda x, y: jnp.take(x, y, axis=axis), x, ids)
    lead, (m, k, n) = draw(shapes())[:3], [draw(SIZES) for _ in range(3)]
    add("(matmul x y)", jnp.matmul, numbers((*draw(stretched(lead)), m, k), 5), numbers((*lead, k, n), 6))
    return made


def check(found: list[Case]) -> None:
    outcomes = run(found)
    wrong = [text for case in found for text in differences(case, outcomes[case.name])]
    assert not wrong, "\n".join(wrong)


QUIET = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=3, **QUIET)
@given(cases())
def test_a_few(found):
    check(found)


@pytest.mark.slow
@settings(max_examples=100, **{**QUIET, "derandomize": False})
@given(cases())
def test_many(found):
    check(found)
