"""Metrics of one call into metrics of a step or a pass, by each metric's own reduction, in f64."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sexpgpu.runtime.artifact.manifest import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Reduction:
    """Adds up the vectors of some calls.

    A mean is Σ value·weight / Σ weight; both stand in the vector. With `by_records`, a mean that carries no weight of
    its own weighs each call by its records, so that a pass over a whole loader counts every row once.
    """

    def __init__(self, metrics: Sequence[Metric], *, by_records: bool = False) -> None:
        self._metrics = metrics
        self._by_records = by_records
        self._values = [_START[m.reduce] for m in metrics]
        self._weights = [0.0] * len(metrics)

    def add(self, vector: NDArray, records: int = 1) -> None:
        numbers: list[float] = vector.tolist()
        for i, metric in enumerate(self._metrics):
            value = numbers[metric.offset]
            match metric.reduce:
                case "mean":
                    weight = numbers[metric.offset + 1]
                    own = metric.weighted if metric.weighted is not None else i > 0 and weight != 1.0
                    scale = records if self._by_records and not own else 1
                    self._values[i] += value * scale
                    self._weights[i] += weight * scale
                case "sum":
                    self._values[i] += value
                case "max":
                    self._values[i] = _extreme(max, self._values[i], value)
                case "min":
                    self._values[i] = _extreme(min, self._values[i], value)
                case _:
                    self._values[i] = value

    def results(self) -> list[float]:
        """In the order of the metrics; a mean over no weight is NaN."""
        return [
            (self._values[i] / self._weights[i] if self._weights[i] else math.nan) if m.reduce == "mean"
            else self._values[i] for i, m in enumerate(self._metrics)
        ]


_START = {"mean": 0.0, "sum": 0.0, "max": -math.inf, "min": math.inf, "last": math.nan}


def _extreme(choose, held: float, value: float) -> float:
    """NaN wins, wherever it comes: Python's `max` would let the order decide."""
    return math.nan if math.isnan(held) or math.isnan(value) else choose(held, value)
