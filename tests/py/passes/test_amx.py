"""Products in AMX's tiles of bf16: as exact as f32, and what becomes of numbers that are no ordinary ones."""

from __future__ import annotations

import platform

import numpy as np
import pytest
from iree.compiler import ir
from runner import Program
from sexpgpu.compiler.passes.forms import forms_for
from sexpgpu.compiler.passes.iree.driver import CompileOptions, features_of, generate
from sexpgpu.compiler.passes.iree.targets import parse_target
from sexpgpu.compiler.passes.pipeline import run_passes
from sexpgpu.runtime import processor

# What is tested is how the processor's instructions round, so without them there is nothing to run. What does not need
# them is tested everywhere: test_amx_pieces, test_amx_target, tests/lit/passes/amx.mlir.
if platform.machine() != "x86_64" or processor.lacking(features_of(parse_target("cpu:sapphirerapids"))):
    pytest.skip("this processor has no AMX", allow_module_level=True)

ROWS, DEPTH, COLUMNS = 128, 256, 128


def program(disabled: tuple[str, ...] = ()) -> Program:
    """x y, x yᵀ and xᵀ z."""
    x, y, t, z, w = (f"tensor<{a}x{b}xf32>" for a, b in (
        (ROWS, DEPTH), (DEPTH, COLUMNS), (COLUMNS, DEPTH), (ROWS, COLUMNS), (DEPTH, COLUMNS)))
    text = f"""
      func.func @straight(%x: {x}, %y: {y}) -> {z} {{
        %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({x}, {y}) -> {z}
        return %r : {z} }}
      func.func @turned(%x: {x}, %y: {t}) -> {z} {{
        %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [1] : ({x}, {t}) -> {z}
        return %r : {z} }}
      func.func @gradient(%x: {x}, %z: {z}) -> {w} {{
        %r = stablehlo.dot_general %x, %z, contracting_dims = [0] x [0] : ({x}, {z}) -> {w}
        return %r : {w} }}"""
    target = parse_target("cpu:sapphirerapids")
    with ir.Context():
        module = ir.Module.parse(text)
        run_passes(module, forms_for(target, disabled))
        assert ("tdpbf16ps" in str(module)) != bool(disabled)
        return Program(generate(module, target, CompileOptions()))


@pytest.fixture(scope="module")
def tiles() -> Program:
    return program()


@pytest.fixture(scope="module")
def vectors() -> Program:
    return program(("dense-amx", "weights-amx"))


def operands(name: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    r = np.random.default_rng(seed)
    shape = {"straight": (DEPTH, COLUMNS), "turned": (COLUMNS, DEPTH), "gradient": (ROWS, COLUMNS)}[name]
    return r.standard_normal((ROWS, DEPTH)).astype(np.float32), r.standard_normal(shape).astype(np.float32)


def truth(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    a, b = x.astype(np.float64), y.astype(np.float64)
    return {"straight": lambda: a @ b, "turned": lambda: a @ b.T, "gradient": lambda: a.T @ b}[name]()


@pytest.mark.parametrize("kind", ["ordinary", "spread", "positive"])
@pytest.mark.parametrize("name", ["straight", "turned", "gradient"])
def test_no_less_exact_than_f32(tiles: Program, vectors: Program, name: str, kind: str) -> None:
    """Over ordinary numbers, over ones that lie up to 2^32 apart, and over ones of one sign, where what is left out of
    each product would add up if it had one too; the error of the sum over that of its terms."""
    x, y = operands(name)
    if kind == "spread":
        r = np.random.default_rng(9)
        x, y = (v * np.exp2(r.integers(-16, 17, v.shape)).astype(np.float32) for v in (x, y))
    if kind == "positive":
        x, y = abs(x) + 1, abs(y) + 1
    want, size = truth(name, x, y), truth(name, abs(x), abs(y))
    ours, theirs = (np.abs(p.call(name, x, y)[0] - want) / size for p in (tiles, vectors))
    assert ours.max() <= theirs.max() and np.sqrt((ours ** 2).mean()) <= np.sqrt((theirs ** 2).mean())


def test_the_bound_of_a_product(tiles: Program) -> None:
    """Each alone: within 2^-22 of the truth, and 2^-24 for rounding."""
    r = np.random.default_rng(1)
    x, y = (np.zeros_like(v) for v in operands("straight"))
    x[:, 0] = r.uniform(1, 2, ROWS)
    y[0] = r.uniform(1, 2, COLUMNS)
    x[0, 0], y[0, 0] = (np.uint32(0x3F80FF7F).view(np.float32),) * 2   # the second and third part as large as can be
    want = truth("straight", x, y)
    found, = tiles.call("straight", x, y)
    assert (np.abs(found - want) <= (2.0 ** -22 + 2.0 ** -24) * want).all()


@pytest.mark.parametrize("name", ["straight", "turned", "gradient"])
def test_whole_numbers_are_exact(tiles: Program, name: str) -> None:
    """Of 12 bits each: their products have 24, and are right to the last one where they are not summed."""
    x, y = (np.random.default_rng(s).integers(-4095, 4096, v.shape).astype(np.float32)
            for s, v in enumerate(operands(name)))
    x[:, 1:], x[1:, :1] = 0, (0 if name == "gradient" else x[1:, :1])
    assert (tiles.call(name, x, y)[0] == truth(name, x, y)).all()


def test_what_is_not_finite_is_nan_where_it_is_read(tiles: Program) -> None:
    for odd in (np.nan, np.inf, -np.inf):
        x, y = operands("straight")
        x[3, 5] = odd
        found, = tiles.call("straight", x, y)
        assert np.isnan(found[3]).all() and np.isfinite(np.delete(found, 3, axis=0)).all()


def test_the_greatest_and_the_least(tiles: Program) -> None:
    x, y = (np.zeros_like(v) for v in operands("straight"))
    largest, least = np.finfo(np.float32).max, np.finfo(np.float32).tiny
    x[0, 0], y[0, 0] = largest, 1
    x[1, 1], y[1, 1] = largest, largest          # beyond f32
    x[2, 2], y[2, 2] = least, 1.5
    x[3, 3], y[3, 3] = least / 2, 1              # zero in tiles
    x[4, 4], y[4, 4] = np.float32(1e-30), np.float32(1 + 2 ** -23)
    x[5, 5], y[5, 5] = np.float32(1e-18), np.float32(1.2345678e-18)   # parts of the product count as zero
    found, = tiles.call("straight", x, y)
    assert 1e-4 < abs(found[5, 5] / 1.2345678e-36 - 1) < 1e-2
    assert found[0, 0] == largest and not np.isfinite(found[1, 1])
    assert found[2, 2] == np.float32(least * 1.5) and found[3, 3] == 0
    assert found[4, 4] == np.float32(1e-30) * np.float32(1 + 2 ** -23)
