"""Cursors: where a loader is, as a small JSON object that any later process, with any number of ranks, continues from.

A cursor is absolute: seed, stage, epoch and the number of rows of that epoch's order that were handed over, by all
ranks together. What lies in the shuffle buffer follows from these (see docs/loader.md), so it is not stored. Where a
position does not tell which rows follow — files of unknown length, mixed sources, records left out — an *anchor* says
from where they are found again. The rest tells whether the data is the same: hashes of the fields and of the files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from sexpgpu.runtime.dataio.faults import error
from sexpgpu.runtime.dataio.sources import Source
from sexpgpu.runtime.dataio.spec import FieldSpec, Json

VERSION = 2
LARGEST = 1 << 60

Anchor: TypeAlias = "tuple[int, int, list[list[int]]]"
"""The stream's row from which it is found again, the row since which the mix counts, and for each source 12 numbers:
alive, rows taken, of them before that row, records left out, rows of an epoch, the epoch's first row; then of its place
the row, epoch, file, byte, record and line. -1 is "not known". (`native/engine/anchor.h`)"""

PARTS = ("alive", "taken", "base", "omitted", "epoch_rows", "epoch_first", "row", "epoch", "file", "offset", "record",
         "line")


@dataclass(frozen=True, slots=True)
class Identity:
    """What has to be the same for a position to mean the same rows. `rows` of an epoch are None where nobody knows, or
    where there are no epochs; `sources` tells the number of files of each."""

    stage: str
    rows: int | None
    shuffle: int
    fields: str
    files: str
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cursor:
    """`position` counts the rows of `epoch`'s order that were handed over. `rows` of an epoch may have been found out
    on the way. `omitted` records were left out so far, all in `counted_epoch`."""

    seed: int
    epoch: int
    position: int
    rows: int | None = None
    omitted: int = 0
    counted_epoch: int = 0
    anchor: Anchor | None = None


def identity_of(stage: str, shuffle: int, fields: Sequence[FieldSpec], sources: Sequence[Source],
                file_rows: Sequence[Sequence[int]], infinite: bool) -> Identity:
    """Files go by their names as written, so that data may move together with its base folder. Unknown rows are -1."""
    counts = [count for counts in file_rows for count in counts]
    endless_mix = infinite and any(source.weight is not None for source in sources)
    return Identity(
        stage, None if -1 in counts or endless_mix else sum(counts), shuffle if shuffle > 1 else 0,
        _hash([[f.name, f.column, f.dtype, list(f.shape)] for f in fields]),
        _hash([[source.weight, [[file.name, count] for file, count in zip(source.files, counts, strict=True)]]
               for source, counts in zip(sources, file_rows, strict=True)]),
        tuple(len(source.files) for source in sources),
    )


def to_json(cursor: Cursor, identity: Identity) -> dict[str, Json]:
    data: dict[str, Json] = {
        "version": VERSION, "seed": cursor.seed, "stage": identity.stage, "epoch": cursor.epoch,
        "position": cursor.position, "rows": cursor.rows, "shuffle": identity.shuffle, "fields": identity.fields,
        "files": identity.files,
    }
    if cursor.omitted or cursor.counted_epoch:
        data["omitted"] = [cursor.omitted, cursor.counted_epoch]
    if cursor.anchor is not None:
        row, since, sources = cursor.anchor
        data["anchor"] = {"row": row, "since": since,
                          "sources": [cast("Json", dict(zip(PARTS, source, strict=True))) for source in sources]}
    return data


def from_json(data: object, identity: Identity) -> Cursor:
    """The cursor in `data`, or E-DATA-010 (not a cursor), E-DATA-009 (a cursor of something else)."""
    if not isinstance(data, dict):
        raise error("E-DATA-010", f"a cursor is a JSON object, not {type(data).__name__}")
    values = cast("dict[object, object]", data)
    known = values.get("rows")
    counted_otherwise = known != identity.rows and known is not None and identity.rows is not None
    which_files = "another number of rows" if counted_otherwise else "other files"
    version = _integer(values, "version")
    if version != VERSION:
        raise error("E-DATA-010", f"the cursor has the version {version}, and this loader reads version {VERSION}")
    for key, wanted, what in (
        ("stage", identity.stage, "another stage"), ("shuffle", identity.shuffle, "another shuffle buffer"),
        ("fields", identity.fields, "other fields"), ("files", identity.files, which_files),
    ):
        if values.get(key) != wanted:
            raise error("E-DATA-009", f"the cursor was made with {what}",
                        notes=[f"the cursor says {values.get(key)!r}, this loader {wanted!r}"],
                        fix="resume with the data and the loader that the checkpoint was made with, or start without "
                            "its cursor")
    rows = None if values.get("rows") is None else _integer(values, "rows")
    omitted, counted_epoch = _omitted(values.get("omitted"))
    cursor = Cursor(_integer(values, "seed"), _integer(values, "epoch"), _integer(values, "position"), rows, omitted,
                    counted_epoch, _anchor(values.get("anchor"), identity))
    most = LARGEST if identity.rows is None else identity.rows
    most = most if rows is None else min(most, rows)
    if cursor.epoch < 0 or not 0 <= cursor.position <= most or (rows is not None and rows < 0):
        raise error("E-DATA-010", f"the cursor points to row {cursor.position} of epoch {cursor.epoch}, and an epoch "
                                  f"has {most if most < LARGEST else 'fewer'} rows")
    if cursor.epoch * max(most if most < LARGEST else 1, 1) > LARGEST:
        raise error("E-DATA-010", f"the cursor's epoch {cursor.epoch} is too large")
    if identity.rows is None and cursor.position > 0 and cursor.anchor is None:
        raise error("E-DATA-010", "the cursor has no anchor, and the rows of the files are not known")
    return cursor


def order_key(seed: int, stage: str) -> int:
    """The 64-bit key of all draws of a stage: the first eight bytes of a SHA-256, little-endian."""
    return int.from_bytes(hashlib.sha256(f"sexpgpu.order.1/{seed}/{stage}".encode()).digest()[:8], "little")


def _omitted(value: object) -> tuple[int, int]:
    if value is None:
        return 0, 0
    match value:
        case [int(count), int(epoch)] if 0 <= count <= LARGEST and 0 <= epoch <= LARGEST:
            return count, epoch
    raise error("E-DATA-010", "the cursor's `omitted` is not a number of records and an epoch")


def _anchor(value: object, identity: Identity) -> Anchor | None:
    """The anchor, with numbers that point nowhere refused."""
    if value is None:
        return None
    try:
        values = cast("dict[str, object]", value)
        row, since = values["row"], values["since"]
        listed = cast("list[dict[str, object]]", values["sources"])
        sources = [[source[part] for part in PARTS] for source in listed]
    except (TypeError, KeyError, IndexError):
        raise error("E-DATA-010", "the cursor's `anchor` lacks a part") from None
    for number in (row, since, *(number for source in sources for number in source)):
        if isinstance(number, bool) or not isinstance(number, int) or not -1 <= number <= LARGEST:
            raise error("E-DATA-010", "the cursor's `anchor` holds something else than numbers from -1 on")
    numbers = cast("list[list[int]]", sources)
    bounds = dict(zip(PARTS, range(len(PARTS)), strict=True))
    good = len(numbers) == len(identity.sources) and cast("int", row) >= 0 and cast("int", since) >= 0
    for source, files in zip(numbers, identity.sources, strict=False):
        least_zero = ("alive", "taken", "base", "omitted", "epoch_first", "row", "epoch", "record")
        good = good and all(source[bounds[part]] >= 0 for part in least_zero) and source[bounds["alive"]] <= 1
        good = good and source[bounds["file"]] <= files
    if not good:
        raise error("E-DATA-010", "the cursor's `anchor` points to no place in these files")
    return cast("int", row), cast("int", since), numbers


def _integer(values: dict[object, object], key: str) -> int:
    value = values.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise error("E-DATA-010", f"the cursor has no integer `{key}`")
    return value


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()[:16]
