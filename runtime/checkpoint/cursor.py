"""What a checkpoint knows besides tensors: where the data stands, what was counted, what was left undone."""

from __future__ import annotations

from dataclasses import dataclass

from sexpgpu.runtime.artifact.codec import CodecError, decode
from sexpgpu.runtime.checkpoint.tensors import Written
from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.train.tally import Tally

KIND, SCHEMA = "sexpgpu.checkpoint", 1


class LaterCheckpoint(Exception):
    """Written by a later version of us."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A step whose update is done but whose line is not written, since a signal came during its evaluations."""

    line: dict[str, Json]
    evaluations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Best:
    """The checkpoint that is kept for its `value` (C99 hexadecimal text) of `metric`, as `--keep-best` names it."""

    metric: str
    step: int
    value: str


@dataclass(frozen=True, slots=True)
class Cursor:
    """`loaders` holds the loader's own cursor by stage, for stages that have been read from."""

    name: str
    source_sha256: str
    step: int
    seed: int
    microbatches: int
    tally: Tally
    loaders: dict[str, Json]
    unfinished: Unfinished | None
    seconds: float
    best: Best | None = None
    kind: str = KIND
    schema: int = SCHEMA

    @staticmethod
    def from_json(data: Json) -> Cursor:
        """Raises `CodecError` or `LaterCheckpoint`."""
        if not isinstance(data, dict) or data.get("kind") != KIND:
            raise CodecError("kind", f"`{KIND}` was expected")
        schema = data.get("schema")
        if type(schema) is int and schema > SCHEMA:
            raise LaterCheckpoint(str(schema))
        return _decode(data)


def _decode(data: dict[str, Json]) -> Cursor:
    # `Cursor` has a `from_json` of its own, which the codec would call again: it decodes fields, not itself.
    return decode(Cursor, data)


@dataclass(frozen=True, slots=True)
class Marker:
    """`complete.json`: the files of a checkpoint, name by name."""

    names: tuple[str, ...]
    written: tuple[Written, ...]

    def files(self) -> list[tuple[str, Written]]:
        return list(zip(self.names, self.written, strict=True))
