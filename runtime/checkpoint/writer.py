"""Writes snapshots in a thread of its own, one after the other, in the order in which they were taken.

What waits is bounded: one snapshot of a large state, several of a small one. A failed write is told to the run at its
next look, and everything that waits behind it is dropped.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from sexpgpu.runtime.checkpoint.snapshot import Snapshot
from sexpgpu.runtime.checkpoint.store import prune, save

SMALL = 64 << 20
"""Bytes of snapshots that may wait, whatever the size of one."""

MOST = 64
"""Snapshots that may wait."""


class Writer:
    """Into `folder` (the run's `checkpoints/`), of which `keep` stay besides the best. `before` is called in the thread
    before anything of a snapshot is written, `written` with the path once it is complete."""

    def __init__(self, folder: Path, keep: int, before: Callable[[], None], written: Callable[[Path], None]) -> None:
        self._folder, self._keep, self._before, self._written = folder, keep, before, written
        self._waiting: deque[Snapshot] = deque()
        self._held = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._error: BaseException | None = None
        self.seconds = 0.0
        """Spent writing, all together."""

    def room(self, size: int) -> bool:
        """Whether a snapshot of `size` bytes may be taken now."""
        with self._changed:
            return not self._waiting or (len(self._waiting) < MOST and self._held + size <= SMALL)

    def put(self, snapshot: Snapshot) -> None:
        with self._changed:
            self._waiting.append(snapshot)
            self._held += snapshot.bytes
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="checkpoints", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def check(self) -> None:
        """Raises what went wrong, mostly an `OSError`."""
        if self._error is not None:
            raise self._error

    def wait(self) -> None:
        """Until everything is on the disk. Raises what went wrong."""
        with self._changed:
            while self._waiting and self._error is None:
                self._changed.wait()
        self.check()

    def close(self) -> None:
        """Writes what waits and ends the thread. Raises nothing: whoever cares has called `wait`."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                if not self._waiting:
                    return
                snapshot = self._waiting[0]   # stays there: it is in memory until it is written
            begun = time.perf_counter()
            try:
                self._before()
                path = save(self._folder, snapshot)
                prune(self._folder, self._keep, snapshot.cursor.best.step if snapshot.cursor.best else None)
                self._written(path)
            except BaseException as error:
                with self._changed:
                    self._error = error
                    self._waiting.clear()
                    self._changed.notify_all()
                return
            self.seconds += time.perf_counter() - begun
            with self._changed:
                self._waiting.popleft()
                self._held -= snapshot.bytes
                self._changed.notify_all()
