"""A run folder as it lies there, written to or not: its manifest, status, summary, and how the run is.

Everything is read as what a stranger may have left: a part that is missing or damaged is empty.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError
from sexpgpu.runtime.dataio.spec import Json

KIND = "sexpgpu.run"
"""What a run folder's manifest says of itself."""

Facts = dict[str, Json]

ENDED = ("finished", "interrupted", "failed")
LONGEST = 1 << 26
"""Bytes of a line of metrics, or of a file of JSON, that are read: far more than any run writes."""

SILENT = 60.0
"""Seconds without a sign after which a run is said to be silent."""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """What is in a run folder now."""

    path: Path
    manifest: Facts
    status: Facts
    summary: Facts

    @property
    def name(self) -> str:
        return str(self.manifest.get("name") or self.status.get("name") or self.path.name)

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def settings(self) -> Facts:
        return facts(self.manifest.get("settings"))

    @property
    def artifact(self) -> Facts:
        """The artifact's own manifest."""
        return facts(self.manifest.get("manifest"))

    def state(self, now: float | None = None) -> str:
        """What the run says of itself; `dead` where its process is gone without a word, `silent` where it has given no
        sign for a minute: a very long step, or another machine that is gone."""
        state = str(self.status.get("state") or "unknown")
        if state in ENDED or not self.status:
            return state
        if self.status.get("host") == platform.node() and not _alive(self.status.get("pid")):
            return "dead"
        age = self.age(now)
        return "silent" if age is not None and age > SILENT else state

    def age(self, now: float | None = None) -> float | None:
        """Seconds since its last sign."""
        beat = self.status.get("heartbeat")
        if not isinstance(beat, int | float):
            return None
        return max(0.0, (time.time() if now is None else now) - beat)


def facts(value: Json) -> Facts:
    """`value` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def number(value: Json) -> float | None:
    """`value` where it is a number."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _alive(pid: Json) -> bool:
    if not isinstance(pid, int) or pid <= 0:
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def open_run(folder: str) -> RunFiles:
    """Raises E-RUN-035 where there is no run."""
    path = Path(folder)
    manifest, status = _read(path / "manifest.json"), _read(path / "status.json")
    if manifest.get("kind") != KIND and status.get("kind") != "sexpgpu.status":
        if not path.exists():
            what, fix = "is not there", "name the folder that `--out` named"
        elif not path.is_dir():
            what, fix = "is a file, not a run folder", "name the folder that `--out` named"
        else:
            what = "is not a run folder"
            inside = sorted(p.parent.name for p in _children(path))
            fix = f"it holds runs: `{path / inside[0]}`" if inside else "a run folder has a manifest.json and a " \
                "status.json"
        raise SexpError(Diagnostic("E-RUN-035", f"`{folder}` {what}", fix=Fix(fix)))
    return RunFiles(path, manifest, status, _read(path / "summary.json"))


def _children(path: Path) -> list[Path]:
    try:
        return list(path.glob("*/status.json"))
    except OSError:
        return []


def _read(path: Path) -> Facts:
    try:
        with open(path, "rb") as file:
            return facts(json.loads(file.read(LONGEST)))
    except (OSError, ValueError, RecursionError):
        return {}


def entries(path: Path, start: int = 0) -> Iterator[tuple[Facts, int]]:
    """The whole lines of a `metrics.jsonl` from the byte `start` on, each with where the next one begins. Lines that
    are no objects with a step are left out; half a line at the end is not yet one."""
    try:
        file = open(path, "rb")  # noqa: SIM115 (a folder that is not there is no error)
    except OSError:
        return
    with file:
        file.seek(start)
        while line := file.readline(LONGEST):
            if not line.endswith(b"\n"):
                return
            start += len(line)
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict) and type(entry.get("step")) is int:
                yield entry, start
