"""What a loader tells about itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoaderStats:
    """`wait_ms` is the time spent waiting in `next`, `ready` the batches that could be had now, `bytes_read` what was
    read from files, `rows` this rank's rows handed over — all since the loader was made; `epoch` is the current one.
    `skipped` counts the bad records (or files) left out up to here, those before a resume included; `retries` how often
    S3 was asked again.
    """

    wait_ms: float
    ready: int
    bytes_read: int
    rows: int
    epoch: int
    skipped: int
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Omission:
    """A record that was left out; with `rest`, everything of its file from there on. Records count from 0."""

    file: str
    record: int
    rest: bool
    code: str
    reason: str
