"""Phases with their seconds on a terminal; silence everywhere else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

_TICK = 0.5


class Progress:
    """One line, rewritten: the phase in progress and how long it has taken."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shows = stream.isatty()

    @contextmanager
    def phase(self, name: str | Callable[[], str]) -> Iterator[None]:
        """Shows `name`, or what it says at the time, with its running seconds while the block runs."""
        if not self._shows:
            yield
            return
        done = threading.Event()
        thread = threading.Thread(target=self._tick, args=(name, done), daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            self.clear()

    def clear(self) -> None:
        if self._shows:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _tick(self, name: str | Callable[[], str], done: threading.Event) -> None:
        started = time.perf_counter()
        while not done.is_set():
            shown = name if isinstance(name, str) else name()
            self._stream.write(f"\r\x1b[K{shown} … {time.perf_counter() - started:.1f} s")
            self._stream.flush()
            done.wait(_TICK)
