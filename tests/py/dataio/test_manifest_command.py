"""`sexpc manifest`: what it writes is what pyarrow sees, and what the loader takes."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dataio_helpers import ID_FIELDS, read_ids, write, write_ids
from sexpgpu.cli.sexpc import main
from sexpgpu.runtime.dataio import Loader, LoaderSpec, ManifestSource, StageSpec


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(path: str = "manifest.json") -> dict[str, Any]:
    return json.loads(Path(path).read_text())


def rows(uri: str, split: str | None = None) -> list[int]:
    spec = LoaderSpec(ID_FIELDS, (StageSpec("main", (ManifestSource(uri, split, None, None),)),), 1)
    with Loader(spec) as loader:
        return read_ids(loader)


def errors(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["manifest", *words]) in (2, 3)
    return capsys.readouterr().err


def test_it_says_what_pyarrow_sees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = write_ids(tmp_path, [[30, 20], [], [7] * 5])
    assert main(["manifest", *names]) == 0
    data = written()
    assert data["kind"] == "sexpgpu.manifest" and data["version"] == 1
    split = data["splits"]["train"]
    assert (split["records"], split["bytes"]) == (85, sum(os.path.getsize(n) for n in names))
    for name, shard in zip(names, split["shards"], strict=True):
        metadata = pq.ParquetFile(name).metadata
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        assert (shard["uri"], shard["records"], shard["encoding"]) == (name, metadata.num_rows, "parquet")
        assert [b[3] for b in shard.get("blocks", [])] == [g.num_rows for g in groups]
        for (offset, length, _, _), group in zip(shard.get("blocks", []), groups, strict=False):
            columns = [group.column(i) for i in range(group.num_columns)]
            assert offset == min(c.dictionary_page_offset or c.data_page_offset for c in columns)
            assert length == sum(c.total_compressed_size for c in columns)
    assert rows("manifest.json") == list(range(85))
    out = capsys.readouterr().out
    assert "85 records in `train`" in out and '(manifest "manifest.json" :split "train")' in out
    assert "(field :ids :dtype :i64 :shape [2])" in out
    assert main(["manifest", "--check", "manifest.json"]) == 0
    assert capsys.readouterr().out == "as listed: 3 files in `train`\n"


def test_folders_are_read_in_the_order_of_names(tmp_path: Path) -> None:
    for folder in ("b", "a/z"):
        (tmp_path / folder).mkdir(parents=True)
        write_ids(tmp_path / folder, [[5]])
    (tmp_path / "a" / "readme.txt").write_text("no data")
    assert main(["manifest", ".", "-o", "m.json"]) == 0
    assert [s["uri"] for s in written("m.json")["splits"]["train"]["shards"]] == [
        "a/z/part-0.parquet", "b/part-0.parquet"]
    assert main(["manifest", "b", "a", "a/z/part-0.parquet", "-o", "b/m.json"]) == 0
    shards = [s["uri"] for s in written("b/m.json")["splits"]["train"]["shards"]]
    assert shards == ["part-0.parquet", str(tmp_path / "a/z/part-0.parquet")]
    assert len(rows("b/m.json")) == 10


def test_links_keep_their_names(tmp_path: Path) -> None:
    """As in a cache, where files are links to blobs whose names say nothing."""
    for folder in ("blobs", "snapshot"):
        (tmp_path / folder).mkdir()
    [name] = write_ids(tmp_path / "blobs", [[5]])
    (tmp_path / "blobs" / name).rename(tmp_path / "blobs" / "0123abcd")
    (tmp_path / "snapshot" / "a.parquet").symlink_to("../blobs/0123abcd")
    assert main(["manifest", "snapshot", "-o", "snapshot/m.json"]) == 0
    assert written("snapshot/m.json")["splits"]["train"]["shards"][0]["uri"] == "a.parquet"
    assert rows("snapshot/m.json") == list(range(5))


def test_splits_are_kept_on_request(tmp_path: Path) -> None:
    names = write_ids(tmp_path, [[30], [7]])
    assert main(["manifest", names[0]]) == 0
    first = written()["revision"]
    assert main(["manifest", names[1], "--split", "validation", "--update", "--name", "both"]) == 0
    data = written()
    assert list(data["splits"]) == ["train", "validation"] and data["name"] == "both" and data["revision"] != first
    assert len(rows("manifest.json", "train")) == 30 and len(rows("manifest.json", "validation")) == 7
    assert main(["manifest", names[1]]) == 0
    assert list(written()["splits"]) == ["train"]


def test_a_check_finds_all_that_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = write_ids(tmp_path, [[30], [20], [10], [5]])
    assert main(["manifest", *names, "--sha256"]) == 0
    (tmp_path / "new").mkdir()
    write_ids(tmp_path / "new", [[31]])
    (tmp_path / "new" / "part-0.parquet").rename(tmp_path / names[0])
    data = bytearray((tmp_path / names[1]).read_bytes())
    data[10] ^= 1
    (tmp_path / names[1]).write_bytes(data)
    found = errors(capsys, "--check", "manifest.json")
    assert "`part-0.parquet` has 30 records, and it has 31" in found and "E-STORE-006" in found
    assert "part-2" not in found
    (tmp_path / names[2]).unlink()
    (tmp_path / names[3]).write_bytes(b"PAR1")
    found = errors(capsys, "--check", "manifest.json")
    assert "no file `part-2.parquet`" in found and "`part-3.parquet` is cut" in found
    assert "`part-0.parquet` has 30 records, and it has 31" in found and "E-STORE-006" in found


def test_what_is_wrong_is_told_before_anything_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_ids(tmp_path, [[3]])
    (tmp_path / "odd.bin").write_bytes(b"x")
    (tmp_path / "empty").mkdir()
    for words, tells in (
        ([], "takes a FILE"), (["odd.bin"], "encoding of `odd.bin` cannot be told"),
        (["none.parquet"], "no file `none.parquet`"), (["empty"], "no files of a known encoding"),
        (["part-0.parquet", "-o", "empty"], "is a folder"), (["part-0.parquet", "--threads", "0"], "`--threads`"),
        (["part-0.parquet", "--encoding", "parkett"], "did you mean `parquet`"),
        (["part-0.parquet", "-o", "none/m.json"], "could not be written"),
        (["odd.bin", "--encoding", "parquet"], "not a Parquet file"),
        (["part-0.parquet", "--update", "-o", "m.json"], "no file `m.json`"),
    ):
        assert tells in errors(capsys, *words), words
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty", "odd.bin", "part-0.parquet"]


def test_it_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = write_ids(tmp_path, [[3]])
    assert main(["manifest", *names]) == 0
    assert stat.S_IMODE(os.stat("manifest.json").st_mode) & 0o600 == 0o600
    before = Path("manifest.json").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert main(["manifest", *names, "--split", "x"]) == 3
    assert Path("manifest.json").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir() if "partial" in p.name] == []


def test_hints_follow_the_first_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a.parquet", {
        "image": pa.array([[[1.0, 2.0, 3.0]] * 2], pa.list_(pa.list_(pa.float32(), 3))),
        "label": pa.array([3], pa.uint8()),
        "text": pa.array(["x"]), "loss_mask": pa.array([[True] * 4]), "when": pa.array([None], pa.timestamp("s"))})
    assert main(["manifest", "a.parquet"]) == 0
    assert written()["fields"] == [
        {"name": "image", "column": "image", "dtype": "f32", "shape": [2, 3]},
        {"name": "label", "column": "label", "dtype": "u8", "shape": []},
        {"name": "loss-mask", "column": "loss_mask", "dtype": "bool", "shape": [4]}]
    assert '(field :loss-mask :from "loss_mask" :dtype :bool :shape [4])' in capsys.readouterr().out
