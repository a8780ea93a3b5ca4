"""From the bytes of a manifest to its values. Whatever is wrong with them is one error that says where.

Keys that are not known are ignored: a newer writer of the same major version may add some.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NoReturn

from sexpgpu.diagnostics import one_of
from sexpgpu.runtime.dataio.encodings import ENCODINGS
from sexpgpu.runtime.dataio.faults import error
from sexpgpu.runtime.dataio.manifest.model import KIND, VERSION, Block, Manifest, Shard, revision_of, total
from sexpgpu.runtime.dataio.remote.address import scheme_of

_MOST_COUNT = 1 << 60


def parse_manifest(data: bytes | bytearray, name: str) -> Manifest:
    """The manifest in `data`; `name` is where it lies, for messages. Raises E-DATA-030 and -033."""
    return _Parser(name).manifest(data)


class _Parser:
    def __init__(self, name: str) -> None:
        self._name = name

    def manifest(self, data: bytes | bytearray) -> Manifest:
        try:
            # A byte-order mark is a leftover of an editor.
            root = json.loads(data.decode("utf-8-sig"), parse_constant=_no_constant)
        except UnicodeDecodeError as problem:
            self._wrong("", f"byte {problem.start} is not UTF-8")
        except RecursionError:
            self._wrong("", "it is nested too deeply")
        except ValueError as problem:
            self._wrong("", f"it is not JSON: {problem}")
        if not isinstance(root, dict) or root.get("kind") != KIND:
            self._wrong("", f'it is no JSON object with `"kind": "{KIND}"`')
        self._version(root.get("version"))
        splits = self._object(root.get("splits"), "splits")
        if not splits:
            self._wrong("splits", "it has no split")
        tables = {split: self._shards(value, f"splits.{split}") for split, value in splits.items()}
        if "revision" in root:
            self._revision(root["revision"], splits)
        found = root.get("name", "")
        return Manifest(found if isinstance(found, str) else "", tables)

    def _version(self, version: object) -> None:
        major = str(version).split(".")[0] if isinstance(version, (int, str)) and version is not True else ""
        if not major.isdecimal():
            self._wrong("version", "it is no version number")
        if int(major[:9]) != VERSION:
            raise error("E-DATA-033", f"`{self._name}` is a manifest of version {version}, and version {VERSION} is "
                                      "read here", fix="install a newer sexpgpu, or write the manifest again with this "
                                                       "one: `sexpc manifest`")

    def _shards(self, split: object, where: str) -> tuple[Shard, ...]:
        table = self._object(split, where)
        listed = table.get("shards")
        if not isinstance(listed, list):
            self._wrong(f"{where}.shards", "it is no list")
        shards = tuple(self._shard(item, f"{where}.shards[{i}]") for i, item in enumerate(listed))
        seen: dict[str, int] = {}
        for i, shard in enumerate(shards):
            if seen.setdefault(shard.uri, i) != i:
                self._wrong(f"{where}.shards[{i}].uri", f"`{shard.uri}` is listed twice, first as {seen[shard.uri]}")
        for key in ("records", "bytes"):
            stated, sum_ = self._count(table, key, where), total(getattr(shard, key) for shard in shards)
            if stated >= 0 and sum_ is not None and stated != sum_:
                self._wrong(f"{where}.{key}", f"it is {stated}, and the shards have {sum_} together")
        return shards

    def _shard(self, item: object, where: str) -> Shard:
        data = self._object(item, where)
        uri = self._text(data, "uri", where)
        if not uri:
            self._wrong(f"{where}.uri", "a shard has none")
        path = uri.split("://", 1)[-1]
        if ".." in path.split("/"):
            self._wrong(f"{where}.uri", f"`{uri}` leaves its folder with `..`")
        if scheme_of(uri) not in (None, "s3", "file"):
            self._wrong(f"{where}.uri", f"`{uri}` lies in a store that is not read")
        if "\0" in uri:
            self._wrong(f"{where}.uri", "it has a zero byte")
        encoding = self._text(data, "encoding", where)
        if encoding and encoding not in ENCODINGS:
            self._wrong(f"{where}.encoding", f"`{encoding}` is not one that is read; there is "
                                             f"{one_of(encoding, ENCODINGS)}")
        size, records = self._count(data, "bytes", where), self._count(data, "records", where)
        blocks = self._blocks(data.get("blocks"), size, records, f"{where}.blocks")
        return Shard(uri, encoding, size, sum(b.records for b in blocks) if blocks else records,
                     self._text(data, "etag", where).strip('"'), self._text(data, "sha256", where), blocks)

    def _blocks(self, listed: object, size: int, records: int, where: str) -> tuple[Block, ...]:
        if listed is None:
            return ()
        if not isinstance(listed, list):
            self._wrong(where, "it is no list")
        blocks: list[Block] = []
        first = end = 0
        for i, item in enumerate(listed):
            if not (isinstance(item, list) and len(item) == 4 and all(type(n) is int and 0 <= n < _MOST_COUNT
                                                                      for n in item)):
                self._wrong(f"{where}[{i}]", "it is no list of four counts: offset, length, first record, records")
            block = Block(*item)
            if block.first != first:
                self._wrong(f"{where}[{i}]", f"it begins with record {block.first}, and the next one is {first}")
            if block.offset < end:
                self._wrong(f"{where}[{i}]", f"it begins at byte {block.offset}, before the end of the one before it")
            first, end = first + block.records, block.offset + block.length
            blocks.append(block)
        if size >= 0 and end > size:
            self._wrong(where, f"they end at byte {end}, and the shard has {size} bytes")
        if records >= 0 and blocks and first != records:
            self._wrong(where, f"they hold {first} records, and the shard has {records}")
        return tuple(blocks)

    def _revision(self, stated: object, splits: Mapping[str, object]) -> None:
        tables = {name: self._object(split, "").get("shards") for name, split in splits.items()}
        if stated != (right := revision_of(tables)):  # type: ignore[arg-type]
            self._wrong("revision", f"it is {stated!r}, and that of its shards is {right!r}: they were changed",
                        "write the manifest again with `sexpc manifest`, or take the `revision` out")

    def _object(self, value: object, where: str) -> dict[str, object]:
        if not isinstance(value, dict):
            self._wrong(where, "it is no object")
        return value

    def _text(self, data: Mapping[str, object], key: str, where: str) -> str:
        value = data.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            self._wrong(f"{where}.{key}", "it is no text")
        return value

    def _count(self, data: Mapping[str, object], key: str, where: str) -> int:
        """A number of bytes or records, -1 where there is none."""
        value = data.get(key)
        if value is None:
            return -1
        if type(value) is not int or not 0 <= value < _MOST_COUNT:
            self._wrong(f"{where}.{key}", "it is no count")
        return value

    def _wrong(self, where: str, what: str, fix: str = "") -> NoReturn:
        raise error("E-DATA-030", f"`{self._name}` is not a data manifest that can be read",
                    notes=[f"`{where}`: {what}" if where else what],
                    fix=fix or "`sexpc manifest` writes one from files")


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"`{text}` is no number of JSON")
