"""The order of rows: a function of seed, stage and epoch alone, whatever files, ranks, threads and prefetch."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from dataio_helpers import id_spec, ids_of, model_epoch, model_order, philox, read_ids, write_ids
from hypothesis import given, settings
from hypothesis import strategies as st
from sexpgpu.runtime.dataio import Loader

GROUPS = st.lists(st.lists(st.integers(0, 40), max_size=4), min_size=1, max_size=4).filter(
    lambda files: sum(map(sum, files)) > 0)


def test_generator_gives_the_published_vectors() -> None:
    from sexpgpu.runtime.dataio import _native

    vectors = [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0],
         [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
    ]
    for counter, key, wanted in vectors:
        assert _native.philox(counter, key) == wanted == philox(counter, key)


@settings(max_examples=40, deadline=None)
@given(groups=GROUPS, shuffle=st.integers(0, 120), seed=st.integers(0, 3), batch=st.integers(1, 9),
       threads=st.integers(1, 4), prefetch=st.integers(1, 5))
def test_finite_pass_is_the_model(tmp_path_factory: pytest.TempPathFactory, groups: list[list[int]], shuffle: int,
                                  seed: int, batch: int, threads: int, prefetch: int) -> None:
    folder = tmp_path_factory.mktemp("order")
    rows = sum(map(sum, groups))
    spec = id_spec(folder, write_ids(folder, groups), batch=batch, shuffle=shuffle)
    with Loader(spec, seed=seed, threads=threads, prefetch=prefetch, partial=True) as loader:
        got = read_ids(loader)
        assert got == model_epoch(rows, shuffle, seed, 0)
        assert sorted(got) == list(range(rows))
        assert loader.next() is None
        loader.rewind(epoch=5)
        assert read_ids(loader) == model_epoch(rows, shuffle, seed, 5)


@settings(max_examples=25, deadline=None)
@given(groups=GROUPS, shuffle=st.integers(0, 60), seed=st.integers(0, 3), batch=st.integers(1, 5),
       threads=st.integers(1, 3))
def test_infinite_order_runs_on_over_the_end(tmp_path_factory: pytest.TempPathFactory, groups: list[list[int]],
                                             shuffle: int, seed: int, batch: int, threads: int) -> None:
    folder = tmp_path_factory.mktemp("endless")
    rows = sum(map(sum, groups))
    batch = min(batch, rows)
    spec = id_spec(folder, write_ids(folder, groups), batch=batch, shuffle=shuffle, infinite=True)
    batches = (3 * rows) // batch + 2
    with Loader(spec, seed=seed, threads=threads) as loader:
        assert read_ids(loader, batches) == list(islice(model_order(rows, shuffle, seed), batches * batch))


@pytest.mark.parametrize("shuffle", [0, 17])
@pytest.mark.parametrize("infinite", [False, True])
@pytest.mark.parametrize("world", [1, 2, 3, 8])
def test_ranks_share_one_order(tmp_path: Path, shuffle: int, infinite: bool, world: int) -> None:
    names = write_ids(tmp_path, [[10, 1, 0, 25], [], [30]])
    rows, batch = 66, 24 // world
    spec = id_spec(tmp_path, names, batch=batch, shuffle=shuffle, infinite=infinite)
    loaders = [Loader(spec, seed=7, rank=rank, world=world) for rank in range(world)]
    order = list(islice(model_order(rows, shuffle, 7), 400)) if infinite else model_epoch(rows, shuffle, 7, 0)
    steps = 10 if infinite else len(loaders[0])
    got = []
    for _ in range(steps):
        batches = [loader.next() for loader in loaders]
        cursors = [b.cursor for b in batches if b]
        assert all(cursor == cursors[0] for cursor in cursors)
        got += [i for b in batches if b for i in ids_of(b)]
    assert got == order[:steps * batch * world]
    if not infinite:
        assert steps == rows // (batch * world) and all(loader.next() is None for loader in loaders)
        assert loaders[0].dropped == rows % (batch * world)
    for loader in loaders:
        loader.close()


def test_partial_batch_is_shared_among_ranks(tmp_path: Path) -> None:
    names = write_ids(tmp_path, [[11]])
    spec = id_spec(tmp_path, names, batch=2)
    loaders = [Loader(spec, rank=rank, world=4, partial=True) for rank in range(4)]
    assert [len(loader) for loader in loaders] == [2] * 4
    for loader in loaders:
        loader.next()
    last = [loader.next() for loader in loaders]
    assert [ids_of(b) for b in last if b] == [[8, 9], [10], [], []]
    assert [b.records for b in last if b] == [2, 1, 0, 0]
    assert all(b.arrays["ids"].shape == (2, 2) for b in last if b)
    assert last[1] is not None and last[1].arrays["id"].tolist() == [10, 0]  # the rows that lack are zero
    assert all(loader.next() is None for loader in loaders)


def test_partial_rows_are_zero_in_a_slab_used_before(tmp_path: Path) -> None:
    names = write_ids(tmp_path, [[50]])
    with Loader(id_spec(tmp_path, names, batch=4), partial=True, prefetch=1) as loader:
        for batch in loader:
            if batch.records < 4:
                assert batch.records == 2 and batch.arrays["id"].tolist() == [48, 49, 0, 0]
            batch.release()


def test_epochs_and_seeds_and_stages_differ(tmp_path: Path) -> None:
    orders = [model_epoch(200, 50, seed, epoch, stage) for seed in (0, 1) for epoch in (0, 1) for stage in ("a", "b")]
    assert len({tuple(order) for order in orders}) == len(orders)


def test_shuffle_is_even(tmp_path: Path) -> None:
    """With the whole epoch in the buffer every row is about as likely at every place."""
    rows, epochs = 8, 4000
    counts = [[0] * rows for _ in range(rows)]
    for epoch in range(epochs):
        for place, row in enumerate(model_epoch(rows, rows, 0, epoch)):
            counts[row][place] += 1
    expected = epochs / rows
    assert all(abs(count - expected) < 6 * expected**0.5 for line in counts for count in line)


@pytest.mark.parametrize("groups", [[[1] * 300], [[3000]], [[0, 0, 5, 0], [0], [], [7]]], ids=["tiny", "huge", "empty"])
@pytest.mark.parametrize("shuffle", [0, 64])
def test_row_groups_of_all_sizes(tmp_path: Path, groups: list[list[int]], shuffle: int) -> None:
    rows = sum(map(sum, groups))
    spec = id_spec(tmp_path, write_ids(tmp_path, groups), batch=3, shuffle=shuffle)
    with Loader(spec, partial=True, lookahead=1000) as loader:
        assert read_ids(loader) == model_epoch(rows, shuffle, 0, 0)
