"""Claiming a run folder: making or finding it, locking it, and refusing it to a run that has no business there."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import time
from pathlib import Path

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError
from sexpgpu.runtime.artifact.manifest import Manifest
from sexpgpu.runtime.checkpoint.store import steps
from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.look.run import KIND
from sexpgpu.runtime.replace import remove_leftovers, replace_file


def default_name(name: str, now: float) -> Path:
    """`runs/<name>-<date>-<time>`, and a number where that is taken."""
    base = Path("runs") / f"{_file_name(name)}-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}"
    path, number = base, 1
    while path.exists():
        number += 1
        path = base.with_name(f"{base.name}-{number}")
    return path


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip(".-") or "run"


class RunFolder:
    """A folder that this process alone writes into, until `close`.

    Raises E-RUN-005 where it belongs to another experiment, to a running process, or holds a run that may not be
    overwritten, and `OSError` where the system says no.
    """

    def __init__(self, path: Path, manifest: Manifest, *, fresh: bool) -> None:
        self.path = path
        self._fresh = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            self._claim(manifest, fresh)
        except BaseException:
            os.close(self._lock)
            raise

    def _claim(self, manifest: Manifest, fresh: bool) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SexpError(Diagnostic("E-RUN-005", f"another process is writing into `{self.path}`",
                                       fix=Fix("wait for it, stop it, or choose another `--out`"))) from None
        owner = _owner(self.manifest)
        if owner is not None and owner != manifest.name:
            raise SexpError(Diagnostic("E-RUN-005", f"`{self.path}` holds a run of `{owner}`, not of `{manifest.name}`",
                                       fix=Fix("choose another `--out`")))
        if owner is None and any(self.path.glob("*.jsonl")):
            raise SexpError(Diagnostic("E-RUN-005", f"`{self.path}` is in use, and not by a run",
                                       fix=Fix("choose another `--out`")))
        remove_leftovers(self.path)
        if fresh and steps(self.checkpoints):
            raise SexpError(Diagnostic("E-RUN-005", f"`{self.path}` holds a run with checkpoints",
                                       fix=Fix("choose another `--out`, or go on with `--resume auto`")))

    @property
    def manifest(self) -> Path:
        return self.path / "manifest.json"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def save_now(self) -> Path:
        """A file that somebody touches to have a checkpoint taken; it is removed when that is written."""
        return self.path / "save-now"

    @property
    def skipped(self) -> Path:
        return self.path / "skipped.jsonl"

    @property
    def status(self) -> Path:
        return self.path / "status.json"

    @property
    def summary(self) -> Path:
        return self.path / "summary.json"

    def write_manifest(self, manifest: Manifest, artifact: str, settings: dict[str, Json], command: str,
                       provenance: dict[str, Json]) -> None:
        """The artifact's own manifest, what this run made of it and where. A summary of an earlier session goes."""
        self.summary.unlink(missing_ok=True)
        self._write(self.manifest, {
            "kind": KIND, "schema": 1, "name": manifest.name, "artifact": os.path.abspath(artifact),
            "command": command, "settings": settings, **provenance, "manifest": manifest.to_json(),
        })

    def write_summary(self, facts: dict[str, Json]) -> None:
        self._write(self.summary, {"kind": "sexpgpu.summary", "schema": 1, **facts})

    def _write(self, path: Path, data: dict[str, Json]) -> None:
        self.guard()
        replace_file(path, (json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode())

    def guard(self) -> None:
        """Raises `FileNotFoundError` where the folder was taken away, or another has come in its place: what is written
        by name would land among the files of somebody else's run."""
        if not self._is_ours():
            raise FileNotFoundError(errno.ENOENT, "the run folder was removed or replaced", str(self.path))

    def _is_ours(self) -> bool:
        try:
            return os.path.samestat(os.stat(self.path / ".lock"), os.fstat(self._lock))
        except OSError:
            return False

    def close(self) -> None:
        """Lets go of the folder. One that was made for a run that never began is taken away again."""
        if self._fresh and self._is_ours() and not self.manifest.exists():
            self.status.unlink(missing_ok=True)
            (self.path / ".lock").unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # somebody put something there
                self.path.rmdir()
        os.close(self._lock)


def _owner(path: Path) -> str | None:
    """The experiment's name in a run folder's manifest; None where there is no such thing."""
    try:
        data = json.loads(path.read_bytes())
        return str(data["name"]) if data.get("kind") == KIND else None
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
