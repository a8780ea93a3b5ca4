"""What is computed of vectors, number by number: some operations, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sexpgpu.compiler.kernels.code import Kernel, Vector
from sexpgpu.compiler.kernels.functions import erf


def _negative(x: Vector) -> Vector:
    return x.kernel.splat(-0.0) - x


def _logistic(x: Vector) -> Vector:
    one = x.kernel.splat(1.0)
    return one / (one + _negative(x).function("exp"))


#: Operations on vectors of f32 by StableHLO's name.
OPERATIONS: dict[str, Callable[..., Vector]] = {
    "stablehlo.add": lambda a, b: a + b,
    "stablehlo.subtract": lambda a, b: a - b,
    "stablehlo.multiply": lambda a, b: a * b,
    "stablehlo.divide": lambda a, b: a / b,
    "stablehlo.negate": _negative,
    "stablehlo.exponential": lambda a: a.function("exp"),
    "stablehlo.tanh": lambda a: a.function("tanh"),
    "stablehlo.logistic": _logistic,
    "stablehlo.sqrt": lambda a: a.function("sqrt"),
    "chlo.erf": erf,
}
#: Those that take much longer than a load.
DEAR = frozenset(("stablehlo.exponential", "stablehlo.tanh", "stablehlo.logistic", "chlo.erf"))


@dataclass(frozen=True, slots=True)
class Steps:
    """`steps` are operations and what they take: the place of a value, of which the first are given and each step makes
    one more, or a number. `results` are the places of what is wanted."""

    steps: tuple[tuple[str, tuple[int | float, ...]], ...]
    results: tuple[int, ...]

    def of(self, k: Kernel, *given: Vector) -> Sequence[Vector]:
        values = list(given)
        for name, operands in self.steps:
            values.append(OPERATIONS[name](*(values[o] if isinstance(o, int) else k.splat(o) for o in operands)))
        return [values[i] for i in self.results]


ITSELF = Steps((), (0,))
