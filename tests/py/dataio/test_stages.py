"""Stages of any sources: one order, cut and resumed anywhere, on any number of ranks and threads."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_files import RECORD_ENCODINGS
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio import FilesSource, Loader, LoaderSpec, StageSpec
from stage_model import ID, ModelSource, make_stage, model_stage, take

CONTINUE = """
import json, sys
from sexpgpu.runtime.dataio import Loader, LoaderSpec
spec, cursor, batches, options = json.loads(sys.stdin.read())
ids = []
with Loader(LoaderSpec.from_json(spec), cursor=cursor, **options) as loader:
    assert loader.state() == cursor
    while batches and (batch := loader.next()) is not None:
        ids += batch.arrays["id"][:batch.records].tolist()
        batches -= 1
    print(json.dumps([ids, loader.state()]))
"""


@st.composite
def stages(draw: st.DrawFn, bad: bool = False) -> list[ModelSource]:
    """Some sources with ids of their own, weighted or not."""
    weighted = draw(st.booleans())
    at = 0
    sources = []
    for _ in range(draw(st.integers(1, 3))):
        files = []
        for size in draw(st.lists(st.integers(0, 40), min_size=1, max_size=4)):
            ids = list(range(at, at + size))
            at += size
            if bad:
                for place in draw(st.lists(st.integers(0, 39), max_size=3)):
                    if place < size:
                        ids[place] = -1 - abs(ids[place])
            files.append(tuple(ids))
        weight = draw(st.sampled_from([1.0, 0.5, 2.0, 0.3, 7.0])) if weighted else None
        sources.append(ModelSource(tuple(files), draw(st.sampled_from(("parquet", *RECORD_ENCODINGS))), weight))
    return sources


def rows_enough(sources: list[ModelSource], policy: str, least: int) -> bool:
    """Whether every weighted source has rows, and the stage a global batch's."""
    return (sum(len(s.rows(policy)) for s in sources) >= least and
            all(len(s.rows(policy)) >= 1 for s in sources if s.weight is not None))


def check_any_cut(folder: Path, data: st.DataObject, sources: list[ModelSource], policy: str) -> None:
    infinite = data.draw(st.booleans(), label="infinite")
    shuffle = data.draw(st.sampled_from([0, 2, 13, 60, 1000]), label="shuffle")
    batch = data.draw(st.integers(1, 7), label="batch")
    world = data.draw(st.sampled_from([1, 1, 2, 3, 8]), label="world")
    seed = data.draw(st.integers(0, 3), label="seed")
    if not rows_enough(sources, policy, batch * world):
        return
    spec = make_stage(folder, sources, batch=batch, shuffle=shuffle, infinite=infinite,
                      cuts=data.draw(st.lists(st.integers(1, 3000), max_size=5), label="cuts"))
    total = sum(len(s.rows(policy)) for s in sources)
    steps = min(3 * total // (batch * world) + 1, 120) if infinite else total // (batch * world)
    whole = list(islice(model_stage(sources, shuffle=shuffle, infinite=infinite, seed=seed, policy=policy),
                        steps * batch * world))
    cut = data.draw(st.integers(0, steps), label="cut")
    again = data.draw(st.integers(0, steps - cut), label="second cut")

    def read(ranks: int, steps: int, cursor: object, first_seed: int) -> tuple[list[int], object]:
        """So many steps of `ranks` ranks, which agree on the cursor."""
        loaders = [Loader(spec, seed=first_seed, rank=r, world=ranks, cursor=cursor, on_bad_data=policy,  # type: ignore[arg-type]
                          threads=data.draw(st.integers(1, 3)), prefetch=data.draw(st.integers(1, 3)))
                   for r in range(ranks)]
        got = [i for _ in range(steps) for loader in loaders for i in take(loader, 1)]
        states = [json.loads(json.dumps(loader.state())) for loader in loaders]
        for loader, state in zip(loaders, states, strict=True):
            assert all(state[key] == states[0][key] for key in ("epoch", "position", "rows"))
            loader.restore(state)
            assert loader.state() == state  # save, load, save
            loader.close()
        return got, states[-1]

    got, cursor = read(world, cut, None, seed)
    more, cursor = read(world, again, cursor, 99)
    # From there on with one rank less, where the batches still come out even.
    left = (steps - cut - again) * world
    ranks = 1 if world > 1 and data.draw(st.booleans(), label="other ranks") else world
    rest, cursor = read(ranks, left // ranks, cursor, 98)
    assert got + more + rest == whole


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_cut_of_any_stage_continues_exactly(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    check_any_cut(tmp_path_factory.mktemp("stage"), data, data.draw(stages(), label="sources"), "error")


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_cut_with_records_left_out(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    check_any_cut(tmp_path_factory.mktemp("stage"), data, data.draw(stages(bad=True), label="sources"),
                  data.draw(st.sampled_from(["skip-record", "skip-file"]), label="policy"))


@pytest.mark.slow
@settings(max_examples=5000, deadline=None)
@given(data=st.data())
def test_ten_thousand_cuts(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Two cuts each."""
    policy = data.draw(st.sampled_from(["error", "error", "skip-record", "skip-file"]), label="policy")
    sources = data.draw(stages(bad=policy != "error"), label="sources")
    check_any_cut(tmp_path_factory.mktemp("stage"), data, sources, policy)


@pytest.mark.parametrize("counted", range(4))
def test_counted_files_beside_as_many_that_are_not(tmp_path: Path, counted: int) -> None:
    """An unknown number of rows is none to add up."""
    sources = [ModelSource((tuple(range(counted)),), "parquet", None), ModelSource(((), (7, 8)), "jsonl", None)]
    with Loader(make_stage(tmp_path, sources, batch=1, infinite=True)) as loader:
        assert take(loader, 2 * counted + 4) == [*range(counted), 7, 8] * 2


@pytest.mark.parametrize("encoding", ["jsonl.gz", "msgpack.zstf", "parquet"])
@pytest.mark.parametrize("weights", [None, (3.0, 1.0)])
@pytest.mark.parametrize("policy", ["error", "skip-record"])
def test_a_new_process_continues(tmp_path: Path, encoding: str, weights: tuple[float, float] | None,
                                 policy: str) -> None:
    """In the middle of the second epoch, from a shuffle buffer that reaches back into the first file."""
    ids = [-i if policy == "skip-record" and i % 17 == 3 else i for i in range(400)]
    sources = [ModelSource((tuple(ids[:150]), tuple(ids[150:200])), encoding, weights and weights[0]),
               ModelSource((tuple(ids[200:]),), encoding, weights and weights[1])]
    spec = make_stage(tmp_path, sources, batch=8, shuffle=64, infinite=True, cuts=[500, 1500, 4000])
    whole = list(islice(model_stage(sources, shuffle=64, infinite=True, seed=5, policy=policy), 800))
    with Loader(spec, seed=5, on_bad_data=policy) as loader:
        assert take(loader, 60) == whole[:480]
        cursor = loader.state()
    assert len(json.dumps(cursor)) < 2000
    options = {"threads": 3, "on_bad_data": policy}
    run = subprocess.run([sys.executable, "-c", CONTINUE], text=True, capture_output=True, check=True,
                         input=json.dumps([spec.to_json(), cursor, 40, options]))
    assert json.loads(run.stdout)[0] == whole[480:]


def test_mixes_keep_to_their_weights_within_one_row(tmp_path: Path) -> None:
    weights = (5.0, 2.5, 1.0, 0.3)
    sources = [ModelSource((tuple(range(1000 * s, 1000 * s + 40)),), "jsonl", w) for s, w in enumerate(weights)]
    with Loader(make_stage(tmp_path, sources, batch=1, infinite=True)) as loader:
        ids = take(loader, 2000)
    counts = [0] * 4
    for t, i in enumerate(ids, 1):
        source, row = divmod(i, 1000)
        assert row == counts[source] % 40  # each in its own order, from the start again at its end
        counts[source] += 1
        for n, weight in zip(counts, weights, strict=True):
            assert abs(n - t * weight / sum(weights)) < 1


def test_weight_zero_is_never_read(tmp_path: Path) -> None:
    spec = make_stage(tmp_path, [ModelSource((tuple(range(10)),), "jsonl", 1.0)], batch=2)
    never = FilesSource(("/nowhere/at/all.jsonl",), "jsonl", 0.0)
    stage = StageSpec("main", (never, *spec.stages[0].sources), 0, False)
    with Loader(LoaderSpec((ID,), (stage,), 2, str(tmp_path))) as loader:
        assert take(loader) == list(range(10))


@pytest.mark.parametrize("encoding", ["jsonl.gz", "msgpack.zstf", "parquet"])
def test_no_rows_and_too_few_are_errors_never_a_spin(tmp_path: Path, encoding: str) -> None:
    for sizes, code in (((0, 0), "E-DATA-008"), ((3, 0, 2), "E-DATA-007")):
        sources = [ModelSource(tuple(tuple(range(n)) for n in sizes), encoding)]
        for infinite in (True, False):
            for shuffle in (0, 100):
                spec = make_stage(tmp_path, sources, batch=6, shuffle=shuffle, infinite=infinite)
                with pytest.raises(SexpError) as caught, Loader(spec) as loader:
                    loader.next()
                assert caught.value.diagnostics[0].code == code
    mixed = [ModelSource((tuple(range(9)),), encoding, 1.0), ModelSource(((),), encoding, 1.0)]
    with pytest.raises(SexpError) as caught, Loader(make_stage(tmp_path, mixed, batch=2, infinite=True)) as loader:
        take(loader, 4)
    assert caught.value.diagnostics[0].code == "E-DATA-008"


def test_thousands_of_empty_files(tmp_path: Path) -> None:
    sources = [ModelSource(((1, 2), *[()] * 1000, (3,), *[()] * 300), "jsonl.gz")]
    with Loader(make_stage(tmp_path, sources, batch=3, infinite=True)) as loader:
        assert take(loader, 3) == [1, 2, 3] * 3


def test_epochs_do_not_depend_on_the_length_of_the_run(tmp_path: Path) -> None:
    """Epoch e depends on seed and e only: reached by reading, by rewinding, or by a cursor."""
    sources = [ModelSource((tuple(range(50)),), "msgpack.zstf")]
    spec = make_stage(tmp_path, sources, batch=10, shuffle=20, infinite=True)
    with Loader(spec, seed=4) as loader:
        epochs = [take(loader, 5) for _ in range(4)]
        loader.rewind(2)
        assert take(loader, 5) == epochs[2]
    assert len({tuple(epoch) for epoch in epochs}) == 4
    assert all(sorted(epoch) == list(range(50)) for epoch in epochs)


def test_every_rank_has_the_same_number_of_steps(tmp_path: Path) -> None:
    sources = [ModelSource((tuple(range(47)),), "jsonl.gz"), ModelSource((tuple(range(47, 53)),), "parquet")]
    spec = make_stage(tmp_path, sources, batch=4)
    for world in (1, 2, 3, 8):
        loaders = [Loader(spec, rank=rank, world=world) for rank in range(world)]
        steps = 53 // (4 * world)
        assert [len(loader) for loader in loaders] == [steps] * world  # known before the first
        assert all(len(take(loader)) == 4 * steps and loader.next() is None for loader in loaders)
        for loader in loaders:
            loader.close()


def test_a_run_resumes_with_another_policy(tmp_path: Path) -> None:
    """After a bad record has ended a run, the same cursor goes on with `skip-record`."""
    for encoding in ("parquet", "jsonl.gz"):
        for weight in (None, 1.0):
            ids = (*range(100), -5, *range(101, 200))
            sources = [ModelSource((ids,), encoding, weight)]
            if weight:
                sources.append(ModelSource((tuple(range(200, 300)),), "parquet", 1.0))
            spec = make_stage(tmp_path, sources, batch=5, shuffle=16, infinite=True)
            whole = list(islice(model_stage(sources, shuffle=16, infinite=True, seed=0, policy="skip-record"), 600))
            got: list[int] = []
            with Loader(spec) as loader, pytest.raises(SexpError):
                while True:
                    got += take(loader, 1)
            assert got == whole[:len(got)]
            with Loader(spec, cursor=json.loads(json.dumps(loader.state())),
                        on_bad_data="skip-record") as again:
                got += take(again, (600 - len(got)) // 5)
            assert got == whole




@pytest.mark.parametrize("shuffle", [0, 13])
@pytest.mark.parametrize("weights", [(None,), (2.0, 1.0)])
@pytest.mark.parametrize("infinite", [True, False])
@pytest.mark.parametrize("world", [2, 3])
def test_ranks_agree_on_where_a_stage_of_unknown_length_ends(
        tmp_path: Path, shuffle: int, weights: tuple[float | None, ...], infinite: bool, world: int) -> None:
    """The end lies in the rows of any of them: as many steps for all, and the same place after each."""
    for left_out in range(12):
        ids = [*range(60 - left_out), *range(-left_out, 0)]
        folder = tmp_path / str(left_out)
        folder.mkdir()
        sources = [ModelSource((tuple(ids[s::len(weights)]),), "parquet", w) for s, w in enumerate(weights)]
        spec = make_stage(folder, sources, batch=4, shuffle=shuffle, infinite=infinite)
        loaders = [Loader(spec, rank=r, world=world, on_bad_data="skip-record") for r in range(world)]
        whole = model_stage(sources, shuffle=shuffle, infinite=infinite, seed=0, policy="skip-record")
        steps = 60 // (4 * world) * 2 + 1 if infinite else (60 - left_out) // (4 * world)
        for _ in range(steps):
            assert [i for loader in loaders for i in take(loader, 1)] == list(islice(whole, 4 * world))
            first, *others = (loader.state() for loader in loaders)
            assert all(other[key] == first[key] for other in others for key in ("epoch", "position", "rows"))
        if not infinite:
            assert all(loader.next() is None for loader in loaders)
        for loader in loaders:
            loader.close()


@pytest.mark.parametrize("shuffle", [0, 13])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_the_last_batch_of_a_stage_of_unknown_length_is_shorter(tmp_path: Path, shuffle: int, world: int) -> None:
    """As evaluations read: every row once, whatever is left for the last batch, and then the end."""
    for left_out in range(12):
        ids = [*range(60 - left_out), *range(-left_out, 0)]
        folder = tmp_path / str(left_out)
        folder.mkdir()
        spec = make_stage(folder, [ModelSource((tuple(ids),), "parquet", None)], batch=4, shuffle=shuffle,
                          infinite=False)
        loaders = [Loader(spec, rank=r, world=world, partial=True, on_bad_data="skip-record") for r in range(world)]
        got: list[int] = []
        while batches := [batch for loader in loaders if (batch := loader.next()) is not None]:
            assert len(batches) == world
            for batch in batches:
                got += [int(i) for i in batch.arrays["id"][:batch.records]]
        assert sorted(got) == list(range(60 - left_out))
        for loader in loaders:
            loader.close()
