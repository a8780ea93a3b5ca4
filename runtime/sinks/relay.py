"""Between the loop and the sinks: a queue and a thread, so that no step waits for a disk or a server.

A sink that fails is left out from then on, with one note; `metrics.jsonl` has everything. What waits is bounded: past
`ROOM` lines the newest are not passed on, and that is said too.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError
from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.sinks.sink import Kind, Line, Opening, Sink, line_from

ROOM = 20_000
"""Lines that may wait: some tens of megabytes."""

CLOSING = 60.0
"""Seconds that the end of a run waits for what is still on its way."""


class Relay:
    """Opens the sinks (E-RUN-031 where one says no), then passes on what it is given until `close`."""

    def __init__(self, kinds: Sequence[Kind], opening: Opening, note: Callable[[str], None]) -> None:
        self._note = note
        self._sinks: dict[str, Sink] = {}
        for kind in kinds:
            try:
                self._sinks[kind.name] = kind.open(opening)
            except Exception as error:  # of whatever kind their packages raise
                self._close("failed")
                raise SexpError(Diagnostic(
                    "E-RUN-031", f"the sink `{kind.name}` cannot be opened", notes=(_reason(error),),
                    fix=Fix(f"leave `{kind.name}` out of `--sinks`, or set it to work offline"))) from error
        self._queue: queue.Queue[Line | None] = queue.Queue(ROOM)
        self._lost = 0
        self._state = "failed"
        self._thread: threading.Thread | None = None
        if self._sinks:
            self._thread = threading.Thread(target=self._work, name="sinks", daemon=True)
            self._thread.start()

    def write(self, entry: Mapping[str, Json]) -> None:
        """A line as `metrics.jsonl` gets it. Never blocks."""
        if self._thread is None:
            return
        try:
            self._queue.put_nowait(line_from(entry))
        except queue.Full:
            if not self._lost:
                self._note("the sinks do not keep up: lines are left out there, metrics.jsonl has them all")
            self._lost += 1

    def close(self, state: str) -> None:
        """Passes on what waits, then closes every sink."""
        if self._thread is None:
            return
        self._state = state
        thread, self._thread = self._thread, None
        while True:  # the end of the queue goes in even where it is full
            try:
                self._queue.put_nowait(None)
                break
            except queue.Full:
                if not thread.is_alive():
                    return
                thread.join(0.05)
        thread.join(CLOSING)
        if thread.is_alive():
            self._note(f"the sinks did not finish within {CLOSING:.0f} s; metrics.jsonl has everything")

    def _work(self) -> None:
        ended = False
        while not ended:
            lines: list[Line] = []
            item = self._queue.get()
            while item is not None:
                lines.append(item)
                if self._queue.empty() or len(lines) >= 1000:
                    break
                item = self._queue.get()
            ended = item is None
            if lines:
                self._each(lambda sink, batch=lines: sink.write(batch))
        self._close(self._state)

    def _each(self, do: Callable[[Sink], None]) -> None:
        for name, sink in list(self._sinks.items()):
            try:
                do(sink)
            except Exception as error:
                del self._sinks[name]
                self._note(f"the sink `{name}` is left out from here on: {_reason(error)}")

    def _close(self, state: str) -> None:
        self._each(lambda sink: sink.close(state))


def _reason(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]
