"""Batches: views of aligned slabs that live as long as they are looked at, and are used again after that."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from dataio_helpers import DTYPES, id_spec, make_spec, write, write_ids
from sexpgpu.runtime.dataio import FieldSpec, Loader
from sexpgpu.runtime.dtypes import DTYPES as TABLE


def test_dtypes_shapes_and_alignment(tmp_path: Path) -> None:
    write(tmp_path / "c.parquet", {"c": pa.array([[0, 1, 1]] * 10)})
    fields = [FieldSpec(name, "c", name, (3,)) for name in DTYPES] + [FieldSpec("m", "c", "i8", (3, 1))]
    with Loader(make_spec(tmp_path, ["c.parquet"], *fields, batch=5)) as loader:
        batch = loader.next()
        assert batch is not None and list(batch.arrays) == [f.name for f in fields]
        for field in fields:
            array = batch.arrays[field.name]
            assert array.dtype == np.dtype(TABLE[field.dtype].numpy) and array.shape == (5, *field.shape)
            assert array.ctypes.data % 4096 == 0 and array.flags.c_contiguous
            one = 0x3F80 if field.dtype == "bf16" else 1
            assert array.reshape(5, 3).tolist() == [[0, one, one]] * 5


def test_arrays_outlive_batch_and_loader(tmp_path: Path) -> None:
    names = write_ids(tmp_path, [[200]])
    loader = Loader(id_spec(tmp_path, names, batch=10), prefetch=2)
    kept = [batch.arrays["id"] for batch in loader]  # more than the ring has: the loader makes new slabs
    loader.close()
    del loader
    gc.collect()
    assert [array.tolist() for array in kept] == [list(range(i, i + 10)) for i in range(0, 200, 10)]


def test_memory_in_use_is_never_written(tmp_path: Path) -> None:
    names = write_ids(tmp_path, [[50]])
    with Loader(id_spec(tmp_path, names, batch=5, infinite=True), prefetch=2) as loader:
        first = loader.next()
        assert first is not None
        array = first.arrays["ids"][1:3]  # a view of a view
        del first
        for _ in range(40):
            batch = loader.next()
            assert batch is not None
            batch.release()
        assert array.tolist() == [[1, 1], [2, 2]]


def test_released_slabs_are_used_again(tmp_path: Path) -> None:
    names = write_ids(tmp_path, [[50]])
    with Loader(id_spec(tmp_path, names, batch=5, infinite=True), prefetch=2) as loader:
        places = set()
        for _ in range(60):
            batch = loader.next()
            assert batch is not None
            places.add(batch.arrays["id"].ctypes.data)
            batch.release()
            batch.release()  # twice is once
            assert batch.arrays == {}
        assert len(places) <= 4  # two ready, one being filled, one handed over


def test_dropping_the_batch_releases_it(tmp_path: Path) -> None:
    names = write_ids(tmp_path, [[50]])
    with Loader(id_spec(tmp_path, names, batch=5, infinite=True), prefetch=2) as loader:
        places = {loader.next().arrays["id"].ctypes.data for _ in range(60)}  # type: ignore[union-attr]
        assert len(places) <= 5


def test_release_keeps_the_memory_mapped(tmp_path: Path) -> None:
    """Reading after `release` is a caller's mistake that gives other rows, never a crash."""
    names = write_ids(tmp_path, [[5000]], width=2)
    loader = Loader(id_spec(tmp_path, names, batch=1000), prefetch=1)
    batch = loader.next()
    assert batch is not None
    array = batch.arrays["ids"]
    batch.release()
    list(loader)
    loader.close()
    del loader, batch
    gc.collect()
    assert array.sum() >= 0


def test_lengths_and_statistics(tmp_path: Path) -> None:
    names = write_ids(tmp_path, [[23]])
    with Loader(id_spec(tmp_path, names, batch=5)) as loader:
        assert (len(loader), loader.rows, loader.dropped, loader.remaining) == (4, 23, 3, 4)
        loader.next()
        stats = loader.stats()
        assert loader.remaining == 3 and stats.rows == 5 and stats.epoch == 0
        assert stats.wait_ms > 0 and 0 <= stats.ready <= 4 and stats.bytes_read > 0
        for _ in loader:
            pass
        assert loader.stats().rows == 20 and loader.next() is None
    with Loader(id_spec(tmp_path, names, batch=5), partial=True) as loader:
        assert (len(loader), loader.dropped) == (5, 0)
    with Loader(id_spec(tmp_path, names, batch=5, infinite=True)) as loader:
        for _ in range(5):
            loader.next()
        assert loader.stats().epoch == 1
        with pytest.raises(TypeError):
            len(loader)


def test_misuse_is_refused(tmp_path: Path) -> None:
    spec = id_spec(tmp_path, write_ids(tmp_path, [[5]]), batch=1)
    for bad in ({"rank": 1}, {"rank": -1}, {"threads": 0}, {"prefetch": 0}, {"lookahead": 0}):
        with pytest.raises(ValueError):
            Loader(spec, **bad)  # type: ignore[arg-type]
    loader = Loader(spec)
    loader.close()
    loader.close()
    with pytest.raises(ValueError, match="closed"):
        loader.next()
