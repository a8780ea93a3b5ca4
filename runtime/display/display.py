"""What the loop tells a display, and how numbers are written for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from sexpgpu.runtime.dataio.spec import Json


@dataclass(frozen=True, slots=True)
class View:
    """A step as it is shown. `rates` are a second (`steps`, `records`, then the counters), `left` seconds."""

    step: int
    steps: int
    progress: float
    loss: float
    rates: Mapping[str, float]
    seconds: float
    left: float | None
    stage: str | None = None
    """The stage's name, where there are several."""
    waited: float = 0.0
    """Seconds of the step that went into waiting for data."""


class Display(Protocol):
    def due(self, logged: bool) -> bool:
        """Whether `step` would show anything: what it takes to make a `View` is saved otherwise."""
        ...

    def step(self, view: View, logged: bool) -> None: ...
    def evaluating(self, name: str, done: int, total: int | None) -> None: ...
    def evaluated(self, name: str, step: int, results: Mapping[str, Json]) -> None: ...
    def note(self, text: str) -> None: ...
    def close(self) -> None: ...


def open_display(label: str) -> Display:
    """A bar where stderr is a terminal that can move its cursor, lines otherwise."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from sexpgpu.runtime.display.bar import Bar
        return Bar(label)
    from sexpgpu.runtime.display.plain import Plain
    return Plain()


def main_rate(rates: Mapping[str, float]) -> tuple[str, float]:
    """The rate a person looks at: the first counter's, or that of the records."""
    names = [name for name in rates if name not in ("steps", "records")]
    name = names[0] if names else "records"
    return name, rates[name]


def waits(view: View) -> str:
    """The share of a step that waits for data, where that is a tenth or more."""
    share = view.waited / view.seconds if view.seconds > 0 else 0.0
    return f" ({min(1.0, share):.0%} waiting for data)" if share >= 0.1 else ""


def number(value: float) -> str:
    """Four digits' worth: `0.01234`, `12.3`, `1,234`, `1.23M`."""
    size = abs(value)
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if size >= limit:
            return f"{value / limit:.2f}{unit}"
    return f"{value:,.0f}" if size >= 1000 else f"{value:.4g}"


def loss(value: float) -> str:
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e4 else f"{value:.3e}"


def duration(seconds: float | None) -> str:
    """`0:07`, `12:34`, `3:04:05`, `2d 3:04`; `–` where nothing is known."""
    if seconds is None or not seconds < 1e9:
        return "–"
    minutes, s = divmod(round(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 24:
        return f"{hours // 24}d {hours % 24}:{minutes:02}"
    return f"{hours}:{minutes:02}:{s:02}" if hours else f"{minutes}:{s:02}"


def results_text(results: Mapping[str, Json]) -> str:
    """`loss 1.2345 · accuracy 0.9` of `eval/<pass>/<metric>`."""
    return " · ".join(f"{name.split('/', 2)[2]} {loss(value)}" for name, value in results.items()
                      if isinstance(value, float))
