"""A loader of made-up rows with the interface of `dataio.Loader`: the same rows for the same place, always."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from sexpgpu.runtime.dataio.spec import LoaderSpec
from sexpgpu.runtime.dtypes import DTYPES

ROWS = 22
"""Rows of a finite stage: five batches of four, and two rows more."""


@dataclass
class FakeBatch:
    arrays: dict[str, np.ndarray]
    records: int
    cursor: dict
    released: bool = False

    def release(self) -> None:
        assert not self.released
        self.released = True


@dataclass
class Stats:
    wait_ms: float = 0.0
    ready: int = 2
    bytes_read: int = 0
    rows: int = 0
    epoch: int = 0


@dataclass
class FakeLoader:
    spec: LoaderSpec
    stage: str = "main"
    seed: int = 0
    prefetch: int = 4
    partial: bool = False
    cursor: dict | None = None
    data_root: str | None = None
    rows: int = ROWS
    closed: bool = field(default=False)

    def __post_init__(self) -> None:
        self._position = self.cursor["position"] if self.cursor else 0
        self._infinite = next(s.infinite for s in self.spec.stages if s.name == self.stage)

    def row(self, number: int) -> dict[str, np.ndarray]:
        rng = np.random.default_rng([self.seed, len(self.stage), sum(self.stage.encode()), number])
        out = {}
        for f in self.spec.fields:
            kind = np.dtype(DTYPES[f.dtype].numpy)
            out[f.name] = (rng.normal(size=f.shape).astype(kind) if kind.kind == "f"
                           else rng.integers(0, 2 if kind.kind == "b" else 256, f.shape).astype(kind))
        return out

    def next(self) -> FakeBatch | None:
        n = self.spec.batch_size
        if not self._infinite:
            left = self.rows - self._position
            if left <= 0 or (left < n and not self.partial):
                return None
            n = min(n, left)
        rows = [self.row(self._position + i) for i in range(n)]
        self._position += n
        return FakeBatch({f.name: np.stack([r[f.name] for r in rows]) for f in self.spec.fields}, n,
                         {"position": self._position})

    def __len__(self) -> int:
        if self._infinite:
            raise TypeError("an infinite loader has no length")
        return math.ceil(self.rows / self.spec.batch_size) if self.partial else self.rows // self.spec.batch_size

    def stats(self) -> Stats:
        return Stats()

    def close(self) -> None:
        self.closed = True
