"""Checkpoints on the disk: `checkpoints/step-N/`, whole or not there.

    weights.safetensors     parameters and buffers, by name
    optimizer.safetensors   the optimizer's state (absent where it has none)
    cursor.json             everything else a resume needs
    complete.json           written last: the sizes and hashes of the others

A checkpoint is written under a temporary name, synced, and renamed when its marker stands. A folder without a marker,
or one whose files are not those the marker lists, is not a checkpoint; the one before it is taken.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from sexpgpu.runtime.artifact.codec import CodecError, decode, encode
from sexpgpu.runtime.artifact.manifest import StateTensor
from sexpgpu.runtime.checkpoint.cursor import Cursor, LaterCheckpoint, Marker
from sexpgpu.runtime.checkpoint.snapshot import Snapshot
from sexpgpu.runtime.checkpoint.tensors import BadTensors, Shape, TensorFile, Written, layers_of, same, write

WEIGHTS, OPTIMIZER, CURSOR, MARKER = "weights.safetensors", "optimizer.safetensors", "cursor.json", "complete.json"
_NAME = re.compile(r"step-(\d+)")


def file_of(tensor: StateTensor) -> str:
    return OPTIMIZER if tensor.role == "optimizer" else WEIGHTS


def save(folder: Path, snapshot: Snapshot) -> Path:
    """Writes `folder/step-N`. Raises `OSError`, also where the folder it lies in is gone.

    A whole one of that step stays as it is: the run that made it came to the same state. A damaged one is replaced.
    """
    cursor = snapshot.cursor
    folder.mkdir(exist_ok=True)
    final = folder / f"step-{cursor.step}"
    if final.exists():
        try:
            open_checkpoint(final)
            return final
        except (BadTensors, LaterCheckpoint):
            shutil.rmtree(final)
    temporary = folder / f".step-{cursor.step}.{os.getpid()}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        files = _write_state(temporary, snapshot)
        files[CURSOR] = _write_json(temporary / CURSOR, encode(cursor))
        _write_json(temporary / MARKER, encode(Marker(tuple(files), tuple(files.values()))))
        _sync(temporary)
        os.rename(temporary, final)
        _sync(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return final


def _write_state(folder: Path, snapshot: Snapshot) -> dict[str, Written]:
    """Both files, from one walk over the state."""
    groups: dict[str, tuple[list[Shape], list]] = {}
    for tensor, array in snapshot.tensors:
        shapes, arrays = groups.setdefault(file_of(tensor), ([], []))
        parts = layers_of(tensor)
        shapes.extend(parts)
        # A stack lies as its layers do, one after the other.
        arrays.extend(array.reshape(len(parts), *parts[0].shape))
    return {name: write(folder / name, shapes, arrays) for name, (shapes, arrays) in groups.items()}


def _write_json(path: Path, data: object) -> Written:
    text = (json.dumps(data, ensure_ascii=False, indent=1) + "\n").encode()
    with open(path, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return Written(len(text), hashlib.sha256(text).hexdigest())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def steps(folder: Path) -> list[int]:
    """The steps of which there is a folder with a marker, the newest first."""
    if not folder.is_dir():
        return []
    found = [int(m[1]) for p in folder.iterdir() if (m := _NAME.fullmatch(p.name)) and (p / MARKER).is_file()]
    return sorted(found, reverse=True)


def leftovers(folder: Path) -> list[Path]:
    """Folders of checkpoints that were never completed."""
    if not folder.is_dir():
        return []
    return [p for p in folder.iterdir() if p.name.startswith(".step-") or
            (_NAME.fullmatch(p.name) and not (p / MARKER).is_file())]


def prune(folder: Path, keep: int, best: int | None) -> None:
    """Removes all but the newest `keep` checkpoints and the `best` one, and what was never completed."""
    for step in steps(folder)[keep:]:
        if step == best:
            continue
        # Without its marker a half-removed folder is no checkpoint.
        (folder / f"step-{step}" / MARKER).unlink(missing_ok=True)
        shutil.rmtree(folder / f"step-{step}", ignore_errors=True)
    for path in leftovers(folder):
        shutil.rmtree(path, ignore_errors=True)


def open_checkpoint(path: Path) -> tuple[Cursor, dict[str, TensorFile]]:
    """The cursor and the tensor files of a checkpoint whose every byte is as it was written.

    Raises `BadTensors` with what is wrong, and `LaterCheckpoint` for one of a later version.
    """
    try:
        marker = decode(Marker, json.loads((path / MARKER).read_bytes()))
    except (OSError, ValueError, CodecError) as error:
        raise BadTensors(f"`{MARKER}` cannot be read") from error
    for name, written in marker.files():
        if name not in (WEIGHTS, OPTIMIZER, CURSOR) or not same(path / name, written):
            raise BadTensors(f"`{name}` is missing or was changed")
    try:
        cursor = Cursor.from_json(json.loads((path / CURSOR).read_bytes()))
        tensors = {name: TensorFile(path / name) for name, _ in marker.files() if name != CURSOR}
    except (OSError, ValueError, CodecError) as error:
        raise BadTensors(f"`{CURSOR}` cannot be understood: {error}") from error
    return cursor, tensors


def newest(folder: Path, skipped: Callable[[Path, str], None]) -> tuple[Path, Cursor, dict[str, TensorFile]] | None:
    """The newest whole checkpoint of a folder; `skipped` hears of every damaged one before it."""
    for step in steps(folder):
        path = folder / f"step-{step}"
        try:
            return path, *open_checkpoint(path)
        except BadTensors as error:
            skipped(path, str(error))
    return None
