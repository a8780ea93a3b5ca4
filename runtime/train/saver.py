"""When a checkpoint is due, and everything that belongs to taking one. Writing is a thread's; the loop pays a copy."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sexpgpu.runtime.checkpoint.cursor import Best, Cursor, Unfinished
from sexpgpu.runtime.checkpoint.snapshot import take
from sexpgpu.runtime.checkpoint.writer import Writer
from sexpgpu.runtime.folder import MetricLines, RunFolder, Status
from sexpgpu.runtime.options import seconds
from sexpgpu.runtime.session import Session
from sexpgpu.runtime.settings import Settings
from sexpgpu.runtime.train.feed import Feed
from sexpgpu.runtime.train.tally import Tally

LOOK_EVERY = 0.1
"""Seconds between two looks for a touched file: one costs as much as a small step's bookkeeping."""


class Saver:
    """Writes into the run's `checkpoints/`. `elapsed` gives the run's seconds so far, all sessions.

    One that is due while the writer has no room is put off until it has. Those that somebody waits for (the last one, a
    signal's) wait for all before them.
    """

    def __init__(self, folder: RunFolder, session: Session, settings: Settings, feed: Feed, lines: MetricLines,
                 status: Status, elapsed: Callable[[], float]) -> None:
        self._folder, self._session, self._settings = folder, session, settings
        self._feed, self._lines, self._status, self._elapsed = feed, lines, status, elapsed
        every = settings.checkpoint_every
        self._steps = every if isinstance(every, int) else None
        self._seconds = seconds(every) if isinstance(every, str) and every != "never" else None
        self._size = sum(tensor.bytes for tensor in session.manifest.state)
        self._asked = folder.save_now
        self._last_time = time.monotonic()
        self._last_step: int | None = None
        self._owed = False
        self._answers: int | None = None
        self._look = 0.0
        self._writer = Writer(folder.checkpoints, settings.keep, self._before_writing, self._written)
        self.newest: str | None = None
        self.spent = 0.0
        """Seconds the loop stood still for checkpoints, all together."""

    @property
    def written_seconds(self) -> float:
        """Seconds of writing, beside the loop."""
        return self._writer.seconds

    def due(self, step: int) -> bool:
        """Whether one is to be taken now: by steps, by time, or asked for. Raises what went wrong in writing."""
        self._writer.check()
        if self._steps is not None:
            self._owed |= step % self._steps == 0
        elif self._seconds is not None:
            self._owed |= time.monotonic() - self._last_time >= self._seconds
        if time.monotonic() >= self._look:
            self._look = time.monotonic() + LOOK_EVERY
            if self._answers is None and self._asked.exists():
                self._owed, self._answers = True, step
        return self._owed and self._writer.room(self._size)

    def saved_now(self, step: int) -> bool:
        return self._last_step == step

    def save(self, tally: Tally, unfinished: Unfinished | None, best: Best | None, *, wait: bool = False) -> None:
        """Takes a snapshot. With `wait` it is on the disk when this returns. Raises `OSError`."""
        begun = time.monotonic()
        if self._last_step != tally.step:
            if self._answers is not None:
                self._answers = tally.step
            manifest = self._session.manifest
            self._writer.put(take(Cursor(
                manifest.name, manifest.source.sha256, tally.step, self._settings.seed, self._settings.microbatches,
                tally.copy(), dict(self._feed.cursors), unfinished, self._elapsed(), best), self._session))
            self._last_step, self._last_time, self._owed = tally.step, time.monotonic(), False
        if wait:
            self._status.update({"state": "saving"})
            self._writer.wait()
            self._status.update({"checkpoint": self.newest})
        self.spent += time.monotonic() - begun

    def wait(self) -> None:
        self._writer.wait()

    def close(self) -> None:
        self._writer.close()

    # -- in the writer's thread ---------------------------------------------------------------------------------------

    def _before_writing(self) -> None:
        """Lines first, so that the checkpoint never claims more than is written."""
        self._folder.guard()
        self._lines.sync()

    def _written(self, path: Path) -> None:
        self.newest = str(path)
        if self._answers is not None and path.name == f"step-{self._answers}":
            with suppress(OSError):
                self._asked.unlink()
            self._answers = None
