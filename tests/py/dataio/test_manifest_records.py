"""Manifests of record files: block tables that the formats' own libraries agree with, and reading that starts there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dataio_helpers import diagnostic_of
from record_files import RECORD_ENCODINGS, encode, oracle
from sexpgpu.cli.sexpc import main
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio import FieldSpec, Loader, LoaderSpec, ManifestSource, StageSpec

FIELDS = (FieldSpec("id", "id", "i64", ()), FieldSpec("x", "x", "f32", (3,)))


def make(folder: Path, encoding: str, sizes: tuple[int, ...] = (400, 0, 1, 900), first: int = 0) -> list[str]:
    """Files of many members or frames; record i is `{"id": i, "x": [i, i, i]}`."""
    folder.mkdir(exist_ok=True)
    names = []
    for number, size in enumerate(sizes):
        records = [{"id": i, "x": [float(i)] * 3, "text": "x" * (i % 50)} for i in range(first, first + size)]
        lengths = np.cumsum([len(encode([r], encoding.split(".")[0])) for r in records]) if records else []
        cuts = [int(n) for n in lengths[49::50]] + [100, 5001]  # most at the end of a record, some within one
        (folder / f"part-{number}.{encoding}").write_bytes(encode(records, encoding, cuts))
        names.append(f"part-{number}.{encoding}")
        first += size
    return names


def spec(folder: Path, *uris: str, batch: int = 10, shuffle: int = 0, infinite: bool = False,
         weights: tuple[float | None, ...] = ()) -> LoaderSpec:
    sources = tuple(ManifestSource(uri, None, weight, None)
                    for uri, weight in zip(uris, weights or (None,) * len(uris), strict=True))
    return LoaderSpec(FIELDS, (StageSpec("main", sources, shuffle, infinite),), batch, str(folder))


def ids(loader: Loader, batches: int | None = None) -> list[int]:
    found: list[int] = []
    while batches is None or batches > 0:
        batch = loader.next()
        if batch is None:
            break
        rows = batch.arrays["id"][:batch.records]
        assert (batch.arrays["x"][:batch.records] == rows[:, None]).all()
        found += rows.tolist()
        batches = None if batches is None else batches - 1
    return found


@pytest.mark.parametrize("encoding", RECORD_ENCODINGS)
def test_blocks_are_what_the_libraries_read_there(tmp_path: Path, encoding: str) -> None:
    make(tmp_path / "d", encoding)
    assert main(["manifest", str(tmp_path / "d"), "-o", str(tmp_path / "d" / "m.json")]) == 0
    data = json.loads((tmp_path / "d" / "m.json").read_text())
    assert data["splits"]["train"]["records"] == 1301
    assert data["fields"][0] == {"name": "id", "column": "id", "dtype": "i64", "shape": []}
    most = 0
    for shard in data["splits"]["train"]["shards"]:
        raw = (tmp_path / "d" / shard["uri"]).read_bytes()
        records = oracle(raw, encoding)
        assert (shard["bytes"], shard["records"]) == (len(raw), len(records))
        most = max(most, len(shard["blocks"]))
        for offset, length, first, count in shard["blocks"]:
            piece = raw[offset:offset + length]
            assert oracle(piece, encoding) == records[first:first + count] if piece else count == 0
    assert main(["manifest", "--check", str(tmp_path / "d" / "m.json")]) == 0


@pytest.mark.parametrize("encoding", RECORD_ENCODINGS)
@pytest.mark.parametrize("shuffle", [0, 100])
def test_rows_and_any_resume(tmp_path: Path, encoding: str, shuffle: int) -> None:
    make(tmp_path / "d", encoding)
    assert main(["manifest", str(tmp_path / "d"), "-o", str(tmp_path / "d" / "m.json")]) == 0
    made = spec(tmp_path, "d/m.json", shuffle=shuffle)
    with Loader(made, seed=2, partial=True) as loader:
        assert loader.rows == 1301
        whole = ids(loader)
        assert sorted(whole) == list(range(1301))
        for cut in (0, 1, 39, 41, 130):
            loader.rewind()
            before = ids(loader, cut)
            with Loader(made, partial=True, cursor=loader.state()) as again:
                assert before + ids(again) == whole


def test_a_resume_reads_from_a_block_on(tmp_path: Path) -> None:
    """Far into a file of many frames: what lies before is not read again."""
    rows = 200_000
    text = [json.dumps({"id": i, "x": [i, i, i]}) + "\n" for i in range(rows)]
    import zstandard

    frames = [zstandard.compress("".join(text[i:i + 1000]).encode()) for i in range(0, rows, 1000)]
    (tmp_path / "a.jsonl.zst").write_bytes(b"".join(frames))
    size = sum(map(len, frames))
    assert main(["manifest", str(tmp_path / "a.jsonl.zst"), "-o", str(tmp_path / "m.json")]) == 0
    assert len(json.loads((tmp_path / "m.json").read_text())["splits"]["train"]["shards"][0]["blocks"]) > 5
    made = spec(tmp_path, "m.json", batch=1000)
    with Loader(made, threads=1, prefetch=1) as loader:
        for _ in range(190):
            assert loader.next() is not None
        state = loader.state()
    with Loader(made, threads=1, prefetch=1, cursor=state) as again:
        assert ids(again, 1) == list(range(190_000, 191_000))
        assert ids(again) == list(range(191_000, rows))
        assert again.stats().bytes_read < 0.3 * size + (4 << 20)


@pytest.mark.parametrize("encoding", ["jsonl.gz", "msgpack.zstf", "jsonl"])
@pytest.mark.parametrize("change", [-1, 1])
def test_counts_that_disagree_name_both(tmp_path: Path, encoding: str, change: int) -> None:
    make(tmp_path / "d", encoding, (30, 20))
    manifest = tmp_path / "d" / "m.json"
    assert main(["manifest", str(tmp_path / "d"), "-o", str(manifest)]) == 0
    for at in (0, 1):
        data: dict[str, Any] = json.loads(manifest.read_text())
        del data["revision"], data["splits"]["train"]["records"]
        shard = data["splits"]["train"]["shards"][at]
        shard["records"] += change
        shard["blocks"] = [[0, shard["bytes"], 0, shard["records"]]]
        (tmp_path / "d" / "wrong.json").write_text(json.dumps(data))
        with pytest.raises(SexpError) as caught, Loader(spec(tmp_path, "d/wrong.json", batch=1)) as loader:
            ids(loader)
        d = diagnostic_of(caught)
        told = " ".join([d.message, *d.notes])
        assert d.code == "E-DATA-032" and f"d/part-{at}.{encoding}" in told and "d/wrong.json" in told


def test_weights_mix_manifests(tmp_path: Path) -> None:
    """At any time within one row of the weights; a source of weight 0 is never looked at."""
    make(tmp_path / "a", "jsonl.gz", (300,))
    make(tmp_path / "b", "msgpack.zstf", (100,), first=10_000)
    for name in "ab":
        assert main(["manifest", str(tmp_path / name), "-o", str(tmp_path / name / "m.json")]) == 0
    made = spec(tmp_path, "a/m.json", "b/m.json", "none.json", batch=1, weights=(3.0, 1.0, 0.0))
    with Loader(made) as loader:
        order = ids(loader)
    assert [i for i in order if i < 10_000] == list(range(300))
    assert [i for i in order if i >= 10_000] == list(range(10_000, 10_100))
    for rows in range(1, 401):
        assert abs(sum(i >= 10_000 for i in order[:rows]) - rows / 4) <= 1
