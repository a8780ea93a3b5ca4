"""Cursors: where a loader is, as a small JSON object that any later process, with any number of ranks, continues from.

A cursor is absolute: seed, stage, epoch and the number of rows of that epoch's order that were handed over, by all
ranks together. What lies in the shuffle buffer follows from these (see docs/loader.md), so it is not stored. The rest
tells whether the data is the same: hashes of the fields and of the files with their row counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sexpgpu.runtime.dataio.faults import error
from sexpgpu.runtime.dataio.spec import FieldSpec, Json

VERSION = 1


@dataclass(frozen=True, slots=True)
class Identity:
    """What has to be the same for a position to mean the same rows. `rows` is the number of rows in an epoch."""

    stage: str
    rows: int
    shuffle: int
    fields: str
    files: str


@dataclass(frozen=True, slots=True)
class Cursor:
    """`position` counts the rows of `epoch`'s order that were handed over."""

    seed: int
    epoch: int
    position: int


def identity_of(stage: str, shuffle: int, fields: Sequence[FieldSpec], files: Sequence[str],
                file_rows: Sequence[int]) -> Identity:
    """`files` are the paths as written, so that data may move together with its base folder."""
    return Identity(
        stage, sum(file_rows), shuffle if shuffle > 1 else 0,
        _hash([[f.name, f.column, f.dtype, list(f.shape)] for f in fields]),
        _hash([[name, rows] for name, rows in zip(files, file_rows, strict=True)]),
    )


def to_json(cursor: Cursor, identity: Identity) -> dict[str, Json]:
    return {
        "version": VERSION, "seed": cursor.seed, "stage": identity.stage, "epoch": cursor.epoch,
        "position": cursor.position, "rows": identity.rows, "shuffle": identity.shuffle,
        "fields": identity.fields, "files": identity.files,
    }


def from_json(data: object, identity: Identity) -> Cursor:
    """The cursor in `data`, or E-DATA-010 (not a cursor), E-DATA-009 (a cursor of something else)."""
    if not isinstance(data, dict):
        raise error("E-DATA-010", f"a cursor is a JSON object, not {type(data).__name__}")
    values = cast("dict[object, object]", data)
    version = _integer(values, "version")
    if version != VERSION:
        raise error("E-DATA-010", f"the cursor has the version {version}, and this loader reads version {VERSION}")
    for key, wanted, what in (
        ("stage", identity.stage, "another stage"), ("shuffle", identity.shuffle, "another shuffle buffer"),
        ("rows", identity.rows, "another number of rows"), ("fields", identity.fields, "other fields"),
        ("files", identity.files, "other files"),
    ):
        if values.get(key) != wanted:
            raise error("E-DATA-009", f"the cursor was made with {what}",
                        notes=[f"the cursor says {values.get(key)!r}, this loader {wanted!r}"],
                        fix="resume with the data and the loader that the checkpoint was made with, or start without "
                            "its cursor")
    cursor = Cursor(_integer(values, "seed"), _integer(values, "epoch"), _integer(values, "position"))
    if cursor.epoch < 0 or not 0 <= cursor.position <= identity.rows:
        raise error("E-DATA-010", f"the cursor points to row {cursor.position} of epoch {cursor.epoch}, and an epoch "
                                  f"has {identity.rows} rows")
    return cursor


def order_key(seed: int, stage: str) -> int:
    """The 64-bit key of all draws of a stage: the first eight bytes of a SHA-256, little-endian."""
    return int.from_bytes(hashlib.sha256(f"sexpgpu.order.1/{seed}/{stage}".encode()).digest()[:8], "little")


def _integer(values: dict[object, object], key: str) -> int:
    value = values.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise error("E-DATA-010", f"the cursor has no integer `{key}`")
    return value


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()[:16]
