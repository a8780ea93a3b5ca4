"""`metrics.jsonl`: one JSON object a line, in the order of steps, each on the disk's side of the process at once.

A number that is not finite is `null`, since JSON has no other word for it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from sexpgpu.runtime.dataio.spec import Json

VOLATILE = ("time", "time/", "rate/", "loader/", "memory/")
"""How names begin whose values differ from run to run: everything else is the same after a resume, bit for bit."""


class MetricLines:
    """The open file. `resume_before` keeps the lines of earlier steps and drops that step's and later ones. `also`
    hears of every line once it stands in the file."""

    def __init__(self, path: Path, resume_before: int | None,
                 also: Callable[[Mapping[str, Json]], None] = lambda line: None) -> None:
        self._path, self._also = path, also
        if resume_before is None:
            path.write_bytes(b"")
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115 (closed by `close`)
        if resume_before is not None:
            self.cut(resume_before)
        self._end = os.fstat(self._file.fileno()).st_size

    def cut(self, step: int) -> None:
        """Takes away the lines from that step on: they are written again. What a killed process left may end in half
        a line; that goes too. What stays is the file's beginning, so it is cut in one step."""
        kept = 0
        with open(self._path, "rb") as file:
            for line in file:
                try:
                    data = json.loads(line)
                    before = line.endswith(b"\n") and isinstance(data, dict) and data["step"] < step
                except (ValueError, KeyError, TypeError):
                    before = False
                if not before:
                    break
                kept += len(line)
        os.ftruncate(self._file.fileno(), kept)
        self._end = kept

    def write(self, line: Mapping[str, Json]) -> None:
        """The whole line or, with an `OSError`, nothing of it: a full disk takes what fits."""
        data = _ENCODE(finite(line)).encode() + b"\n"
        try:
            left = memoryview(data)
            while left:
                left = left[self._file.write(left):]
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file.fileno(), self._end)
            raise
        self._end += len(data)
        self._also(line)

    def sync(self) -> None:
        """On the disk: a checkpoint that says "written up to here" comes after this."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(", ", ": ")).encode


def finite(line: Mapping[str, Json]) -> dict[str, Json]:
    """`line` with null for what is not finite."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in line.items()}
