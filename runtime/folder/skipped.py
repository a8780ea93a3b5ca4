"""`skipped.jsonl`: what `--on-bad-data` has left out, a line each, with its place and the reason.

Lines of training are numbered by stage, as the loaders' cursors count them, so a resumed run drops those that it will
meet again. Evaluations read the same data in every pass; theirs are listed once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.replace import replace_file

if TYPE_CHECKING:
    from sexpgpu.runtime.dataio.report import Omission


class SkippedLines:
    """The file at `path`, which is there once a line is. `counts` are those of a checkpoint, by stage."""

    def __init__(self, path: Path, counts: Mapping[str, int]) -> None:
        self._path = path
        self._counts = dict(counts)
        self._seen: set[tuple[str, str, int]] = set()
        if path.exists():
            self._cut()

    def _cut(self) -> None:
        kept: list[bytes] = []
        for line in self._path.read_bytes().splitlines(keepends=True):
            try:
                data = json.loads(line)
                if "evaluation" in data:
                    self._seen.add((data["evaluation"], data["file"], data["record"]))
                elif data["number"] > self._counts.get(data["stage"], 0):
                    continue
            except (ValueError, KeyError, TypeError):
                continue  # half a line of a process that was killed
            kept.append(line)
        replace_file(self._path, b"".join(kept))

    def training(self, stage: str, omission: Omission) -> None:
        self._counts[stage] = self._counts.get(stage, 0) + 1
        self._write({"stage": stage, "number": self._counts[stage]}, omission)

    def evaluation(self, name: str, omission: Omission) -> None:
        key = (name, omission.file, omission.record)
        if key not in self._seen:
            self._seen.add(key)
            self._write({"evaluation": name}, omission)

    def _write(self, where: dict[str, Json], omission: Omission) -> None:
        line = {**where, "file": omission.file, "record": omission.record,
                "left_out": "the rest of the file" if omission.rest else "the record", "code": omission.code,
                "reason": omission.reason}
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
