"""`status.json`: where the run is now, for people and for monitors; replaced in one step, so a reader never sees half.

`heartbeat` is the time of the last pass through a loop. One that is old while `state` says `training` means a step
that takes long, or a process that is gone.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.folder.lines import finite
from sexpgpu.runtime.replace import replace_file

INTERVAL = 1.0
"""Seconds between two writings, at least; a change of state is written at once."""


class Status:
    """Gathers what is known and writes it when it is due."""

    def __init__(self, path: Path, facts: Mapping[str, Json], guard: Callable[[], None] = lambda: None) -> None:
        """`guard` raises `OSError` where the folder is no longer this process's."""
        self._path, self._guard = path, guard
        self._facts: dict[str, Json] = {"kind": "sexpgpu.status", "state": "starting", "pid": os.getpid(),
                                        "host": platform.node(),
                                        "started": time.time(), **facts}
        self._due = 0.0
        self.write()

    def due(self) -> bool:
        """Whether `update` would write: what costs something to find out need not be found out before."""
        return time.monotonic() >= self._due

    def update(self, facts: Mapping[str, Json], *, now: bool = False) -> None:
        """Writes at most once a second, unless `now`."""
        changed = "state" in facts and facts["state"] != self._facts["state"]
        self._facts.update(facts)
        if now or changed or self.due():
            self.write()

    def write(self) -> None:
        self._due = time.monotonic() + INTERVAL
        self._facts["heartbeat"] = time.time()
        shown = {k: finite(v) if isinstance(v, dict) else v for k, v in finite(self._facts).items()}
        self._guard()
        replace_file(self._path, (json.dumps(shown, ensure_ascii=False, indent=1) + "\n").encode(), durable=False)
