"""Shuffle buffers for more rows than there are, or than the machine has memory for."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest
from dataio_helpers import diagnostic_of, make_spec, model_epoch, write
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio import FieldSpec, FilesSource, Loader, LoaderSpec, StageSpec

ID = FieldSpec("id", "id", "i32", ())
ROWS = 300


def lines(folder: Path, shuffle: int) -> LoaderSpec:
    """Rows whose number is known when they have been read: an endless stage is not counted before."""
    (folder / "a.jsonl.gz").write_bytes(gzip.compress("".join(f'{{"id": {i}}}\n' for i in range(ROWS)).encode()))
    sources = (FilesSource(("a.jsonl.gz",), "jsonl.gz"),)
    return LoaderSpec((ID,), (StageSpec("main", sources, shuffle, True),), 10, str(folder))


@pytest.mark.parametrize("shuffle", [ROWS, 10**7, 10**10, 10**12])
def test_takes_the_memory_of_the_rows_there_are(tmp_path: Path, shuffle: int) -> None:
    """Whatever the machine has: 10¹² rows of four bytes it has not."""
    with Loader(lines(tmp_path, shuffle), seed=3) as loader:
        found = [int(i) for _ in range(ROWS // 10) for i in loader.next().arrays["id"]]
    assert found == model_epoch(ROWS, shuffle, 3, 0)


def test_resumes(tmp_path: Path) -> None:
    spec = lines(tmp_path, 10**12)
    with Loader(spec) as loader:
        first = [loader.next().arrays["id"].tolist() for _ in range(70)]
    with Loader(spec) as loader:
        for _ in range(33):
            cursor = loader.next().cursor
    with Loader(spec, cursor=cursor) as loader:
        assert [loader.next().arrays["id"].tolist() for _ in range(37)] == first[33:]


def test_more_than_there_are_addresses_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SexpError) as caught:
        Loader(lines(tmp_path, 2**61))
    found = diagnostic_of(caught)
    assert found.code == "E-DATA-014" and "2305843009213693952 rows of 4 bytes" in found.message
    assert found.fix is not None and ":shuffle" in found.fix.text


def test_known_rows_bound_the_buffer(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"id": pa.array(range(ROWS))})
    with Loader(make_spec(tmp_path, ["a.parquet"], ID, batch=ROWS, shuffle=2**62), seed=3) as loader:
        assert loader.next().arrays["id"].tolist() == model_epoch(ROWS, ROWS, 3, 0)
        assert loader.memory_bound() < 1 << 30
