"""Lines for logs and pipes: one for each step that is logged, one for each pass."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.display.display import View, duration, loss, main_rate, number, results_text, waits


class Plain:
    """Writes to stderr a line at a time."""

    def due(self, logged: bool) -> bool:
        return logged

    def step(self, view: View, logged: bool) -> None:
        if not logged:
            return
        name, rate = main_rate(view.rates)
        stage = f"  {view.stage}" if view.stage is not None else ""
        _say(f"step {view.step}/{view.steps}{stage}  loss {loss(view.loss)}  {number(rate)} {name}/s  "
             f"{view.seconds * 1e3:.1f} ms{waits(view)}  {duration(view.left)} left")

    def evaluating(self, name: str, done: int, total: int | None) -> None:
        pass

    def evaluated(self, name: str, step: int, results: Mapping[str, Json]) -> None:
        _say(f"step {step}  {name}: {results_text(results)}")

    def note(self, text: str) -> None:
        _say(f"note: {text}")

    def close(self) -> None:
        pass


def _say(text: str) -> None:
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except BrokenPipeError:
        pass  # nobody listens any more; the run goes on
