"""Metrics as curves: read once from start to end, in memory that does not grow with the run's length."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from pathlib import Path

from sexpgpu.runtime.look.run import entries, number

MOST = 4096
"""Points that a curve keeps. Beyond, of every four neighbours the lowest and the highest stay: peaks survive."""


CURVES = 1000
"""Names that are followed; a file with more was not written by a run."""

TOO_LARGE = 1e150
"""What is beyond, on either side, is not drawn: differences of such numbers are none."""


@dataclass(slots=True)
class Curve:
    """`steps` ascend; a value that was not finite is NaN. `first` and `last` are exact, whatever was left out."""

    steps: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    count: int = 0

    def add(self, step: int, value: float) -> None:
        self.steps.append(step)
        self.values.append(value)
        self.count += 1
        if len(self.values) > MOST:
            self._thin()

    def _thin(self) -> None:
        kept = [0]
        last = len(self.values) - 1
        for start in range(1, last, 4):
            group = range(start, min(start + 4, last))
            known = [i for i in group if not math.isnan(self.values[i])]
            if known:
                low, high = min(known, key=self.values.__getitem__), max(known, key=self.values.__getitem__)
                kept += sorted({low, high})
            else:
                kept.append(start)
        kept.append(last)
        self.steps = array("d", (self.steps[i] for i in kept))
        self.values = array("d", (self.values[i] for i in kept))

    @property
    def last(self) -> float:
        return self.values[-1]

    def finite(self) -> list[float]:
        """Those that can be drawn."""
        return [v for v in self.values if abs(v) < TOO_LARGE]


def read_curves(metrics: Path) -> dict[str, Curve]:
    """Every number of `metrics.jsonl` by name, in order of first appearance."""
    curves: dict[str, Curve] = {}
    for entry, _ in entries(metrics):
        step = entry["step"]
        for name, value in entry.items():
            if name in ("step", "time") or isinstance(value, str | bool | list | dict):
                continue
            curve = curves.get(name)
            if curve is None:
                if len(curves) >= CURVES:
                    continue
                curve = curves[name] = Curve()
            known = number(value)
            curve.add(step, math.nan if known is None else float(known))  # type: ignore[arg-type]
    return curves


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """About `count` round numbers (1, 2, 5 · 10ⁿ apart) from `low` to `high`."""
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    raw = span / count
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    found = [i * step for i in range(first, first + 2 * count + 2) if i * step <= high + step * 1e-9]
    return found or [low]
