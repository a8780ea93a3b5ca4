"""Order at every dtype against NumPy's stable sorts: ties, NaN, zeros with a sign, extremes, rows that fill lanes."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

import ml_dtypes
import numpy as np
from oracle_jax import Case, differences, is_what_jax_computes, run

FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
INTEGERS = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "i32": np.int32, "u32": np.uint32,
            "i64": np.int64, "u64": np.uint64}
#: Rows and length: how many lanes they fill, and lengths that are and are not powers of two.
SHAPES = ((1, 2), (1, 37), (2, 3), (3, 130), (5, 8), (8, 17), (9, 64), (17, 33))


def numbers(kind: str, *shape: int) -> np.ndarray:
    """Few different ones, so that many are equal; the extremes of the dtype among them, and what sorts badly."""
    rng = np.random.default_rng(3)
    if kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in INTEGERS:
        limits = np.iinfo(INTEGERS[kind])
        some = np.array([limits.min, limits.min + 1, limits.max // 2, limits.max - 1, limits.max], INTEGERS[kind])
        return np.where(rng.random(shape) < 0.5, rng.choice(some, shape), rng.integers(0, 5, shape).astype(some.dtype))
    about = ml_dtypes.finfo(FLOATS[kind])
    tiny, huge = float(about.smallest_subnormal), float(about.max)
    some = np.array([0.0, -0.0, tiny, -tiny, np.inf, -np.inf, np.nan, -np.nan, huge, -huge, 1.0, -1.0], np.float64)
    return np.where(rng.random(shape) < 0.5, rng.choice(some, shape),
                    np.round(rng.standard_normal(shape), 1)).astype(FLOATS[kind])


def rising(x: np.ndarray) -> np.ndarray:
    """Numbers of NumPy's in the order of `x`, NaN apart."""
    if x.dtype.name == "bfloat16":
        return x.astype(np.float32)
    return x.astype(np.int8) if x.dtype == bool else x


def ranked(x: np.ndarray, descending: bool, nan_first: bool, axis: int) -> np.ndarray:
    value = rising(x)
    isnan = np.isnan(value) if value.dtype.kind == "f" else np.zeros(value.shape, bool)
    value = np.where(isnan, value.dtype.type(0), value)
    if descending:
        value = -value if value.dtype.kind == "f" else ~value
    return np.lexsort((value, ~isnan if nan_first else isnan), axis=axis).astype(np.int32)


def first(x: np.ndarray, k: int) -> list[np.ndarray]:
    places = ranked(x, True, True, -1)[..., :k]
    return [np.take_along_axis(x, places, -1), places]


def case(kind: str, shape: tuple[int, ...], what: str) -> Case:
    x = numbers(kind, *shape)
    name = f"{what} {kind} {shape}"
    if what == "top":
        k = min(shape[-1], {2: 1, 17: 16, 37: 17, 130: 40}.get(shape[-1], 3))
        return Case(name, f"(top-k x {k})", {"x": x}, lambda x: first(x, k), grad=False)
    axis, down = (0 if "0" in what else -1), "desc" in what
    source = f"(argsort x :axis {axis} :descending {'true' if down else 'false'})"
    return Case(name, source, {"x": x}, lambda x: ranked(x, down, False, axis), grad=False)


def cases(kinds: list[str]) -> list[Case]:
    """Each dtype at some of the shapes, which move from dtype to dtype."""
    found = []
    for i, kind in enumerate(kinds):
        for j, what in enumerate(("rise", "desc 0", "top")):
            found.append(case(kind, SHAPES[(3 * i + j) % len(SHAPES)], what))
    found += [case("f32", shape, what) for shape in SHAPES for what in ("desc", "top")]
    found += [case("f32", (2, 3, 2, 9), "rise"), case("f32", (4, 3, 5), "rise 0"), case("f32", (40,), "top")]
    return list({c.name: c for c in found}.values())


CASES = cases([*FLOATS, *INTEGERS, "bool"])
#: Not what is refused there: f16, and what is no multiple of four bytes.
ON_VULKAN = [c for c in [c for c in CASES if "f64" not in c.name and "bool" not in c.name][1::3]
             if " f16" not in c.name and all(x.nbytes % 4 == 0 for x in c.arguments.values())]


test_is_numpys_order = is_what_jax_computes


@pytest.fixture(scope="module")
def on_vulkan(vulkan: str):
    return run(ON_VULKAN, "vulkan", vulkan)


@pytest.mark.parametrize("case", ON_VULKAN, ids=lambda c: c.name)
def test_is_numpys_order_on_vulkan(case, on_vulkan):
    assert not differences(case, on_vulkan[case.name])
