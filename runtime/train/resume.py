"""Which checkpoint a run goes on from, and whether it may.

`auto` looks into the run folder and takes the newest whole checkpoint; damaged ones are skipped with a note. A path
names a checkpoint, a run folder or its `checkpoints/`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError
from sexpgpu.runtime.artifact.manifest import Manifest
from sexpgpu.runtime.checkpoint.cursor import Cursor, LaterCheckpoint
from sexpgpu.runtime.checkpoint.store import MARKER, file_of, newest, open_checkpoint, steps
from sexpgpu.runtime.checkpoint.tensors import BadTensors, Shape, TensorFile, read_state
from sexpgpu.runtime.checkpoint.weights import differences
from sexpgpu.runtime.session import Session

Found = tuple[Path, Cursor, dict[str, TensorFile]]


@dataclass(frozen=True, slots=True)
class Resume:
    """A checkpoint that fits the artifact."""

    path: Path
    cursor: Cursor
    files: dict[str, TensorFile]

    def restore(self, session: Session) -> None:
        """Puts the checkpoint's tensors into the session."""
        session.state_set({t.name: read_state(self.files[file_of(t)], t) for t in session.manifest.state})


def find(wanted: str, folder: Path, manifest: Manifest, seed: int | None, note: Callable[[str], None]) -> Resume | None:
    """`folder` is the run's `checkpoints/`; `seed` the one asked for on the command line, if any.

    Raises E-CKPT-001, -002, -003, -006 and E-RUN-010.
    """
    if wanted == "never":
        return None
    try:
        found = _in_folder(folder, note) if wanted == "auto" else _at(Path(wanted), note)
    except LaterCheckpoint as error:
        raise SexpError(Diagnostic("E-CKPT-006", f"the checkpoint was written by a later version (schema {error})",
                                   fix=Fix("install that version of sexpgpu"))) from error
    if found is None:
        return None
    path, cursor, files = found
    _check(path, cursor, files, manifest, seed)
    if cursor.source_sha256 != manifest.source.sha256:
        note(f"the experiment was changed since `{path}` was written; the tensors still fit")
    return Resume(path, cursor, files)


def _in_folder(folder: Path, note: Callable[[str], None]) -> Found | None:
    def skipped(path: Path, reason: str) -> None:
        note(f"`{path}` is damaged and was skipped: {reason}")

    found = newest(folder, skipped)
    if found is None and steps(folder):
        raise SexpError(Diagnostic("E-CKPT-002", f"every checkpoint in `{folder}` is damaged",
                                   fix=Fix("remove them to start over, or choose another `--out`")))
    return found


def _at(path: Path, note: Callable[[str], None]) -> Found:
    if (path / MARKER).is_file():
        try:
            return path, *open_checkpoint(path)
        except BadTensors as error:
            raise SexpError(Diagnostic("E-CKPT-002", f"the checkpoint `{path}` is damaged",
                                       notes=(str(error),))) from error
    for folder in (path / "checkpoints", path):
        found = _in_folder(folder, note)
        if found is not None:
            return found
    raise SexpError(Diagnostic("E-CKPT-001", f"`{path}` holds no complete checkpoint",
                               fix=Fix("name a run folder, or one of its checkpoints/step-N")))


def _check(path: Path, cursor: Cursor, files: dict[str, TensorFile], manifest: Manifest, seed: int | None) -> None:
    shapes: dict[str, Shape] = {}
    for file in files.values():
        shapes.update(file.shapes)
    notes = differences(manifest.state, shapes)
    counters = {c.name for c in manifest.counters}
    if not notes and set(cursor.tally.counters) != counters:
        notes = (f"its counters are {', '.join(sorted(cursor.tally.counters)) or 'none'}, the experiment's "
                 f"{', '.join(sorted(counters)) or 'none'}",)
    if notes:
        raise SexpError(Diagnostic("E-CKPT-003", f"`{path}` is not a checkpoint of this model", notes=notes,
                                   fix=Fix("choose another `--out`; `--init-from` takes weights alone")))
    if seed is not None and seed != cursor.seed:
        raise SexpError(Diagnostic("E-RUN-010", f"the run in `{path}` has the seed {cursor.seed}, not {seed}",
                                   fix=Fix("leave `--seed` out to go on, or choose another `--out` to start over")))
