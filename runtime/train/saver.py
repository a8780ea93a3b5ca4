"""When a checkpoint is due, and everything that belongs to taking one."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from sexpgpu.runtime.checkpoint.cursor import Cursor, Unfinished
from sexpgpu.runtime.checkpoint.store import prune, save
from sexpgpu.runtime.folder import MetricLines, Status
from sexpgpu.runtime.options import seconds
from sexpgpu.runtime.session import Session
from sexpgpu.runtime.settings import Settings
from sexpgpu.runtime.train.feed import Feed
from sexpgpu.runtime.train.tally import Tally


class Saver:
    """Writes into `folder` (the run's `checkpoints/`). `elapsed` gives the run's seconds so far, all sessions."""

    def __init__(self, folder: Path, session: Session, settings: Settings, feed: Feed, lines: MetricLines,
                 status: Status, elapsed: Callable[[], float]) -> None:
        self._folder, self._session, self._settings = folder, session, settings
        self._feed, self._lines, self._status, self._elapsed = feed, lines, status, elapsed
        every = settings.checkpoint_every
        self._steps = every if isinstance(every, int) else None
        self._seconds = seconds(every) if isinstance(every, str) and every != "never" else None
        self._last_time = time.monotonic()
        self._last_step: int | None = None
        self.newest: str | None = None
        self.spent = 0.0
        """Seconds spent writing, all together."""

    def due(self, step: int) -> bool:
        if self._steps is not None:
            return step % self._steps == 0
        return self._seconds is not None and time.monotonic() - self._last_time >= self._seconds

    def saved_now(self, step: int) -> bool:
        return self._last_step == step

    def save(self, tally: Tally, unfinished: Unfinished | None) -> None:
        """Lines first, so that the checkpoint never claims more than is written. Raises `OSError`."""
        if self._last_step == tally.step:
            return
        begun = time.monotonic()
        self._status.update({"state": "saving"})
        manifest = self._session.manifest
        self._lines.sync()
        path = save(self._folder, Cursor(
            manifest.name, manifest.source.sha256, tally.step, self._settings.seed, self._settings.microbatches, tally,
            dict(self._feed.cursors), unfinished, self._elapsed()), self._session)
        prune(self._folder, self._settings.keep)
        self._last_step, self._last_time = tally.step, time.monotonic()
        self.newest = str(path)
        self.spent += time.monotonic() - begun
        self._status.update({"state": "training", "checkpoint": self.newest}, now=True)
