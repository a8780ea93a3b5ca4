"""Batches for the loop: one loader a stage, opened when the stage is first entered, each with its own place.

The loader is `sexpgpu.runtime.dataio.Loader`; what is used of it stands in the protocols below, so that a test can put
another in its place.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from sexpgpu.runtime.dataio.spec import Json, LoaderSpec
from sexpgpu.runtime.signals import StopFlag

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Batch(Protocol):
    """Arrays by field name, `[rows] ++ shape`; `cursor` is the loader's place after this batch."""

    @property
    def arrays(self) -> Mapping[str, NDArray]: ...
    @property
    def records(self) -> int: ...
    @property
    def cursor(self) -> dict[str, Json]: ...
    def release(self) -> None: ...


class Stats(Protocol):
    """Of `dataio.LoaderStats`, what every loader has; the gauges below are looked for."""

    @property
    def ready(self) -> int: ...


GAUGES = {"ready": "ready", "bytes": "bytes_read", "retries": "retries", "skipped": "skipped"}
"""Names of metrics, `loader/…`, and the attributes of a loader's statistics that they show."""


class Loader(Protocol):
    """`next` gives None at the end of a finite loader; `len` is there for finite ones."""

    def next(self) -> Batch | None: ...
    def __len__(self) -> int: ...
    def stats(self) -> Stats: ...
    def close(self) -> None: ...


class OpenLoader(Protocol):
    """How a loader is opened; the signature of `dataio.Loader`. The last two are given only where bad data is left out.
    """

    def __call__(self, spec: LoaderSpec, *, stage: str, seed: int, prefetch: int, partial: bool,
                 cursor: dict[str, Json] | None, data_root: str | None, on_bad_data: str = "error",
                 bad_budget: int = 0) -> Loader: ...


class Listens(Protocol):
    """What a run wants to know of its loaders: that one was opened, and that it may have left something out."""

    def opened(self, stage: str, loader: Loader) -> None: ...
    def left_out(self, where: str, loader: Loader) -> None: ...


class Feed:
    """The training loaders by stage. `cursors` are those of a checkpoint, for the stages it had read from."""

    def __init__(self, open_loader: OpenLoader, spec: LoaderSpec, stages: tuple[str, ...], *, seed: int, prefetch: int,
                 data_root: str | None, cursors: Mapping[str, Json], stop: StopFlag,
                 listener: Listens | None = None) -> None:
        self._open, self._spec, self._stages = open_loader, spec, stages
        self._seed, self._prefetch, self._data_root = seed, prefetch, data_root
        self._loaders: dict[int, Loader] = {}
        self._read: dict[str, dict[str, Json]] = {}
        self.cursors: dict[str, dict[str, Json]] = {n: c for n, c in cursors.items() if isinstance(c, dict)}
        self._stop, self._listener = stop, listener
        self.waited = 0.0
        """Seconds spent waiting for batches, all together."""

    def loader(self, stage: int) -> Loader:
        loader = self._loaders.get(stage)
        if loader is None:
            name = self._stages[stage]
            with self._stop.interruptible():
                loader = self._open(self._spec, stage=name, seed=self._seed, prefetch=self._prefetch, partial=False,
                                    cursor=self.cursors.get(name), data_root=self._data_root)
            self._loaders[stage] = loader
            if self._listener is not None:
                self._listener.opened(name, loader)
        return loader

    def next(self, stage: int) -> Batch | None:
        """The next batch of a stage, or None at its end. Raises `Stopped` where a signal ends the wait."""
        loader = self.loader(stage)
        begun = time.perf_counter()
        with self._stop.interruptible():
            batch = loader.next()
        self.waited += time.perf_counter() - begun
        if batch is not None:
            self._read[self._stages[stage]] = batch.cursor
        if self._listener is not None:
            self._listener.left_out(self._stages[stage], loader)
        return batch

    def commit(self) -> None:
        """The step that read these batches is done: a checkpoint goes on behind them."""
        self.cursors.update(self._read)

    def gauges(self, stage: int) -> dict[str, Json]:
        """What `loader/…` shows of a stage."""
        stats = self._loaders[stage].stats() if stage in self._loaders else None
        return {name: getattr(stats, attribute) for name, attribute in GAUGES.items() if hasattr(stats, attribute)}

    def close(self) -> None:
        for loader in self._loaders.values():
            loader.close()
        self._loaders.clear()
