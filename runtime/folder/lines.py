"""`metrics.jsonl`: one JSON object a line, in the order of steps, each on the disk's side of the process at once.

A number that is not finite is `null`, since JSON has no other word for it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path

from sexpgpu.runtime.dataio.spec import Json

VOLATILE = ("time", "time/", "rate/", "loader/", "memory/")
"""How names begin whose values differ from run to run: everything else is the same after a resume, bit for bit."""


class MetricLines:
    """The open file. `resume_before` keeps the lines of earlier steps and drops that step's and later ones."""

    def __init__(self, path: Path, resume_before: int | None) -> None:
        self._path = path
        if resume_before is None:
            path.write_bytes(b"")
        else:
            self._cut(resume_before)
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115 (closed by `close`)

    def _cut(self, step: int) -> None:
        """What a killed process left may end in half a line; that goes too."""
        kept = bytearray()
        for line in self._path.read_bytes().splitlines(keepends=True) if self._path.exists() else []:
            try:
                data = json.loads(line)
                before = line.endswith(b"\n") and isinstance(data, dict) and data["step"] < step
            except (ValueError, KeyError, TypeError):
                before = False
            if not before:
                break
            kept += line
        temporary = self._path.with_name(f".{self._path.name}.tmp")
        temporary.write_bytes(kept)
        os.replace(temporary, self._path)

    def write(self, line: Mapping[str, Json]) -> None:
        self._file.write(_ENCODE(finite(line)).encode() + b"\n")

    def sync(self) -> None:
        """On the disk: a checkpoint that says "written up to here" comes after this."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(", ", ": ")).encode


def finite(line: Mapping[str, Json]) -> dict[str, Json]:
    """`line` with null for what is not finite."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in line.items()}
