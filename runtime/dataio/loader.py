"""The loader: batches of checked rows in one reproducible order, decoded ahead by threads of its own."""

from __future__ import annotations

import dataclasses
import os
import weakref
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio.batch import Batch, FieldView
from sexpgpu.runtime.dataio.core import Core, open_core
from sexpgpu.runtime.dataio.cursor import Cursor, from_json, identity_of, order_key, to_json
from sexpgpu.runtime.dataio.faults import error, looked_in
from sexpgpu.runtime.dataio.located import SourceFile
from sexpgpu.runtime.dataio.remote.address import is_s3
from sexpgpu.runtime.dataio.report import LoaderStats, Omission
from sexpgpu.runtime.dataio.sources import stage_named, stage_sources
from sexpgpu.runtime.dataio.spec import ON_BAD_DATA, Json, LoaderSpec
from sexpgpu.runtime.dtypes import DTYPES

if TYPE_CHECKING:
    from sexpgpu.runtime.dataio.remote.worker import Workers

DEFAULT_LOOKAHEAD = 64 << 20
"""Bytes of rows decoded ahead: enough for two row groups of usual size at once."""

DEFAULT_BUDGET = 100
"""Bad records (or files) left out before a run ends."""


class Loader:
    """Reads one stage of `spec`.

    Args:
        spec: fields, stages and the batch size, which is the number of rows a *rank* gets in a batch.
        stage: the stage's name.
        seed: together with the stage and the epoch it fixes the order of a shuffled stage.
        rank, world: this process among all; rank r gets rows r*B … (r+1)*B of each run of world*B rows of the order.
        threads: of the loader's own, at least 1; they change the speed and nothing else.
        prefetch: batches kept ready.
        partial: whether a finite stage ends with a short batch (`records` tells its rows) or drops it.
        cursor: where to begin, a `Batch.cursor` or `state()`; its seed takes the place of `seed`.
        data_root: takes the place of `spec.base`, the folder that relative paths resolve against.
        lookahead: bytes of rows that may be decoded ahead of the batches.
        on_bad_data: `error`; `skip-record` leaves out records that do not fit the fields; `skip-file` leaves out the
            rest of a file that holds one or is damaged.
        bad_budget: how many records (or files) may be left out before it is an error all the same.

    Raises:
        SexpError: E-DATA or E-STORE, at once for what the files' heads tell, from `next` for what is in their rows.
    """

    def __init__(self, spec: LoaderSpec, *, stage: str = "main", seed: int = 0, rank: int = 0, world: int = 1,
                 threads: int = 2, prefetch: int = 4, partial: bool = False, cursor: dict[str, Json] | None = None,
                 data_root: str | os.PathLike[str] | None = None, lookahead: int = DEFAULT_LOOKAHEAD,
                 on_bad_data: str = "error", bad_budget: int = DEFAULT_BUDGET) -> None:
        if not 0 <= rank < world:
            raise ValueError(f"rank {rank} is not in a world of {world}")
        if threads < 1 or prefetch < 1 or lookahead < 1 or spec.batch_size < 1:
            raise ValueError("threads, prefetch, lookahead and the batch size are at least 1")
        if on_bad_data not in ON_BAD_DATA or bad_budget < 0:
            raise ValueError(f"on_bad_data is one of {', '.join(ON_BAD_DATA)}, and its budget 0 or more")
        self._stage = stage_named(spec, stage)
        base = spec.base if data_root is None else os.fspath(data_root)
        try:
            sources = stage_sources(self._stage, base)
        except SexpError as missing:
            raise looked_in(missing, base) from None
        self._batch = spec.batch_size
        self._stride = spec.batch_size * world
        self._partial = partial
        self._far = _far_store(file for source in sources for file in source.files)
        try:
            self._core: Core = open_core(
                [[dataclasses.astuple(file) for file in source.files] for source in sources],
                [(f.name, f.column, f.dtype, list(f.shape)) for f in spec.fields],
                spec.batch_size, world, rank, self._stage.shuffle, partial, threads, prefetch, lookahead,
                [source.weight for source in sources if source.weight is not None], self._stage.infinite,
                ON_BAD_DATA.index(on_bad_data), bad_budget, None if self._far is None else self._far.queue)
        except BaseException as problem:
            if self._far is not None:
                self._far.close()
            if isinstance(problem, SexpError):
                raise looked_in(problem, base) from None
            raise
        self._pid = os.getpid()
        # Joins the threads when the loader is collected, and at the interpreter's exit at the latest.
        self._finalizer = weakref.finalize(self, _stop, self._core, self._far, self._pid)
        self._identity = identity_of(stage, self._stage.shuffle, spec.fields, sources, self._core.file_rows,
                                     self._stage.infinite)
        self._rows = self._identity.rows
        self._check_rows(world)
        self._views = tuple(
            FieldView(f.name, offset, np.dtype(DTYPES[f.dtype].numpy), (spec.batch_size, *f.shape))
            for f, offset in zip(spec.fields, self._core.offsets, strict=True))
        self._wait_ms = 0.0
        self._handed = 0
        self._begin(Cursor(seed, 0, 0, self._rows) if cursor is None else from_json(cursor, self._identity))

    def __iter__(self) -> Iterator[Batch]:
        """Goes on from where the loader is; `rewind` starts a new pass."""
        while (batch := self.next()) is not None:
            yield batch

    def next(self) -> Batch | None:
        """The next batch, or None when a finite stage has ended. Waits; Ctrl-C interrupts the wait."""
        self._check_usable()
        lease, waited = self._core.next()
        self._wait_ms += waited
        if lease is None:
            return None
        epoch, position, rows, omitted, anchor = lease.after
        self._cursor = Cursor(self._cursor.seed, epoch, position, None if rows < 0 else rows, omitted,
                              self._cursor.counted_epoch, anchor)
        self._handed += lease.records
        return Batch(lease, self._views, to_json(self._cursor, self._identity))

    def state(self) -> dict[str, Json]:
        """The cursor after the last batch handed over, or where the loader began."""
        return to_json(self._cursor, self._identity)

    def restore(self, cursor: dict[str, Json]) -> None:
        """Goes to a cursor, backward or forward; batches decoded ahead are dropped."""
        self._check_usable()
        self._begin(from_json(cursor, self._identity))

    def rewind(self, epoch: int = 0) -> None:
        """Goes to the start of an epoch: for a new pass over a finite stage."""
        self._check_usable()
        self._begin(Cursor(self._cursor.seed, epoch, 0, self._rows, 0, epoch))

    def __len__(self) -> int:
        """The batches of a whole pass over a finite stage, the same on every rank. At most that, where bad records are
        left out."""
        return self._batches(self._finite_rows())

    @property
    def remaining(self) -> int:
        """The batches of a finite stage that are still to come, the same on every rank."""
        return self._batches(self._finite_rows() - self._cursor.position)

    @property
    def rows(self) -> int | None:
        """The rows of one epoch, all ranks together; None while nobody knows: in infinite stages of other encodings
        than Parquet, without a manifest. (Finite stages are counted when the loader is made.) A mix that never ends has
        no epochs."""
        return self._cursor.rows if self._rows is None else self._rows

    @property
    def dropped(self) -> int:
        """How many rows at the end of a finite pass no batch holds."""
        return 0 if self._stage.infinite or self._partial else self._finite_rows() % self._stride

    def stats(self) -> LoaderStats:
        self._check_usable()
        return LoaderStats(self._wait_ms, self._core.ready, self._core.bytes_read, self._handed,
                           self._cursor.epoch, self._cursor.omitted,
                           0 if self._far is None else self._far.retries)

    def take_omissions(self) -> list[Omission]:
        """The records that were left out since the last call, in the order in which they stand in the data. Batches
        that are decoded ahead may have met more of them than `stats().skipped` counts."""
        self._check_usable()
        return [Omission(*omission) for omission in self._core.take_omissions()]

    def memory_bound(self) -> int:
        """Bytes the loader holds at most while the caller holds one batch; docs/loader.md gives the sum."""
        return self._core.memory_bound()

    def close(self) -> None:
        """Ends and joins the threads. Batches handed over stay valid. Closing twice is no error."""
        self._finalizer()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self, cursor: Cursor) -> None:
        cursor = self._normal(cursor)
        rows = self._core.rows
        if rows < 0 and cursor.rows is not None:
            # Rows that were counted, and not found by reading, may turn out fewer: unless all were read already.
            read = cursor.anchor is not None or cursor.epoch > 0 or (
                cursor.position > 0 and cursor.position + max(self._stage.shuffle, 1) > cursor.rows)
            rows = cursor.rows if read and (self._stage.infinite or cursor.position > 0) else -1
        self._cursor = cursor
        self._core.start(order_key(cursor.seed, self._stage.name), cursor.epoch, cursor.position, rows, cursor.omitted,
                         cursor.counted_epoch, cursor.anchor)
        if self._far is not None:
            self._far.hang_up()

    def _normal(self, cursor: Cursor) -> Cursor:
        """An infinite stage's end of an epoch is the beginning of the next one, where nothing else has to be known."""
        if self._stage.infinite and self._core.seekable and cursor.position == self._rows:
            return Cursor(cursor.seed, cursor.epoch + 1, 0, cursor.rows)
        return cursor

    def _finite_rows(self) -> int:
        if self._stage.infinite or self._rows is None:
            raise TypeError("an infinite stage has no number of batches")
        return self._rows

    def _batches(self, rows: int) -> int:
        return -(-rows // self._stride) if self._partial else rows // self._stride

    def _check_rows(self, world: int) -> None:
        if self._rows is None:
            # The rest is found out on the way; -1 is a file that was not counted.
            if any(all(count == 0 for count in counts) for counts in self._core.file_rows):
                raise error("E-DATA-008", f"the files of a source of the stage `{self._stage.name}` hold no rows")
            return
        if self._rows == 0:
            raise error("E-DATA-008", f"the files of the stage `{self._stage.name}` hold no rows")
        if self._rows < self._stride and not (self._partial and not self._stage.infinite):
            ranks = f" on each of {world} ranks" if world > 1 else ""
            raise error("E-DATA-007", f"a batch has {self._batch} rows{ranks}, and the stage `{self._stage.name}` has "
                                      f"{self._rows} in all", fix="lower `:batch-size`, or add data")

    def _check_usable(self) -> None:
        if os.getpid() != self._pid:
            raise error("E-DATA-013", f"the loader was made by process {self._pid} and is used by {os.getpid()}",
                        fix="make the loader in the process that reads it, after the fork")
        if not self._finalizer.alive:
            raise ValueError("the loader is closed")


def _far_store(files: Iterable[SourceFile]) -> Workers | None:
    """Threads for the files that lie in S3, where there are any."""
    if not any(is_s3(f.path) for f in files):
        return None
    from sexpgpu.runtime.dataio.remote.worker import Workers

    return Workers()


def _stop(core: Core, far: Workers | None, pid: int) -> None:
    """In a forked child the threads do not exist, so there is nothing to join."""
    if os.getpid() != pid:
        return
    core.stop()
    if far is not None:
        far.close()
