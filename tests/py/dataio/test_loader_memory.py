"""A ceiling on memory: over many epochs, for huge row groups, and as `memory_bound` states it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dataio_helpers import make_spec
from sexpgpu.runtime.dataio import FieldSpec, Loader

SLACK = 12 << 20
"""Resident memory beyond what the loader holds: pages of the Arrow libraries' code, the allocator's free lists."""

CHILD = """
import json, sys
from sexpgpu.runtime.dataio import Loader, LoaderSpec

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

spec, batches, options = json.loads(sys.stdin.read())
if "s3://" in json.dumps(spec):
    from sexpgpu.runtime.dataio.remote.client import shared_client
    from sexpgpu.runtime.dataio.remote.retry import default_policy
    shared_client(default_policy()).exceptions  # boto3 is no part of the loader's memory
before = resident()
marks = []
with Loader(LoaderSpec.from_json(spec), **options) as loader:
    bound = loader.memory_bound()
    for i in range(batches):
        batch = loader.next()
        batch.release()
        if i % (batches // 8) == 0:
            marks.append(resident() - before)
    print(json.dumps([bound, peak() - before, marks, loader.stats().epoch]))
"""


def run(spec: object, batches: int, **options: object) -> tuple[int, int, list[int], int]:
    given = json.dumps([spec.to_json(), batches, options])  # type: ignore[attr-defined]
    out = subprocess.run([sys.executable, "-c", CHILD], input=given, text=True, capture_output=True, check=True)
    return tuple(json.loads(out.stdout))


def write_wide(path: Path, rows: int, width: int, row_group: int) -> None:
    with pq.ParquetWriter(path, pa.schema([("v", pa.list_(pa.int32()))]), compression="none",
                          use_dictionary=False) as writer:
        values = pa.array(np.arange(rows * width, dtype=np.int32))
        offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * width)
        writer.write_table(pa.table([pa.ListArray.from_arrays(offsets, values)], ["v"]), row_group_size=row_group)


@pytest.mark.parametrize(("row_group", "shuffle"), [(40_000, 0), (40_000, 3000), (500, 3000), (7, 0)])
def test_ceiling(tmp_path: Path, row_group: int, shuffle: int) -> None:
    """82 MB of rows, whatever their row groups are, through less than their size; and no growth over the epochs."""
    write_wide(tmp_path / "w.parquet", 40_000, 513, row_group)
    spec = make_spec(tmp_path, ["w.parquet"], FieldSpec("v", "v", "i32", (513,)), batch=64, shuffle=shuffle,
                     infinite=True)
    bound, peak, marks, epoch = run(spec, 40_000 * 3 // 64, threads=1, lookahead=4 << 20)
    assert epoch >= 2
    assert peak < bound + SLACK < 80 << 20, (peak, bound)
    assert sorted(marks)[len(marks) // 2] < bound, marks


@pytest.mark.parametrize("taken", [0, 500])
def test_ceiling_of_a_buffer_of_many_small_rows(tmp_path: Path, taken: int) -> None:
    """What is kept about a row is more than the row; filled, emptied into the next epoch, and filled at a resume."""
    rows, batch = 4_000_000, 4096
    pq.write_table(pa.table({"v": np.arange(rows, dtype=np.int32)}), tmp_path / "n.parquet", row_group_size=100_000)
    spec = make_spec(tmp_path, ["n.parquet"], FieldSpec("v", "v", "i32", ()), batch=batch, shuffle=rows, infinite=True)
    with Loader(spec) as loader:
        for _ in range(taken):
            loader.next()
        cursor = loader.state()
    bound, peak, _, epoch = run(spec, 2 * rows // batch, threads=1, lookahead=4 << 20, cursor=cursor)
    assert epoch >= 1
    assert peak < bound + SLACK, (peak, bound)


@pytest.mark.slow
def test_ceiling_over_many_epochs(tmp_path: Path) -> None:
    write_wide(tmp_path / "w.parquet", 5000, 257, 300)
    spec = make_spec(tmp_path, ["w.parquet"], FieldSpec("v", "v", "i32", (257,)), batch=64, shuffle=1000, infinite=True)
    bound, peak, marks, epoch = run(spec, 5000 * 300 // 64, threads=3)
    assert epoch >= 290 and peak < bound + SLACK
    # What is resident at one moment depends on who decodes just then: a leak would lift all of them.
    assert sorted(marks[5:])[1] < max(marks[1:5]) + (4 << 20), marks
