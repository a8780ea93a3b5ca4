"""`--profile N:M`: what the process did in the steps N to M, as a trace that Perfetto and chrome://tracing read.

A file in the Trace Event format, `profile/steps-N-M.json`: a span for each step, and in it the wait for each batch, the
device calls, the functions of `ctx`; the passes and checkpoints between them; a curve of the batches that stand ready.
Times are the host's: a device call lasts until the device is done. The window costs some microseconds a span, the rest
of the run nothing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.replace import replace_file

if TYPE_CHECKING:
    from sexpgpu.runtime.train.loop import Trainer
    from sexpgpu.runtime.train.tally import Tally

MOST = 1_000_000
"""Spans that one trace holds; what comes behind is left out, and the trace says so."""

DEVICE, LOADER, RUNTIME = 1, 2, 3
"""Rows of the picture (thread numbers in the format)."""
_ROWS = {DEVICE: "device calls", LOADER: "waiting for data", RUNTIME: "steps"}


def window(text: str) -> tuple[int, int]:
    """The first and the last step of an option's value, `N:M`, which its parser has let through."""
    first, _, last = text.partition(":")
    return int(first), int(last)


class Trace:
    """Watches a trainer from step `first` to `last` (counted from 1), then writes into `folder` and lets go."""

    def __init__(self, trainer: Trainer, first: int, last: int, folder: Path, note: Callable[[str], None]) -> None:
        self._trainer, self._first, self._last = trainer, first, last
        self._folder, self._note = folder, note
        self._events: list[dict[str, Json]] = []
        self._left_out = 0
        self._on = False
        self._step_begun = 0.0
        self._before = trainer.on_step
        trainer.on_step = self._on_step
        if trainer.tally.step + 1 >= first:
            self._start()

    def _on_step(self, tally: Tally) -> None:
        if self._before is not None:
            self._before(tally)
        if self._on:
            self._span(f"step {tally.step}", self._step_begun, RUNTIME, {"loss": repr(tally.loss)})
            ready = self._trainer.feed.gauges(tally.stage).get("ready")
            if isinstance(ready, int):
                self._add({"name": "batches ready", "ph": "C", "ts": _now(), "args": {"ready": ready}})
            if tally.step >= self._last:
                self.close()
        if not self._on and self._first <= tally.step + 1 <= self._last:
            self._start()
        self._step_begun = _now()

    def _start(self) -> None:
        """Instance attributes shadow the methods of what is watched, until `close` takes them away."""
        self._on = True
        self._step_begun = _now()
        session, feed, saver = self._trainer.session, self._trainer.feed, self._trainer.saver
        for owner, name, row in ((session, "microbatch", DEVICE), (session, "update", DEVICE),
                                 (session, "evaluate", DEVICE), (session, "ctx", DEVICE), (feed, "next", LOADER),
                                 (saver, "save", RUNTIME)):
            setattr(owner, name, self._watched(name, getattr(owner, name), row))

    def _watched(self, name: str, method: Callable[..., Any], row: int) -> Callable[..., Any]:
        shown = {"next": "batch", "save": "checkpoint"}.get(name, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            begun = _now()
            try:
                return method(*args, **kwargs)
            finally:
                self._span(shown, begun, row)
        return call

    def _span(self, name: str, begun: float, row: int, args: dict[str, Json] | None = None) -> None:
        self._add({"name": name, "ph": "X", "ts": begun, "dur": _now() - begun, "tid": row, **(
            {"args": args} if args else {})})

    def _add(self, event: dict[str, Json]) -> None:
        if len(self._events) < MOST:
            self._events.append(event)
        else:
            self._left_out += 1

    def close(self) -> None:
        """Ends the window where it is open, and writes what was seen. Raises nothing: the run is worth more."""
        if not self._on:
            return
        self._on = False
        trainer = self._trainer
        for owner, names in ((trainer.session, ("microbatch", "update", "evaluate", "ctx")), (trainer.feed, ("next",)),
                             (trainer.saver, ("save",))):
            for name in names:
                owner.__dict__.pop(name, None)
        pid = os.getpid()
        named: list[dict[str, Json]] = [
            {"name": "thread_name", "ph": "M", "pid": pid, "tid": row, "args": {"name": text}}
            for row, text in _ROWS.items()]
        data = {"displayTimeUnit": "ms", "otherData": {
            "name": trainer.session.manifest.name, "device": trainer.session.device.uri, "left_out": self._left_out},
            "traceEvents": [*named, *({"pid": pid, "tid": RUNTIME, **event} for event in self._events)]}
        path = self._folder / f"steps-{self._first}-{self._last}.json"
        try:
            self._folder.mkdir(exist_ok=True)
            replace_file(path, json.dumps(data, separators=(",", ":")).encode())
        except OSError as error:
            self._note(f"the trace cannot be written: {(error.strerror or str(error)).lower()}")
            return
        self._note(f"a trace of the steps {self._first} to {self._last} is in `{path}`: open it in ui.perfetto.dev")


def _now() -> float:
    """Microseconds of a clock that only goes forward."""
    return time.perf_counter() * 1e6
