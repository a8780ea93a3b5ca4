"""Operations × dtypes × shapes against JAX, value and gradient.

Each operation is tried at one cell of the grid, which moves from operation to operation; the whole grid is the slow
sweep, a module for each operation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from oracle_jax import Case, differences, is_what_jax_computes, run

SHAPES = ((), (1,), (7,), (1, 1), (3, 5), (1, 6), (2, 3, 4), (2, 1, 3), (1, 2, 1, 5), (2, 3, 1, 2), (2, 1, 2, 1, 3),
          (1, 1, 1, 1, 1))
#: Of each dtype, how far results may be apart: its rounding, a few times.
TOLERANCE = {"f32": 2e-5, "f64": 1e-12, "f16": 4e-3, "bf16": 3e-2}
NUMPY = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
#: The code generator has no f64 of these (docs/passes.md).
NO_F64 = {"sin", "cos", "tan", "tanh", "atan2", "mod", "erf", "erf-inv", "gelu", "mish"}


@dataclass(frozen=True, slots=True)
class Row:
    """`source` of x (and y), the same for JAX, and the domain of x: `any`, `positive`, `unit`."""

    name: str
    source: str
    expected: Callable
    domain: str = "any"
    grad: bool = True
    least_rank: int = 0


def unary(name: str, expected: Callable, domain: str = "any", grad: bool = True) -> Row:
    return Row(name, f"({name} x)", expected, domain, grad)


def mean_square(x):
    return ((x - x.mean(-1, keepdims=True)) ** 2).mean(-1)


ROWS = [
    unary("exp", jnp.exp), unary("log", jnp.log, "positive"), unary("log1p", jnp.log1p, "positive"),
    unary("expm1", jnp.expm1), unary("sqrt", jnp.sqrt, "positive"), unary("rsqrt", jax.lax.rsqrt, "positive"),
    unary("square", jnp.square), unary("reciprocal", jnp.reciprocal, "positive"), unary("abs", jnp.abs),
    unary("neg", jnp.negative), unary("sign", jnp.sign, grad=False), unary("floor", jnp.floor, grad=False),
    unary("ceil", jnp.ceil, grad=False), unary("round", jnp.round, grad=False), unary("sin", jnp.sin),
    unary("cos", jnp.cos), unary("tan", jnp.tan, "unit"), unary("tanh", jnp.tanh), unary("sigmoid", jax.nn.sigmoid),
    unary("erf", jax.scipy.special.erf), unary("erf-inv", jax.scipy.special.erfinv, "unit"),
    unary("relu", jax.nn.relu), unary("leaky-relu", jax.nn.leaky_relu), unary("elu", jax.nn.elu),
    Row("gelu", "(gelu x)", lambda x: jax.nn.gelu(x, approximate=False)), unary("silu", jax.nn.silu),
    unary("softplus", jax.nn.softplus), unary("mish", jax.nn.mish), unary("hard-swish", jax.nn.hard_swish),
    Row("sum", "(sum x :axis -1)", lambda x: x.sum(-1), least_rank=1),
    Row("mean", "(mean x :axis -1)", lambda x: x.mean(-1), least_rank=1),
    Row("prod", "(prod x :axis -1)", lambda x: x.prod(-1), "positive", least_rank=1),
    Row("max", "(max x :axis -1)", lambda x: x.max(-1), least_rank=1),
    Row("min", "(min x)", lambda x: x.min()),
    Row("var", "(var x :axis -1)", mean_square, least_rank=1),
    Row("norm", "(norm x :axis -1)", lambda x: jnp.sqrt((x * x).sum(-1)), "positive", least_rank=1),
    Row("softmax", "(softmax x)", lambda x: jax.nn.softmax(x, -1), least_rank=1),
    Row("log-softmax", "(log-softmax x)", lambda x: jax.nn.log_softmax(x, -1), least_rank=1),
    Row("logsumexp", "(logsumexp x)", lambda x: jax.nn.logsumexp(x, -1), least_rank=1),
    Row("cumsum", "(cumsum x :axis -1)", lambda x: jnp.cumsum(x, -1), least_rank=1),
    Row("sort", "(sort x)", lambda x: jnp.sort(x, -1), least_rank=1),
    Row("argmax", "(argmax x :axis -1)", lambda x: jnp.argmax(x, -1).astype(np.int32), grad=False, least_rank=1),
    Row("flip", "(flip x)", jnp.flip), Row("flatten", "(flatten x)", jnp.ravel),
    Row("transpose", "(transpose x)", jnp.transpose),
    *(Row(name, f"({word} x y)", f, domain) for name, word, f, domain in (
        ("add", "+", jnp.add, "any"), ("subtract", "-", jnp.subtract, "any"), ("multiply", "*", jnp.multiply, "any"),
        ("divide", "/", jnp.divide, "positive"), ("maximum", "maximum", jnp.maximum, "any"),
        ("minimum", "minimum", jnp.minimum, "any"), ("pow", "pow", jnp.power, "positive"),
        ("atan2", "atan2", jnp.arctan2, "positive"), ("logaddexp", "logaddexp", jnp.logaddexp, "any"))),
]


def values(shape: tuple[int, ...], dtype: str, domain: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = {"any": rng.standard_normal(shape), "positive": rng.random(shape) + 0.5,
         "unit": 1.6 * rng.random(shape) - 0.8}[domain]
    return np.asarray(x, NUMPY[dtype])


def case(row: Row, dtype: str, shape: tuple[int, ...]) -> Case:
    arguments = {"x": values(shape, dtype, row.domain, 1)}
    if " y)" in row.source:
        # The other operand stretches: its first axis is 1, or it is a scalar.
        arguments["y"] = values((1, *shape[1:]) if len(shape) > 1 else (), dtype, row.domain, 2)

    def expected(*xs):
        # What is narrow is computed wide and rounded at the end, as a reference for both.
        wide = [x.astype(jnp.float32) if dtype in ("f16", "bf16") else x for x in xs]
        found = row.expected(*wide)
        return found if found.dtype.kind in "iub" else found.astype(NUMPY[dtype])

    name = f"{row.name} {dtype} {'x'.join(map(str, shape)) or 'scalar'}"
    return Case(name, row.source, arguments, expected, row.grad, TOLERANCE[dtype])


def cells(row: Row) -> list[tuple[str, tuple[int, ...]]]:
    return [(dtype, shape) for dtype, shape in product(TOLERANCE, SHAPES)
            if len(shape) >= row.least_rank and not (dtype == "f64" and row.name in NO_F64)]


def sample() -> list[Case]:
    return [case(row, *cells(row)[5 * i % len(cells(row))]) for i, row in enumerate(ROWS)]


CASES = sample()


test_a_sample = is_what_jax_computes


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_the_whole_grid(row):
    every = [case(row, *cell) for cell in cells(row)]
    found = run(every)
    for chosen in every:
        assert not differences(chosen, found[chosen.name])
