"""Curves as a figure of HTML: an SVG that stretches with the page, labels that do not, data for the pointer.

The SVG's own coordinates run from 0 to 1000 both ways and are stretched to the place there is (lines keep their width);
so the text around it is HTML, placed in percent. Without scripts everything but the pointer's reading is there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from sexpgpu.runtime.display.display import number
from sexpgpu.runtime.look.curves import TOO_LARGE, Curve, ticks

COLOURS = 6
"""How many the style sheet has."""

SMOOTHED = 200
"""Points from which on a noisy curve is drawn pale, with its running mean over it."""


@dataclass(frozen=True, slots=True)
class Chart:
    """`curves` by the name shown in the legend; `unit` stands behind the numbers."""

    title: str
    curves: Mapping[str, Curve]
    unit: str = ""
    smooth: bool = False
    from_zero: bool = False
    """Whether the axis begins at 0, as befits times and amounts."""


def figure(chart: Chart) -> str:
    """The `<figure>`; empty where there is no finite number to draw."""
    curves = {name: curve for name, curve in chart.curves.items() if curve.finite()}
    if not curves:
        return ""
    scale = Scale(list(curves.values()), chart.from_zero)
    lines, legend, data = [], [], []
    for i, (name, curve) in enumerate(curves.items()):
        colour = f"c{i % COLOURS}"
        points = [(scale.x(s), scale.y(v)) for s, v in zip(curve.steps, curve.values, strict=True)]
        mean = chart.smooth and len(points) >= SMOOTHED
        lines.append(_path(points, f"{colour} pale" if mean else colour))
        if mean:
            smooth = running_mean(curve.values, max(5, len(points) // 50))
            lines.append(_path([(scale.x(s), scale.y(v)) for s, v in zip(curve.steps, smooth, strict=True)], colour))
        last = curve.last
        legend.append(f'<span class="key {colour}">{escape(name)} <b>{_text(last, chart.unit)}</b></span>')
        data.append({"name": name, "colour": colour, "points": [
            [int(s), None if math.isnan(v) else float(f"{v:.6g}")]
            for s, v in zip(curve.steps, curve.values, strict=True)]})
    marks = "".join(f'<i style="top:{(1000 - scale.y_of(t)) / 10:.2f}%">{escape(number(t))}</i>' for t in scale.rows)
    grid = "".join(f'<path class="grid" d="M0 {1000 - scale.y_of(t):.1f}H1000"/>' for t in scale.rows)
    feet = "".join(f'<i style="left:{scale.x(t) / 10:.2f}%">{escape(number(t))}</i>' for t in scale.columns)
    notes = '<span class="note">logarithmic</span>' if scale.log else ""
    if scale.beyond is not None:
        notes = f'<span class="note">peak {_text(scale.beyond, chart.unit)}</span>'
    facts = json.dumps({"low": scale.first, "high": scale.last, "unit": chart.unit, "curves": data},
                       ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (f'<figure class="chart"><figcaption>{escape(chart.title)}{notes}</figcaption>'
            f'<div class="legend">{"".join(legend)}</div>'
            f'<div class="plot"><div class="rows">{marks}</div><div class="area">'
            f'<svg viewBox="0 0 1000 1000" preserveAspectRatio="none" role="img" aria-label="{escape(chart.title)}">'
            f'{grid}{"".join(lines)}</svg><div class="cursor"></div></div><div class="columns">{feet}</div></div>'
            f'<div class="reading"></div><script type="application/json">{facts}</script></figure>')


class Scale:
    """From steps and values to the drawing's units. Logarithmic where positive values span over two decades."""

    def __init__(self, curves: Sequence[Curve], from_zero: bool) -> None:
        values = [v for c in curves for v in c.finite()]
        self.first, self.last = min(c.steps[0] for c in curves), max(c.steps[-1] for c in curves)
        low, high = min(values), max(values)
        usual = max(sorted(c.finite())[int(len(c.finite()) * 0.98) - 1] for c in curves)
        self.beyond = high if from_zero and len(values) > 50 and high > 3 * usual > 0 else None
        """Times and rates may have a few values so large that they would flatten the rest: they leave the drawing."""
        high = 1.5 * usual if self.beyond is not None else high
        self.log = low > 0 and high / low > 100 and not from_zero
        if self.log:
            low, high = math.log10(low), math.log10(high)
        elif from_zero:
            low = min(low, 0.0)
        room = (high - low) * 0.04 or abs(high) * 0.1 or 1.0
        self._low = low if from_zero and low == 0.0 else low - room
        self._high = high + room
        self.columns = [t for t in ticks(self.first, self.last) if t == int(t)]
        if self.log:
            powers = range(math.floor(self._low), math.floor(self._high) + 1)
            marks = (1, 2, 5) if len(powers) < 4 else (1,)
            rows = [m * 10.0 ** p for p in powers for m in marks]
            self.rows = [r for r in rows if self._low <= math.log10(r) <= self._high][::max(1, len(powers) // 5)]
        else:
            self.rows = ticks(self._low, self._high)

    def x(self, step: float) -> float:
        return (step - self.first) / (self.last - self.first) * 1000 if self.last > self.first else 500.0

    def y_of(self, value: float) -> float:
        shown = math.log10(value) if self.log else value
        return (shown - self._low) / (self._high - self._low) * 1000

    def y(self, value: float) -> float:
        """NaN for what cannot be drawn."""
        if not abs(value) < TOO_LARGE or (self.log and value <= 0):
            return math.nan
        return 1000 - self.y_of(value)


def _path(points: Sequence[tuple[float, float]], kind: str) -> str:
    """A line, broken where values are missing; a point that stands alone is a dot."""
    parts: list[str] = []
    dots: list[str] = []
    run: list[tuple[float, float]] = []
    for x, y in [*points, (0.0, math.nan)]:
        if not math.isnan(y):
            run.append((x, y))
            continue
        if len(run) == 1:   # round caps make a dot of a line without length
            dots.append(f"M{run[0][0]:.1f} {run[0][1]:.1f}h0")
        elif run:
            parts.append("M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in run))
        run = []
    line = f'<path class="{kind}" d="{"".join(parts)}"/>' if parts else ""
    return line + (f'<path class="{kind} dot" d="{"".join(dots)}"/>' if dots else "")


def running_mean(values: Sequence[float], width: int) -> list[float]:
    """Of up to `width` values around each, those that are numbers."""
    total, count, sums, counts = 0.0, 0, [0.0], [0]
    for value in values:
        if math.isfinite(value):
            total, count = total + value, count + 1
        sums.append(total)
        counts.append(count)
    found = []
    for i in range(len(values)):
        a, b = max(0, i - width // 2), min(len(values), i + width // 2 + 1)
        n = counts[b] - counts[a]
        found.append((sums[b] - sums[a]) / n if n else math.nan)
    return found


def _text(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return "not finite"
    return escape(number(value) + (f" {unit}" if unit else ""))
