"""`--preflight` looks at every file there is, and tells all that is wrong in one go."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sexpgpu.cli.sexpc import main
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio import FieldSpec, FilesSource, LoaderSpec, ManifestSource, StageSpec
from sexpgpu.runtime.train import preflight as module

FIELDS = (FieldSpec("x", "x", "i16", (2,)),)
LINES = [{"x": [i, i + 1]} for i in range(100)]


def write_lines(path: Path, records: list[dict[str, object]]) -> None:
    path.write_bytes(gzip.compress("".join(json.dumps(record) + "\n" for record in records).encode()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Thirty shards of each of two encodings, listed in a manifest."""
    (tmp_path / "data").mkdir()
    for i in range(30):
        write_lines(tmp_path / "data" / f"{i:02}.jsonl.gz", LINES)
        pq.write_table(pa.table({"x": [r["x"] for r in LINES]}), tmp_path / "data" / f"{i:02}.parquet")
    assert main(["manifest", str(tmp_path / "data"), "-o", str(tmp_path / "m.json")]) == 0
    return tmp_path


def preflight(*stages: StageSpec, base: Path) -> int:
    spec = LoaderSpec(FIELDS, stages, 4, str(base))
    return module.preflight(SimpleNamespace(loader=spec, evaluations=[]), None)  # type: ignore[arg-type]


def listed(infinite: bool = True) -> StageSpec:
    return StageSpec("main", (ManifestSource("m.json", None, None, None),), 10, infinite)


def test_every_shard_is_opened_and_every_problem_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert preflight(listed(), base=folder) == 0
    assert "60 files, 6,000 rows" in capsys.readouterr().out
    data = folder / "data"
    (data / "03.parquet").unlink()
    (data / "11.jsonl.gz").write_bytes(b"no gzip")
    pq.write_table(pa.table({"y": [[1, 2]] * 100}), data / "17.parquet")
    pq.write_table(pa.table({"x": [r["x"] for r in LINES[:99]]}), data / "22.parquet")
    write_lines(data / "25.jsonl.gz", [*LINES[:50], {"x": [1, 2, 3]}, *LINES[51:]])
    write_lines(data / "28.jsonl.gz", LINES[:98])
    for infinite in (True, False):
        with pytest.raises(SexpError) as caught:
            preflight(listed(infinite), base=folder)
        found = {(d.code, name) for d in caught.value.diagnostics for name in
                 ("03.parquet", "11.jsonl.gz", "17.parquet", "22.parquet", "25.jsonl.gz", "28.jsonl.gz")
                 if f"data/{name}`" in d.message}
        assert {("E-STORE-001", "03.parquet"), ("E-STORE-003", "11.jsonl.gz"), ("E-DATA-001", "17.parquet"),
                ("E-DATA-032", "22.parquet"), ("E-DATA-003", "25.jsonl.gz"), ("E-STORE-007", "28.jsonl.gz")} <= found
        assert len({d.message for d in caught.value.diagnostics}) == len(caught.value.diagnostics)


def test_records_are_counted_where_no_head_tells_them(folder: Path, capsys: pytest.CaptureFixture[str],
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand, so without sizes or blocks that would give it away."""
    shards = [{"uri": f"data/{i:02}.jsonl.gz", "records": 100 if i != 20 else 101} for i in range(30)]
    text = {"kind": "sexpgpu.manifest", "version": 1, "splits": {"train": {"shards": shards}}}
    (folder / "m.json").write_text(json.dumps(text))
    with pytest.raises(SexpError) as caught:
        preflight(listed(), base=folder)
    [problem] = caught.value.diagnostics
    assert problem.code == "E-DATA-032"
    assert "`m.json` says that `data/20.jsonl.gz` has 101 records, and it has 100" in problem.message
    monkeypatch.setattr(module, "_COUNT_BYTES", 3 * (folder / "data" / "00.jsonl.gz").stat().st_size)
    assert preflight(listed(), base=folder) == 0
    assert "27 files were not read through" in capsys.readouterr().out


def test_all_stages_are_looked_at_and_each_problem_is_told_once(folder: Path) -> None:
    bad, worse = FilesSource(("data/none.parquet",), "parquet"), FilesSource(("data/gone.jsonl",), "jsonl")
    good = FilesSource(("data/00.parquet",), "parquet")
    with pytest.raises(SexpError) as caught:
        preflight(StageSpec("a", (bad, good), 0, True), StageSpec("b", (bad, worse), 0, True), base=folder)
    assert [d.code for d in caught.value.diagnostics] == ["E-STORE-001", "E-STORE-001"]
    assert all("--data-root" in d.fix.text for d in caught.value.diagnostics if d.fix)
