"""What users of other loaders report, and the right behaviour in each case; named after the report.

Reports about S3 stand in `tests/py/dataio/s3`.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
from itertools import islice
from pathlib import Path

import msgpack
import numpy as np
import pyarrow as pa
import pytest
import zstandard
from dataio_helpers import SOON, diagnostic_of, id_spec, make_spec, read_column, read_ids, refused, write, write_ids
from record_files import encode, read_all, read_data, refusal, spec_of
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio import FieldSpec, FilesSource, Loader, LoaderSpec, ManifestSource, StageSpec
from stage_model import ID, ModelSource, make_stage, model_stage, take

MIXED = [ModelSource((tuple(range(30)), tuple(range(30, 41))), "jsonl.gz"),
         ModelSource((tuple(range(41, 77)),), "parquet"), ModelSource((tuple(range(77, 100)),), "msgpack.zstf")]


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


def test_polars_15747_files_that_disagree_on_types(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": pa.array([1, 2], pa.int8())})
    write(tmp_path / "b.parquet", {"x": pa.array([3, 4], pa.uint64())})
    write(tmp_path / "c.parquet", {"x": pa.array([5.0, 6.0])})
    spec = make_spec(tmp_path, ["a.parquet", "b.parquet", "c.parquet"], FieldSpec("x", "x", "i32", ()), batch=6)
    assert read_all(spec)["x"].tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("value", "dtype"), [
    (65536, "u16"), (2**31, "i32"), (1.5, "i32"), (float("nan"), "i32"), (2.0**63, "i64"), (1e39, "f32"),
    (16777217, "f32"), (-1, "u8")])
def test_transformers_2825_values_are_never_wrapped_or_rounded(tmp_path: Path, value: float, dtype: str) -> None:
    assert refused(tmp_path, pa.array([value]), dtype).code == "E-DATA-004"
    assert refusal(tmp_path, json.dumps({"x": value}).encode(), "jsonl", dtype).code == "E-DATA-004"
    assert refusal(tmp_path, msgpack.packb({"x": value}), "msgpack", dtype).code == "E-DATA-004"


def test_transformers_2825_numbers_beyond_every_type(tmp_path: Path) -> None:
    assert refusal(tmp_path, b'{"x":1e400}', "jsonl", "f64").code == "E-DATA-004"
    assert refusal(tmp_path, b'{"x":9223372036854775808}', "jsonl", "i64").code == "E-DATA-004"


def test_posthog_90036_all_gzip_members(tmp_path: Path) -> None:
    data = encode([{"x": i} for i in range(50)], "jsonl.gz", cuts=range(5, 400, 17))
    assert read_data(tmp_path, data, "jsonl.gz", "i8").tolist() == list(range(50))


def test_python_zstandard_59_all_frames(tmp_path: Path) -> None:
    data = encode([{"x": i} for i in range(50)], "msgpack.zstf", cuts=range(1, 200, 13))
    assert read_data(tmp_path, data, "msgpack.zstf", "i8").tolist() == list(range(50))


def test_datasets_8241_a_byte_order_mark_in_any_file(tmp_path: Path) -> None:
    files = {f"{i}.jsonl": b"\xef\xbb\xbf" * (i % 2) + b'{"x":%d}\n' % i for i in range(4)}
    spec = spec_of(tmp_path, files, "jsonl", FieldSpec("x", "x", "i8", ()))
    assert read_all(spec)["x"].tolist() == [0, 1, 2, 3]


def test_blank_lines_crlf_and_a_missing_newline(tmp_path: Path) -> None:
    assert read_data(tmp_path, b'\r\n{"x":1}\r\n\r\n\n{"x":2}', "jsonl", "i8").tolist() == [1, 2]


def test_simdjson_1534_one_bad_line_is_told_and_its_neighbours_are_safe(tmp_path: Path) -> None:
    lines = [b'{"x":%d}' % i for i in range(1000)]
    lines[600] = b'{"x":6 00}'
    data = gzip.compress(b"\n".join(lines))
    assert "record 600 (line 601)" in refusal(tmp_path, data, "jsonl.gz", "i32").message
    spec = spec_of(tmp_path, {"a.jsonl.gz": data}, "jsonl.gz", FieldSpec("x", "x", "i32", ()))
    assert read_all(spec, on_bad_data="skip-record")["x"].tolist() == [i for i in range(1000) if i != 600]


@pytest.mark.parametrize("encoding", ["jsonl.gz", "jsonl.zst", "msgpack.zstf"])
def test_datasets_3060_a_cut_file_is_told_with_its_byte(tmp_path: Path, encoding: str) -> None:
    whole = encode([{"x": i, "pad": "abc" * (i % 7)} for i in range(500)], encoding)
    for size in (len(whole) - 1, len(whole) // 2, 30):
        found = refusal(tmp_path, whole[:size], encoding)
        assert found.code == "E-STORE-005" and f"byte {size}" in found.message
        assert f"`a.{encoding}` is cut" in found.message


def test_streaming_662_the_first_batch_waits_for_one_file_only(tmp_path: Path) -> None:
    """Of records in an infinite stage; thousands of files are no matter, and none is read before its turn."""
    sources = [ModelSource(tuple((i,) * 50 for i in range(1000)), "jsonl")]
    spec = make_stage(tmp_path, sources, batch=10, infinite=True)
    with Loader(spec, threads=1, prefetch=1, lookahead=1) as loader:
        assert take(loader, 1) == [0] * 10
        read = loader.stats().bytes_read
    assert read < 1000 * 256 << 10  # a look at the heads, which are all there is of these files
    big = b'{"id":1}\n' * 2_000_000
    (tmp_path / "big.jsonl").write_bytes(big)
    source = FilesSource(("big.jsonl",) * 20, "jsonl")
    spec = LoaderSpec(spec.fields, (StageSpec("main", (source,), 0, True),), 10, str(tmp_path))
    with Loader(spec, threads=1, prefetch=1, lookahead=1) as loader:
        take(loader, 1)
        assert loader.stats().bytes_read < len(big)


@pytest.mark.parametrize("encoding", ["parquet", "jsonl.gz", "msgpack.zstf"])
@pytest.mark.parametrize("count", [2, 4])
def test_streaming_399_an_index_that_disagrees_names_both(tmp_path: Path, encoding: str, count: int) -> None:
    if encoding == "parquet":
        write(tmp_path / "a.parquet", {"id": pa.array([1, 2, 3])}, row_group_size=2)
    else:
        (tmp_path / f"a.{encoding}").write_bytes(encode([{"id": i} for i in range(3)], encoding))
    shard = {"uri": f"a.{encoding}", "encoding": encoding, "records": count}
    (tmp_path / "m.json").write_text(json.dumps({
        "kind": "sexpgpu.manifest", "version": 1, "name": "m",
        "splits": {"train": {"records": count, "shards": [shard]}}}))
    stage = StageSpec("main", (ManifestSource("m.json", None, None, None),))
    with pytest.raises(SexpError) as caught, Loader(LoaderSpec((ID,), (stage,), 1, str(tmp_path))) as loader:
        list(loader)
    found = diagnostic_of(caught)
    assert found.code == "E-DATA-032"
    told = " ".join((found.message, *found.notes))
    assert f"a.{encoding}`" in told and "`m.json`" in told


CTRL_C = """
import os, signal, sys, threading, time
from sexpgpu.runtime.dataio import FieldSpec, FilesSource, Loader, LoaderSpec, StageSpec
path, infinite = sys.argv[1], sys.argv[2] == "endless"
spec = LoaderSpec((FieldSpec("x", "x", "i32", ()),),
                  (StageSpec("main", (FilesSource((path,), "jsonl"),), 0, infinite),), 1 << 22)
print("go", flush=True)
try:
    with Loader(spec) as loader:
        try:
            loader.next()
        finally:
            rows = loader.stats().rows
except KeyboardInterrupt:
    print(threading.active_count(), globals().get("rows", 0), flush=True)
"""


@pytest.mark.parametrize("when", ["endless", "counting"])
def test_pytorch_22924_ctrl_c_ends_a_wait_and_leaves_no_thread(tmp_path: Path, when: str) -> None:
    """While a batch of four million rows is filled, and while a finite stage is counted."""
    (tmp_path / "a").write_bytes(b'{"x":12345678}\n' * 5_000_000)
    process = subprocess.Popen([sys.executable, "-c", CTRL_C, str(tmp_path / "a"), when], stdout=subprocess.PIPE,
                               text=True)
    assert process.stdout is not None and process.stdout.readline() == "go\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    answer = process.stdout.readline().split()
    assert process.wait() == 0
    if answer:  # else the batch had come before the signal
        assert answer == ["1", "0"]  # the one thread, and no batch that ended the wait


def test_pytorch_22924_threads_never_need_the_interpreter(tmp_path: Path) -> None:
    """Batches become ready while Python holds its lock and does something else; nothing is in /dev/shm."""
    shared = Path("/proc/self/maps").read_text().count("/dev/shm")
    spec = make_stage(tmp_path, MIXED, batch=10, infinite=True)
    threads = threading.active_count()
    loader = Loader(spec, prefetch=4)
    deadline = time.monotonic() + SOON
    while loader.stats().ready < 4 and time.monotonic() < deadline:
        sum(range(10_000))
    assert loader.stats().ready == 4
    assert Path("/proc/self/maps").read_text().count("/dev/shm") == shared
    del loader
    gc.collect()
    assert threading.active_count() == threads


def test_ray_64523_starvation_is_seen(tmp_path: Path) -> None:
    """The first batch waits for a buffer of slow rows: `wait_ms` is the time `next` took; what is ready adds none."""
    rows = 4_000_000
    numbers = pa.array(np.arange(rows)).cast(pa.decimal128(25, 3))
    write(tmp_path / "slow.parquet", {"c": numbers})
    spec = make_spec(tmp_path, ["slow.parquet"], FieldSpec("f", "c", "f64", ()), shuffle=rows, infinite=True)
    with Loader(spec, prefetch=4) as loader:
        begun = time.perf_counter()
        loader.next()
        took = (time.perf_counter() - begun) * 1000
        first = loader.stats().wait_ms
        assert took / 2 < first <= took
        deadline = time.monotonic() + SOON
        while loader.stats().ready < 3 and time.monotonic() < deadline:  # a full ring is filled again at the half
            time.sleep(0.01)
        assert loader.stats().ready >= 3 and loader.stats().wait_ms == first


def test_a_fork_is_refused(tmp_path: Path) -> None:
    spec = make_stage(tmp_path, MIXED, batch=10, infinite=True)
    with Loader(spec) as loader:
        take(loader, 1)
        read, write_end = os.pipe()
        if (child := os.fork()) == 0:
            try:
                loader.next()
            except SexpError as error:
                os.write(write_end, error.diagnostics[0].code.encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert os.read(read, 100) == b"E-DATA-013"
        assert len(take(loader, 1)) == 10
