"""What users of other loaders report, and the right behaviour in each case; named after the report.

Reports about S3 stand in `tests/py/dataio/s3`.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import msgpack
import numpy as np
import pyarrow as pa
import pytest
import zstandard
from dataio_helpers import diagnostic_of, id_spec, read_column, read_ids, refused, write, write_ids
from record_files import encode, read_data, refusal
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio import FieldSpec, FilesSource, Loader, LoaderSpec, StageSpec
from stage_model import MIXED, ModelSource, make_stage, model_stage, take


@pytest.mark.parametrize("shuffle", [0, 20, 200])
def test_datasets_7901_no_row_is_lost_or_repeated_at_a_resume_with_shuffle(tmp_path: Path, shuffle: int) -> None:
    """At every cut point, at a second resume, at an epoch's end."""
    spec = make_stage(tmp_path, MIXED, batch=5, shuffle=shuffle, infinite=True)
    whole = list(islice(model_stage(MIXED, shuffle=shuffle, infinite=True, seed=0), 225))
    with Loader(spec) as loader:
        cursors = [loader.state()]
        got = []
        for _ in range(45):
            got += take(loader, 1)
            cursors.append(json.loads(json.dumps(loader.state())))
    assert got == whole
    with Loader(spec) as loader:
        for cut in range(0, 44):
            loader.restore(cursors[cut])
            assert take(loader, 1) == whole[5 * cut:5 * cut + 5]
            loader.restore(loader.state())
            assert take(loader, 1) == whole[5 * cut + 5:5 * cut + 10]


def test_datasets_7444_counters_are_absolute(tmp_path: Path) -> None:
    spec = make_stage(tmp_path, MIXED, batch=4, shuffle=10, infinite=True)
    whole = list(islice(model_stage(MIXED, shuffle=10, infinite=True, seed=0), 160))
    cursor, got = None, []
    for _ in range(10):  # ten resumes, one after the other
        with Loader(spec, cursor=cursor) as loader:
            got += take(loader, 4)
            cursor = loader.state()
    assert got == whole


@pytest.mark.parametrize("infinite", [True, False])
def test_pytorch_data_1437_state_at_an_epochs_end_and_with_batches_ahead(tmp_path: Path, infinite: bool) -> None:
    """Save, load, save is identical, and the state is that of the batch handed over, not of those decoded ahead."""
    spec = make_stage(tmp_path, MIXED, batch=10, shuffle=16, infinite=infinite)
    with Loader(spec, prefetch=8) as loader:
        for _ in range(10):
            time.sleep(0.01)
            take(loader, 1)
            state = loader.state()
            loader.restore(state)
            assert loader.state() == state
        if not infinite:
            assert loader.next() is None and loader.state() == state and loader.remaining == 0


def test_torchtitan_816_another_world_size(tmp_path: Path) -> None:
    spec = make_stage(tmp_path, MIXED, batch=2, shuffle=30, infinite=True)
    whole = list(islice(model_stage(MIXED, shuffle=30, infinite=True, seed=0), 400))
    cursor, at = None, 0
    for world in (1, 8, 3, 2):
        loaders = [Loader(spec, rank=rank, world=world, cursor=cursor) for rank in range(world)]
        got = [i for _ in range(5) for loader in loaders for i in take(loader, 1)]
        assert got == whole[at:at + 10 * world]
        at += 10 * world
        cursor = loaders[0].state()  # one cursor for all ranks
        for loader in loaders:
            loader.close()


def test_maxtext_2543_an_epoch_depends_on_seed_and_number_only(tmp_path: Path) -> None:
    spec = make_stage(tmp_path, MIXED, batch=10, shuffle=16, infinite=True)
    with Loader(spec, seed=7) as long, Loader(spec, seed=7, prefetch=1, threads=1) as short:
        assert take(long, 30)[:100] == take(short, 10)


def test_datasets_7567_interleaving_is_one_order_whatever_the_threads(tmp_path: Path) -> None:
    sources = [ModelSource(s.files, s.encoding, w) for s, w in zip(MIXED, (1.0, 2.0, 0.25), strict=True)]
    spec = make_stage(tmp_path, sources, batch=6, shuffle=12, infinite=True)
    orders = []
    for threads in (1, 2, 5):
        with Loader(spec, threads=threads) as loader:
            orders.append(take(loader, 40))
    assert orders[0] == orders[1] == orders[2]


def test_datasets_7156_weight_zero_is_never_read_and_empty_sources_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_bytes(b"\n\n")
    good = make_stage(tmp_path, [ModelSource((tuple(range(9)),), "jsonl", 1.0)], batch=3).stages[0].sources[0]
    never, none = FilesSource(("not-there.jsonl",), "jsonl", 0.0), FilesSource(("none.jsonl",), "jsonl", 1.0)
    field = FieldSpec("id", "id", "i32", ())

    def loader(*sources: FilesSource, infinite: bool = True) -> Loader:
        return Loader(LoaderSpec((field,), (StageSpec("main", sources, 0, infinite),), 3, str(tmp_path)))

    with loader(never, good) as read:
        assert take(read, 4) == [*range(9), 0, 1, 2]
    with loader(none, good, infinite=False) as read:
        assert take(read) == list(range(9))
    with loader(none, none) as empty, pytest.raises(SexpError) as caught:
        empty.next()
    assert diagnostic_of(caught).code == "E-DATA-008"


def test_nanochat_360_infinite_wraps_with_a_new_order_each_epoch(tmp_path: Path) -> None:
    spec = make_stage(tmp_path, MIXED, batch=10, shuffle=50, infinite=True)
    with Loader(spec) as loader:
        epochs = [tuple(take(loader, 10)) for _ in range(5)]
    assert len(set(epochs)) == 5 and all(sorted(e) == list(range(100)) for e in epochs)


def test_datasets_6623_ranks_have_equal_step_counts_known_first(tmp_path: Path) -> None:
    spec = make_stage(tmp_path, MIXED, batch=3)
    for world in (2, 3, 8):
        loaders = [Loader(spec, rank=rank, world=world) for rank in range(world)]
        assert {len(loader) for loader in loaders} == {100 // (3 * world)}
        assert {len(take(loader)) for loader in loaders} == {100 // (3 * world) * 3}


def test_arrow_45009_files_and_row_groups_without_rows(tmp_path: Path) -> None:
    names = write_ids(tmp_path, [[], [0, 3, 0], [0], [2, 0]])
    with Loader(id_spec(tmp_path, names, batch=5)) as loader:
        assert read_ids(loader) == [0, 1, 2, 3, 4] and loader.rows == 5


def test_petastorm_690_two_dimensional_lists(tmp_path: Path) -> None:
    rows = np.arange(24).reshape(4, 2, 3)
    assert (read_column(tmp_path, pa.array(rows.tolist()), "i32", (2, 3)) == rows).all()
    for encoding in ("jsonl.gz", "msgpack.zstf"):
        data = encode([{"x": row.tolist()} for row in rows], encoding)
        assert (read_data(tmp_path, data, encoding, "i32", (2, 3)) == rows).all()


def test_ray_29489_ragged_rows_are_told_with_their_place(tmp_path: Path) -> None:
    ragged = [[1, 2]] * 4 + [[1, 2, 3]]
    found = refused(tmp_path, pa.array(ragged), "i32", (2,))
    assert found.code == "E-DATA-003" and "`c.parquet` row 4" in found.message and "it has [3]" in found.message
    assert "row group 0, its row 4" in found.notes[0]
    found = refusal(tmp_path, encode([{"x": row} for row in ragged], "jsonl"), "jsonl", "i32", (2,))
    assert "`a.jsonl` record 4 (line 5): the field `:x` wants i32 [2], it has [3]" in found.message


PEAK = """
import json, sys
import pyarrow.parquet
from sexpgpu.runtime.dataio import Loader, LoaderSpec
def peak(): return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmHWM")) << 10
spec, epochs = json.loads(sys.stdin.read())
before = peak()
peaks = []
with Loader(LoaderSpec.from_json(spec), prefetch=2, lookahead=8 << 20) as loader:
    bound = loader.memory_bound()
    for _ in range(epochs):
        for _ in range(EPOCH):
            loader.next().release()
        peaks.append(peak() - before)
print(json.dumps([bound, peaks]))
"""


def peaks(spec: LoaderSpec, epoch: int, epochs: int) -> tuple[int, list[int]]:
    """The stated bound, and the peak of resident memory after each epoch, in a process of its own."""
    run = subprocess.run([sys.executable, "-c", PEAK.replace("EPOCH", str(epoch))], text=True, capture_output=True,
                         input=json.dumps([spec.to_json(), epochs]), check=True)
    bound, found = json.loads(run.stdout)
    return bound, found


@pytest.mark.parametrize("encoding", ["parquet", "msgpack.zstf", pytest.param("jsonl.gz", marks=pytest.mark.slow),
                                      pytest.param("jsonl.zst", marks=pytest.mark.slow)])
def test_arrow_32723_huge_row_groups_members_and_frames_are_bounded(tmp_path: Path, encoding: str) -> None:
    """One row group, member or frame of 120 MB and more: never all of it at once."""
    rows = np.random.default_rng(0).integers(0, 60_000, (7500, 4000), dtype=np.int32)
    if encoding == "parquet":
        lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), 4000)
        write(tmp_path / "a", {"x": lists}, row_group_size=7500, compression="none", use_dictionary=False)
    else:
        pack = {"jsonl": lambda r: b'{"x":' + str(r.tolist()).encode() + b"}\n",
                "msgpack": lambda r: msgpack.packb({"x": r.tolist()})}[encoding.partition(".")[0]]
        text = b"".join(map(pack, rows))
        (tmp_path / "a").write_bytes(gzip.compress(text, 1) if encoding.endswith("gz") else zstandard.compress(text, 1))
    spec = LoaderSpec((FieldSpec("x", "x", "i32", (4000,)),),
                      (StageSpec("main", (FilesSource(("a",), encoding),), 100, True),), 20, str(tmp_path))
    bound, found = peaks(spec, 375, 2)
    assert found[-1] < min(bound, 110 << 20) + (24 << 20)


@pytest.mark.parametrize("encoding", ["parquet", "jsonl.gz", "msgpack.zstf"])
def test_arrow_39808_memory_does_not_grow_with_epochs(tmp_path: Path, encoding: str) -> None:
    sources = [ModelSource(tuple(tuple(range(200 * f, 200 * f + 200)) for f in range(20)), encoding)]
    spec = make_stage(tmp_path, sources, batch=100, shuffle=500, infinite=True)
    bound, found = peaks(spec, 40, 30)
    assert found[-1] < bound and found[-1] - found[4] < 4 << 20


def test_clickhouse_53069_tiny_row_groups_are_read_together(tmp_path: Path) -> None:
    names = write_ids(tmp_path, [[3] * 400])
    with Loader(id_spec(tmp_path, names, batch=100)) as loader:
        assert read_ids(loader) == list(range(1200))
        assert loader.stats().bytes_read < 3 * (tmp_path / names[0]).stat().st_size
