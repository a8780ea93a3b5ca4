"""Resume: the rows before a cut and the rows after it are the uncut run, wherever the cut and whatever the threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from dataio_helpers import diagnostic_of, id_spec, ids_of, make_spec, model_epoch, model_order, read_ids, write_ids
from hypothesis import given, settings
from hypothesis import strategies as st
from sexpgpu.diagnostics import SexpError
from sexpgpu.diagnostics.record import replace
from sexpgpu.runtime.dataio import FieldSpec, FilesSource, Loader

GROUPS = [[20, 0, 7], [], [33, 1, 1, 1, 12], [40]]
ROWS = sum(map(sum, GROUPS))

CONTINUE = """
import json, sys
from sexpgpu.runtime.dataio import Loader, LoaderSpec
spec, cursor, batches, threads = json.loads(sys.stdin.read())
with Loader(LoaderSpec.from_json(spec), cursor=cursor, threads=threads) as loader:
    assert loader.state() == cursor
    rows, cursors = [], []
    while batches and (batch := loader.next()) is not None:
        rows.append(batch.arrays["ids"].tobytes().hex())
        cursors.append(batch.cursor)
        batches -= 1
    print(json.dumps([rows, cursors]))
"""


@settings(max_examples=60, deadline=None)
@given(data=st.data(), shuffle=st.sampled_from([0, 1, 2, 13, 50, ROWS, 1000]), batch=st.integers(1, 11),
       infinite=st.booleans(), seed=st.integers(0, 2))
def test_any_cut_continues_exactly(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, shuffle: int,
                                   batch: int, infinite: bool, seed: int) -> None:
    folder = tmp_path_factory.mktemp("cut")
    spec = id_spec(folder, write_ids(folder, GROUPS), batch=batch, shuffle=shuffle, infinite=infinite)
    total = 3 * ROWS // batch if infinite else ROWS // batch
    whole = list(islice(model_order(ROWS, shuffle, seed), total * batch))
    with Loader(spec, seed=seed) as loader:
        cut = data.draw(st.integers(0, total), label="cut")
        got = read_ids(loader, cut)
        cursor = json.loads(json.dumps(loader.state()))
    again = data.draw(st.integers(0, total - cut), label="second cut")
    # The cursor's seed counts, not the loader's; a second cut straight after shows that counters are absolute.
    with Loader(spec, seed=99, cursor=cursor, threads=data.draw(st.integers(1, 3)), prefetch=2) as loader:
        assert loader.state() == cursor
        got += read_ids(loader, again)
        cursor = loader.state()
    with Loader(spec, cursor=cursor) as loader:
        assert loader.state() == cursor
        got += read_ids(loader, total - cut - again)
        if not infinite:
            assert loader.next() is None and loader.remaining == 0
            assert json.loads(json.dumps(loader.state())) == loader.state()
    assert got == whole


@pytest.mark.parametrize(("shuffle", "infinite", "cut", "threads"),
                         [(13, True, 9, 1), (13, True, 30, 3), (0, False, 4, 2), (200, True, 17, 2)])
def test_a_new_process_continues_byte_for_byte(tmp_path: Path, shuffle: int, infinite: bool, cut: int,
                                               threads: int) -> None:
    spec = id_spec(tmp_path, write_ids(tmp_path, GROUPS), batch=5, shuffle=shuffle, infinite=infinite)
    total = 50 if infinite else ROWS // 5
    with Loader(spec, seed=3) as loader:
        batches = [loader.next() for _ in range(total)]
    run = subprocess.run([sys.executable, "-c", CONTINUE], text=True, capture_output=True, check=True,
                         input=json.dumps([spec.to_json(), batches[cut - 1].cursor, total - cut, threads]))
    rows, cursors = json.loads(run.stdout)
    assert rows == [b.arrays["ids"].tobytes().hex() for b in batches[cut:]]
    assert cursors == [b.cursor for b in batches[cut:]]


@pytest.mark.parametrize("shuffle", [0, 25])
def test_another_number_of_ranks_continues(tmp_path: Path, shuffle: int) -> None:
    names = write_ids(tmp_path, GROUPS)
    spec = id_spec(tmp_path, names, batch=3, shuffle=shuffle, infinite=True)
    order = list(islice(model_order(ROWS, shuffle, 0), 500))
    with Loader(spec, rank=0, world=2) as loader:
        read_ids(loader, 7)
        cursor = loader.state()
    at = 7 * 6
    loaders = [Loader(spec, rank=rank, world=5, cursor=cursor) for rank in range(5)]
    got = [i for _ in range(12) for loader in loaders if (b := loader.next()) for i in ids_of(b)]
    assert got == order[at:at + 12 * 15]
    for loader in loaders:
        loader.close()


def test_the_cursor_belongs_to_the_batch_handed_over(tmp_path: Path) -> None:
    spec = id_spec(tmp_path, write_ids(tmp_path, GROUPS), batch=4, shuffle=10, infinite=True)
    with Loader(spec, prefetch=8) as loader:
        first, second = loader.next(), loader.next()
        assert first is not None and second is not None
        assert (first.cursor["epoch"], first.cursor["position"]) == (0, 4)
        assert loader.state() == second.cursor
        third = loader.next()
        loader.restore(second.cursor)
        again = loader.next()
        assert third is not None and again is not None and ids_of(third) == ids_of(again)
        assert third.cursor == again.cursor
        loader.restore(first.cursor)
        assert ids_of(loader.next()) == ids_of(second)


def test_a_cursor_is_small_and_json(tmp_path: Path) -> None:
    spec = id_spec(tmp_path, write_ids(tmp_path, [[5000]]), batch=4, shuffle=4000, infinite=True)
    with Loader(spec, seed=2**63 - 1) as loader:
        read_ids(loader, 700)
        assert len(json.dumps(loader.state())) < 400


def test_resume_reads_only_what_it_needs(tmp_path: Path) -> None:
    names = write_ids(tmp_path, [[1000] * 50], width=64)
    size = os.path.getsize(tmp_path / names[0])
    spec = make_spec(tmp_path, names, FieldSpec("ids", "ids", "i64", (64,)), batch=100, shuffle=500)
    with Loader(spec, seed=0, lookahead=1 << 20) as loader:
        for _ in range(400):
            loader.next()
        cursor = loader.state()
        assert loader.stats().bytes_read > 0.75 * size
    with Loader(spec, cursor=cursor, lookahead=1 << 20) as loader:
        loader.next()
        # 40,000 of 50,000 rows lie behind the cursor; the buffer of 500 reaches back a few thousand rows; and the
        # footer is a tenth of this file.
        assert loader.stats().bytes_read < 0.45 * size


def changed(cursor: dict, **keys: object) -> dict:
    return {**cursor, **keys}


def test_cursors_of_other_data_are_refused(tmp_path: Path) -> None:
    names = write_ids(tmp_path, GROUPS)
    spec = id_spec(tmp_path, names, batch=4, shuffle=10)
    with Loader(spec) as loader:
        cursor = loader.state()
    stage = spec.stages[0]
    others = {
        "fields": replace(spec, fields=spec.fields[:1]),
        "files": replace(spec, stages=(replace(stage, sources=(FilesSource(tuple(names[::-1]), "parquet"),)),)),
        "shuffle buffer": replace(spec, stages=(replace(stage, shuffle=11),)),
        "number of rows": replace(spec, stages=(replace(stage, sources=(FilesSource(tuple(names[1:]), "parquet"),)),)),
    }
    for what, other in others.items():
        with pytest.raises(SexpError) as caught:
            Loader(other, cursor=cursor)
        assert diagnostic_of(caught).code == "E-DATA-009" and what in diagnostic_of(caught).message
    with Loader(replace(spec, batch_size=9), cursor=cursor) as loader:  # the order does not depend on it
        assert read_ids(loader, 1) == model_epoch(ROWS, 10, 0, 0)[:9]


@pytest.mark.parametrize("bad", [
    None, [], {}, {"version": 3}, {"version": "1"}, {"position": -1}, {"position": ROWS + 1}, {"epoch": -1},
    {"epoch": 1 << 61}, {"position": 1.5}, {"seed": None}, {"seed": True},
])
def test_broken_cursors_are_refused(tmp_path: Path, bad: object) -> None:
    spec = id_spec(tmp_path, write_ids(tmp_path, GROUPS), batch=4, shuffle=10)
    with Loader(spec) as loader:
        broken = changed(loader.state(), **bad) if isinstance(bad, dict) and bad else bad
        with pytest.raises(SexpError) as caught:
            loader.restore(broken)  # type: ignore[arg-type]
        assert diagnostic_of(caught).code == "E-DATA-010"
        assert read_ids(loader, 1) == model_epoch(ROWS, 10, 0, 0)[:4]  # and the loader is as it was


def test_data_that_moved_is_the_same_data(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    names = write_ids(tmp_path / "a", GROUPS)
    write_ids(tmp_path / "b", GROUPS)
    spec = id_spec(tmp_path / "a", names, batch=4, shuffle=10, infinite=True)
    with Loader(spec) as loader:
        read_ids(loader, 3)
        cursor = loader.state()
        wanted = read_ids(loader, 5)
    for name in names:
        (tmp_path / "a" / name).unlink()
    with Loader(spec, cursor=cursor, data_root=tmp_path / "b") as loader:
        assert read_ids(loader, 5) == wanted
