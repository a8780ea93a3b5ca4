"""Shared by the loader's tests: small Parquet files, specs, and a model of the order in plain Python."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sexpgpu.diagnostics import Diagnostic, SexpError
from sexpgpu.runtime.dataio import Batch, FieldSpec, FilesSource, Loader, LoaderSpec, StageSpec

DTYPES = ("f32", "bf16", "f16", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool")


FOR_EVER = 300.0
"""Seconds that something hangs which only the loader's own doing ends."""
SOON = 30.0
"""Seconds that no machine needs, however busy, for what does not wait for the above. How long it takes on a quiet one
is a figure, not a test: `bench/interrupt.py`."""


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def no_thread_is_left_but(before: int) -> bool:
    """The kernel counts a thread that was joined for a moment more."""
    until = time.monotonic() + SOON
    while threads() > before and time.monotonic() < until:
        time.sleep(0.01)
    return threads() <= before


@contextmanager
def soon() -> Iterator[None]:
    """The block waits for nothing that takes for ever."""
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < SOON


@contextmanager
def interrupted(when: Callable[[], bool]) -> Iterator[None]:
    """Ctrl-C when the block has begun and `when` holds; the block ends by it."""
    done = threading.Event()

    def interrupt() -> None:
        while not done.wait(0.1):
            if when():
                return os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with soon(), pytest.raises(KeyboardInterrupt):
            yield
    finally:
        done.set()
        thread.join()


def write(path: Path, columns: dict[str, pa.Array] | pa.Table, **options: object) -> Path:
    """One Parquet file; `options` are `write_table`'s."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    pq.write_table(table, path, **options)
    return path


def write_ids(folder: Path, groups: Sequence[Sequence[int]], width: int = 2) -> list[str]:
    """Files whose row groups have the given sizes; row i of the stream is `[i, i, …]` in `ids`, and `i` in `id`."""
    names = []
    at = 0
    schema = pa.schema([("id", pa.int64()), ("ids", pa.list_(pa.int64()))])
    for number, sizes in enumerate(groups):
        name = f"part-{number}.parquet"
        with pq.ParquetWriter(folder / name, schema) as writer:
            for size in sizes:
                ids = np.arange(at, at + size, dtype=np.int64)
                lists = pa.ListArray.from_arrays(np.arange(size + 1, dtype=np.int32) * width, np.repeat(ids, width))
                writer.write_table(pa.table([pa.array(ids), lists], schema=schema), row_group_size=max(size, 1))
                at += size
        names.append(name)
    return names


def make_spec(folder: Path, names: Sequence[str], *fields: FieldSpec, batch: int = 1, shuffle: int = 0,
              infinite: bool = False) -> LoaderSpec:
    return LoaderSpec(fields, (StageSpec("main", (FilesSource(tuple(names), "parquet"),), shuffle, infinite),), batch,
                      str(folder))


ID_FIELDS = (FieldSpec("id", "id", "i64", ()), FieldSpec("ids", "ids", "i32", (2,)))


def id_spec(folder: Path, names: Sequence[str], *, batch: int, shuffle: int = 0, infinite: bool = False) -> LoaderSpec:
    return make_spec(folder, names, *ID_FIELDS, batch=batch, shuffle=shuffle, infinite=infinite)


def ids_of(batch: Batch) -> list[int]:
    """The rows of a batch of `write_ids` data; both fields have to agree."""
    ids = batch.arrays["id"][:batch.records]
    assert (batch.arrays["ids"][:batch.records] == ids[:, None]).all()
    return ids.tolist()


def read_ids(loader: Loader, batches: int | None = None) -> list[int]:
    """The ids of the next batches, all of a finite stage by default."""
    ids: list[int] = []
    while batches is None or batches > 0:
        batch = loader.next()
        if batch is None:
            break
        ids += ids_of(batch)
        batches = None if batches is None else batches - 1
    return ids


def read_column(folder: Path, array: pa.Array, dtype: str, shape: tuple[int, ...] = (),
                **options: object) -> np.ndarray:
    """`array` written as the column `c` of a file and read as a field of this dtype and shape."""
    write(folder / "c.parquet", {"c": array}, **options)
    spec = make_spec(folder, ["c.parquet"], FieldSpec("f", "c", dtype, shape), batch=max(len(array), 1))
    with Loader(spec) as loader:
        batch = loader.next()
        assert batch is not None
        return batch.arrays["f"]


def refused(folder: Path, array: pa.Array, dtype: str, shape: tuple[int, ...] = ()) -> Diagnostic:
    """The diagnostic that reading the column raises."""
    with pytest.raises(SexpError) as caught:
        read_column(folder, array, dtype, shape)
    [diagnostic] = caught.value.diagnostics
    return diagnostic


def diagnostic_of(error: pytest.ExceptionInfo[SexpError]) -> Diagnostic:
    [diagnostic] = error.value.diagnostics
    return diagnostic


def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """Philox4x32-10, from its paper."""
    a, b, c, d = counter
    k, l = key
    for _ in range(10):
        high, low = divmod(0xD2511F53 * a, 1 << 32)
        high2, low2 = divmod(0xCD9E8D57 * c, 1 << 32)
        a, b, c, d = high2 ^ b ^ k, low2, high ^ d ^ l, low
        k, l = (k + 0x9E3779B9) % (1 << 32), (l + 0xBB67AE85) % (1 << 32)
    return [a, b, c, d]


def model_epoch(rows: int, shuffle: int, seed: int, epoch: int, stage: str = "main") -> list[int]:
    """One epoch's order as docs/loader.md defines it, the slow way: a list, and a draw for each row."""
    if shuffle <= 1:
        return list(range(rows))
    digest = hashlib.sha256(f"sexpgpu.order.1/{seed}/{stage}".encode()).digest()
    key = [int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little")]
    stream = iter(range(rows))
    buffer = [next(stream) for _ in range(min(shuffle, rows))]
    order = []
    for index in range(rows):
        words = philox([index % (1 << 32), index >> 32, epoch % (1 << 32), epoch >> 32], key)
        place = ((words[0] | words[1] << 32) * len(buffer)) >> 64
        order.append(buffer[place])
        try:
            buffer[place] = next(stream)
        except StopIteration:
            last = buffer.pop()
            if place < len(buffer):
                buffer[place] = last
    return order


def model_order(rows: int, shuffle: int, seed: int) -> Iterator[int]:
    """The endless order: epoch after epoch."""
    epoch = 0
    while True:
        yield from model_epoch(rows, shuffle, seed, epoch)
        epoch += 1
