"""Central differences of definitions in NumPy, in f64: a judge of gradients that differentiates nothing by rule.

The step is 1e-5 of an element, or of 1: in f64 the differences are right to about 1e-9 of the largest gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from oracle_jax import Case, compiled, cotangent, difference, staged
from runner import Program

#: How far values and gradients may be from the definition, by dtype, relative to the largest element or to 1.
TOLERANCE = {"f32": 5e-5, "f64": 1e-7}
NUMPY = {"f32": np.float32, "f64": np.float64}


@dataclass(frozen=True, slots=True)
class Definition:
    """An expression of `x`, `y`, `z`, and what it is for arrays of f64.

    `shapes` are tried in turn, each with a shape for each argument; a shape that is an array is that argument itself.
    `words` are the shapes of the random words that it draws, given to `function` after the arguments.
    """

    name: str
    source: str
    function: Callable[..., NDArray]
    shapes: Sequence[Sequence[tuple[int, ...] | NDArray]]
    domain: str = "any"
    f64: bool = True
    words: Callable[..., Sequence[tuple[int, ...]]] = lambda *arrays: ()
    tolerance: float = 1.0

    def cases(self) -> list[Drawn]:
        return [Drawn(self, i, dtype) for i in range(len(self.shapes)) for dtype in (*["f64"] * self.f64, "f32")]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A definition at one of its shapes, in one dtype."""

    definition: Definition
    index: int
    dtype: str
    arrays: list[NDArray] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(len(self.definition.name) + self.index)
        for shape in self.definition.shapes[self.index]:
            fixed = isinstance(shape, np.ndarray)
            self.arrays.append(shape if fixed and shape.dtype.kind in "ib" else
                               np.asarray(shape if fixed else _drawn(rng, shape, self.definition.domain),
                                          NUMPY[self.dtype]))

    @property
    def words(self) -> list[NDArray]:
        rng = np.random.default_rng(8)
        return [rng.integers(0, 2**32, shape, dtype=np.uint32) for shape in self.definition.words(*self.arrays)]

    @property
    def case(self) -> Case:
        arguments = dict(zip("xyz", self.arrays, strict=False))
        return Case(f"{self.definition.name} {self.index} {self.dtype}", self.definition.source, arguments,
                    self.definition.function, bits=self.words)


def _drawn(rng: np.random.Generator, shape: tuple[int, ...], domain: str) -> NDArray:
    match domain:
        case "positive":
            return rng.random(shape) + 0.5
        case "unit":
            return 1.6 * rng.random(shape) - 0.8
        case _:
            return rng.standard_normal(shape)


def slopes(f: Callable[[NDArray], float], x: NDArray) -> NDArray:
    """df/dx by central differences, x in f64."""
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = 1e-5 * max(1.0, abs(x[place]))
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        found[place] = (f(up) - f(down)) / (up[place] - down[place])
    return found


def wrong(drawn: Sequence[Drawn]) -> list[str]:
    """What is not so, in words; all of them compiled as one module."""
    cases = [d.case for d in drawn]
    module, shapes = staged(cases)
    program = Program(compiled(module, "cpu"), "local-task")
    told = []
    for d, case in zip(drawn, cases, strict=True):
        (shape, *_), function = shapes[case.name], d.definition.function
        wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in d.arrays]
        value = np.asarray(function(*wide, *d.words), np.float64)
        given = cotangent(shape, np.dtype(NUMPY[d.dtype])) if shape else np.ones(())
        results = program.call(case.symbol, *d.arrays, *d.words, *([given] if shape else []))
        told += _compare(f"{case.name}: value", results[0], value, d)
        positions = case.float_positions()
        for i, gradient in zip(positions, results[len(shapes[case.name]):], strict=True):
            want = slopes(_along(function, [*wide, *d.words], i, given.astype(np.float64)), wide[i])
            told += _compare(f"{case.name}: gradient of {'xyz'[i]}", gradient, want, d)
    return told


def _along(function: Callable[..., NDArray], arrays: Sequence[NDArray], i: int, given: NDArray
           ) -> Callable[[NDArray], float]:
    """The function's value, weighed by a cotangent, by its argument number `i` alone."""
    return lambda x: float((function(*arrays[:i], x, *arrays[i + 1:]) * given).sum())


def _compare(what: str, got: NDArray, want: NDArray, d: Drawn) -> list[str]:
    text = difference(got.astype(np.float64), want, TOLERANCE[d.dtype] * d.definition.tolerance)
    return [f"{what}: {text}"] if text else []
