"""Whole artifacts that train: fifty steps against JAX and NumPy, accumulation, state."""

from __future__ import annotations

import numpy as np
import pytest
from build_sample import BATCH as ROWS
from build_sample import WIDTH as COLUMNS
from build_sample import stage_sample
from iree.compiler import ir
from runner import Program
from sexpgpu.compiler.passes.build import compile_module
from sexpgpu.compiler.passes.iree.targets import parse_target
from sexpgpu.runtime.artifact.manifest import Manifest
from threefry import initialiser_key, run_key, site_words
from transformer import BATCH, RATE, TIME, VOCABULARY, jax_loss, stage_transformer

STEPS = 50


def program(module: ir.Module, target: str = "cpu", driver: str = "local-task") -> Program:
    return Program(compile_module(module, parse_target(target)), driver)


@pytest.fixture(scope="module")
def sample() -> Program:
    return program(stage_sample().module)


@pytest.fixture(scope="module")
def transformer() -> Program:
    return program(stage_transformer().module)


def state_of(p: Program) -> dict[str, np.ndarray]:
    return dict(zip([r["name"] for r in p.manifest["state"]], p.call("state_get"), strict=True))


def uniform(key: int, site: int, count: int, low: float, high: float) -> np.ndarray:
    unit = (site_words(key, 0, site, count) >> np.uint32(8)).astype(np.float32) * np.float32(2.0 ** -24)
    return unit * np.float32(high - low) + np.float32(low)


def adamw(p: np.ndarray, g: np.ndarray, m: np.ndarray, v: np.ndarray, t: int, rate: float
          ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    step = m / (1 - 0.9 ** t) / (np.sqrt(v / (1 - 0.999 ** t)) + 1e-8) + 0.01 * p
    return p - rate * step, m, v


# -- linear regression against NumPy, noise and all -------------------------------------------------------------------

def batches(count: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(3)
    made = []
    for _ in range(count):
        x = rng.standard_normal((ROWS, COLUMNS)).astype(np.float32)
        y = (x @ np.array([1, -2, 3, 0.5]) + 0.7).astype(np.float32)
        made.append((x, y, rng.integers(0, 9, ROWS).astype(np.int32)))
    return made


def step(program: Program, x: np.ndarray, y: np.ndarray, ids: np.ndarray, key: tuple[int, int, int, int], rate: float
         ) -> tuple[np.ndarray, np.ndarray]:
    """A step of one microbatch: the metrics with the gradient norm and the skip flag, and the counters."""
    hyper = np.array([rate, 1], np.float32)
    metrics, counters = program.call("microbatch", x, y, ids, np.array(key), hyper)
    (numbers,) = program.call("update", hyper, np.array(1, np.float32))
    return np.concatenate([metrics, numbers]), counters


def linear_gradient(w: np.ndarray, b: float, x: np.ndarray, y: np.ndarray, key: tuple[int, int, int, int]
                    ) -> tuple[float, np.ndarray, float]:
    noise = uniform(run_key(*key), 0, ROWS, -0.01, 0.01)
    error = (x @ w + b + noise - y).astype(np.float64)
    return float(np.mean(error ** 2)), 2 / ROWS * x.T.astype(np.float64) @ error, float(2 * np.mean(error))


def test_linear_regression_is_numpys(sample: Program) -> None:
    sample.call("init", np.array(11, np.int64))
    state = state_of(sample)
    w, b = state["w"].astype(np.float64), 0.0
    assert np.allclose(w, uniform(initialiser_key(11, "w"), 0, COLUMNS, -0.5, 0.5), atol=1e-7)
    mw = vw = np.zeros(COLUMNS)
    mb = vb = np.zeros(())
    mean = np.zeros(COLUMNS)
    for i, (x, y, ids) in enumerate(batches(STEPS)):
        rate = 0.05
        loss, gw, gb = linear_gradient(w, b, x, y, (11, i, 0, 0))
        metrics, counters = step(sample, x, y, ids, (11, i, 0, 0), rate)
        weight = ids.sum()
        norm = np.sqrt((gw ** 2).sum() + gb ** 2)
        assert np.allclose(metrics, [loss, 1, weight, loss * weight, weight, y.max(), norm, 0], rtol=2e-4, atol=1e-5)
        assert counters.tolist() == [ROWS * COLUMNS]
        w, mw, vw = adamw(w, gw, mw, vw, i + 1, rate)
        b, mb, vb = adamw(b, gb, mb, vb, i + 1, rate)
        mean = 0.5 * mean + 0.5 * x.mean(0)
    state = state_of(sample)
    assert np.allclose(state["w"], w, atol=1e-4) and np.allclose(state["block.0.b"], b, atol=1e-4)
    assert np.allclose(state["mean"], mean, atol=1e-5)
    assert state["optimizer.t"] == STEPS


def test_four_microbatches_are_their_mean(sample: Program) -> None:
    sample.call("init", np.array(4, np.int64))
    w = state_of(sample)["w"].astype(np.float64)
    hyper = np.array([0.1, 1], np.float32)
    total, total_b = np.zeros(COLUMNS), 0.0
    for round_ in range(2):
        for i, (x, y, ids) in enumerate(batches(4)):
            key = (4, round_, i, 0)
            metrics, _ = sample.call("microbatch", x, y, ids, np.array(key), hyper)
            if round_ == 0:
                loss, gw, gb = linear_gradient(w, 0.0, x, y, key)
                assert np.allclose(metrics[0], loss, rtol=1e-4)
                total, total_b = total + gw / 4, total_b + gb / 4
        (numbers,) = sample.call("update", hyper, np.array(0.25, np.float32))
        if round_ == 0:
            assert np.allclose(numbers, [np.sqrt((total ** 2).sum() + total_b ** 2), 0], rtol=1e-4)
            first = state_of(sample)["w"]
            assert np.allclose(first, adamw(w, total, 0 * w, 0 * w, 1, 0.1)[0], atol=1e-5)
    assert not np.array_equal(state_of(sample)["w"], first)


def test_state_comes_back_and_init_repeats(sample: Program) -> None:
    sample.call("init", np.array(5, np.int64))
    first = sample.call("state_get")
    (x, y, ids), *_ = batches(1)
    step(sample, x, y, ids, (5, 0, 0, 0), 0.1)
    sample.call("microbatch", x, y, ids, np.array([5, 0, 0, 0]), np.array([0.1, 1], np.float32))
    sample.call("state_set", *first)
    assert all(np.array_equal(a, b) for a, b in zip(sample.call("state_get"), first, strict=True))
    # What was accumulated before is gone.
    sample.call("microbatch", x, y, ids, np.array([5, 0, 0, 0]), np.array([0.1, 1], np.float32))
    (once,) = sample.call("accumulator_get")
    sample.call("init", np.array(5, np.int64))
    assert all(np.array_equal(a, b) for a, b in zip(sample.call("state_get"), first, strict=True))
    sample.call("microbatch", x, y, ids, np.array([5, 0, 0, 0]), np.array([0.1, 1], np.float32))
    assert np.array_equal(sample.call("accumulator_get")[0], once)
    sample.call("init", np.array(6, np.int64))
    assert not np.array_equal(sample.call("state_get")[0], first[0])


def test_evaluation_rows_and_ctx(sample: Program) -> None:
    sample.call("init", np.array(5, np.int64))
    (x, y, ids), *_ = batches(1)
    (whole,) = sample.call("evaluate_0", x, y, ids, np.array([5, 0, 0, 0]), np.array([0.1, 1], np.float32))
    rows = [sample.call("evaluate_0_row", x[i:i + 1], y[i:i + 1], ids[i:i + 1], np.array([5, 0, 0, 0]),
                        np.array([0.1, 1], np.float32))[0]
            for i in range(ROWS)]
    assert np.isclose(np.mean([r[0] for r in rows]), whole[0], rtol=1e-5) and whole[1] == 1
    assert np.isclose(whole[2], 2 * whole[0])
    (rate,) = sample.call("ctx_0", 2 ** 60, 10, 0.25, 0, 0, 0, 0, 0.0, 0, 0, 0.0, 0.0)
    assert rate == 0.1 * (1 - 0.25)


def test_the_manifest_is_the_runtimes(sample: Program) -> None:
    manifest = Manifest.from_json(sample.manifest)
    assert [p.name for p in manifest.parameters] == ["w", "block.0.b"]
    assert manifest.metrics.size == 8 and manifest.cost.flops > 0 and manifest.cost.bytes > 0
    assert manifest.target.name == "cpu" and manifest.versions.iree


# -- a transformer against JAX ----------------------------------------------------------------------------------------

def test_transformer_is_jaxs(transformer: Program) -> None:
    jax = pytest.importorskip("jax")
    transformer.call("init", np.array(1, np.int64))
    names = [p["name"] for p in transformer.manifest["parameters"]]
    state = state_of(transformer)
    params = {n: np.asarray(state[n]) for n in names}
    first = {n: np.zeros_like(v) for n, v in params.items()}
    second = {n: np.zeros_like(v) for n, v in params.items()}
    gradient = jax.jit(jax.value_and_grad(jax_loss))
    rng = np.random.default_rng(2)
    tokens = rng.integers(0, VOCABULARY, (BATCH, TIME)).astype(np.int32)
    losses = []
    for i in range(STEPS):
        targets = np.roll(tokens, -1, 1)
        loss, gradients = gradient(params, tokens, targets)
        hyper = np.array([RATE], np.float32)
        metrics, counters = transformer.call("microbatch", tokens, targets, np.array([1, i, 0, 0]), hyper)
        transformer.call("update", hyper, np.array(1, np.float32))
        assert np.isclose(metrics[0], loss, rtol=2e-4), i
        assert counters.tolist() == [BATCH * TIME]
        for n in names:
            g = np.asarray(gradients[n])
            value, first[n], second[n] = adamw(params[n], g, first[n], second[n], i + 1, RATE)
            params[n] = value.astype(np.float32)
        losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0]


# -- another device ---------------------------------------------------------------------------------------------------

def test_vulkan_trains_like_the_cpu(sample: Program, vulkan: str) -> None:
    other = program(stage_sample().module, "vulkan", vulkan)
    for p in (sample, other):
        p.call("init", np.array(3, np.int64))
    for i, (x, y, ids) in enumerate(batches(5)):
        ours, theirs = (step(p, x, y, ids, (3, i, 0, 0), 0.05)[0] for p in (sample, other))
        assert np.allclose(ours, theirs, rtol=1e-3), i
