"""What a manifest says. docs/loader.md describes the format."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sexpgpu.runtime.dataio.spec import Json

KIND = "sexpgpu.manifest"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Block:
    """Records that can be decoded without those before them: `length` bytes at `offset`, from record `first` on."""

    offset: int
    length: int
    first: int
    records: int


@dataclass(frozen=True, slots=True)
class Shard:
    """One file. `uri` is absolute or relative to the manifest; -1, empty and () stand for what is not known."""

    uri: str
    encoding: str = ""
    bytes: int = -1
    records: int = -1
    etag: str = ""
    sha256: str = ""
    blocks: tuple[Block, ...] = ()

    def to_json(self) -> dict[str, Json]:
        data: dict[str, Json] = {"uri": self.uri}
        data |= {"encoding": self.encoding} if self.encoding else {}
        data |= {"bytes": self.bytes} if self.bytes >= 0 else {}
        data |= {"records": self.records} if self.records >= 0 else {}
        data |= {"etag": self.etag} if self.etag else {}
        data |= {"sha256": self.sha256} if self.sha256 else {}
        if self.blocks:
            data["blocks"] = [[b.offset, b.length, b.first, b.records] for b in self.blocks]
        return data


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the first record, as a hint for `(field …)`: nothing depends on it."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def field(self) -> str:
        """A name for the field, as names are written in the language."""
        return self.name.replace("_", "-")

    def form(self) -> str:
        """The field as an experiment declares it."""
        source = f' :from "{self.name}"' if self.field != self.name else ""
        shape = f" :shape [{' '.join(map(str, self.shape))}]" if self.shape else ""
        return f"(field :{self.field}{source} :dtype :{self.dtype}{shape})"

    def to_json(self) -> dict[str, Json]:
        return {"name": self.field, "column": self.name, "dtype": self.dtype, "shape": list(self.shape)}


@dataclass(frozen=True, slots=True)
class Manifest:
    """Splits by name, each a list of shards in reading order."""

    name: str
    splits: Mapping[str, tuple[Shard, ...]]
    columns: tuple[Column, ...] = ()

    @property
    def revision(self) -> str:
        """A hash of the tables of shards: another one means other data."""
        return revision_of({name: [shard.to_json() for shard in shards] for name, shards in self.splits.items()})

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": KIND, "version": VERSION, "name": self.name, "revision": self.revision,
            "fields": [column.to_json() for column in self.columns],
            "splits": {name: {"records": total(s.records for s in shards), "bytes": total(s.bytes for s in shards),
                              "shards": [shard.to_json() for shard in shards]}
                       for name, shards in self.splits.items()},
        }


def total(counts: Iterable[int]) -> int | None:
    """The sum; None where one of them is not known."""
    known = list(counts)
    return None if any(n < 0 for n in known) else sum(known)


def revision_of(tables: Mapping[str, Json]) -> str:
    text = json.dumps(tables, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
