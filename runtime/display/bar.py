"""The bar on a terminal: progress, loss, rate, time left; passes and notes scroll by above it.

rich draws it ten times a second from its own thread; the loop only leaves the newest values.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.display.display import View, duration, loss, main_rate, number, results_text, waits

EVERY = 0.1
"""Seconds between two updates of the values."""


class Bar:
    """NO_COLOR and FORCE_COLOR are honoured by rich's console."""

    def __init__(self, label: str) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[count]}"),
            TextColumn("[bold]{task.fields[loss]}[/]"), TextColumn("{task.fields[rate]}"),
            TextColumn("[dim]{task.fields[left]}[/]"), console=self._console, refresh_per_second=10, transient=False)
        self._task = self._progress.add_task(label, total=1.0, count="", loss="", rate="", left="")
        self._label = label
        self._due = 0.0
        self._progress.start()

    def due(self, logged: bool) -> bool:
        return logged or time.monotonic() >= self._due

    def step(self, view: View, logged: bool) -> None:
        now = time.monotonic()
        if now < self._due and view.progress < 1.0:
            return
        self._due = now + EVERY
        name, rate = main_rate(view.rates)
        self._progress.update(
            self._task, completed=view.progress, description=self._named(view), count=f"{view.step}/{view.steps}",
            loss=f"loss {loss(view.loss)}", rate=f"{number(rate)} {name}/s{waits(view)}",
            left=f"{duration(view.left)} left")

    def _named(self, view: View) -> str:
        return f"{self._label} · {view.stage}" if view.stage is not None else self._label

    def evaluating(self, name: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now >= self._due:
            self._due = now + EVERY
            shown = f"{done}/{total}" if total is not None else str(done)
            self._progress.update(self._task, description=f"{self._label} · {name} {shown}")

    def evaluated(self, name: str, step: int, results: Mapping[str, Json]) -> None:
        self._progress.update(self._task, description=self._label)
        self._console.print(f"step {step}  {name}: {results_text(results)}", markup=False)

    def note(self, text: str) -> None:
        self._console.print(f"note: {text}", markup=False)

    def close(self) -> None:
        self._progress.stop()
