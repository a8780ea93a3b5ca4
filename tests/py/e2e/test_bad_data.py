"""Data as it comes: several encodings and stages, records that do not fit, from the experiment to the run folder."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgpack
import numpy as np
import pytest
import zstandard
from commands import run

EXPERIMENT = """
(defvar train-loader
  (loader :stages [(stage :name "easy" :sources [(files ["data/a.jsonl.gz" "data/b.msgpack.zstf"])] :shuffle 120
                          :infinite true)
                   (stage :name "hard" :sources [(files ["data/c.lines"] :encoding :jsonl)] :infinite true)]
          :fields [(field :x :from "in.x" :shape [3]) (field :y)]
          :batch-size 8))
(defun curriculum (ctx) (if (< (get ctx :step) 20) "easy" "hard"))
(defun prepare (batch) (list :inputs (field batch :x) :targets (field batch :y)))
(defun model (x) (+ (matmul x (param "w" [3] :init zeros)) (param "b" [] :init zeros)))
(defun objective (outputs targets) (mse outputs targets))
(defvar val-loader (loader :sources [(files ["data/b.msgpack.zstf"])]
                           :fields [(field :x :from "in.x" :shape [3]) (field :y)] :batch-size 8))
(defvar evaluations [(evaluation :name "val" :loader val-loader :every 10)])
(defvar optimizer (sgd :lr 0.1))
(defvar run (run :steps 40 :checkpoint-every 5))
"""


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experiment")
    (folder / "e.sexp").write_text(EXPERIMENT)
    run("sexpc", "build", folder / "e.sexp", "-o", folder / "e.vmfb")
    return folder / "e.vmfb"


def write_data(folder: Path, bad: bool) -> None:
    random = np.random.default_rng(0)
    xs = random.normal(size=(500, 3)).astype(np.float32)
    records = [{"in": {"x": x.tolist()}, "y": float(x @ [1, -2, 3])} for x in xs]
    if bad:
        records[250] = {"in": {"x": [1.0]}, "y": 0.0}
    (folder / "data").mkdir()
    lines = [json.dumps(r).encode() + b"\n" for r in records]
    (folder / "data" / "a.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[:200])))
    packed = b"".join(map(msgpack.packb, records[200:300]))
    (folder / "data" / "b.msgpack.zstf").write_bytes(zstandard.compress(packed))
    (folder / "data" / "c.lines").write_bytes(b"".join(lines[300:]))


def test_preflight_shows_all_problems_and_trains_nothing(artifact: Path, tmp_path: Path) -> None:
    missing = run("sexpgpu-run", artifact, "--preflight", "--data-root", tmp_path, ok=False)
    assert missing.returncode == 3
    for name in ("a.jsonl.gz", "b.msgpack.zstf", "c.lines"):
        assert missing.stderr.count(f"data/{name}`") == 1
    write_data(tmp_path, bad=False)
    good = run("sexpgpu-run", artifact, "--preflight", "--data-root", tmp_path, cwd=tmp_path)
    assert "train-loader, stage `easy`: 2 files, rows are counted as they are read" in good.stdout
    assert "pass val, stage `main`: 1 file, 100 rows" in good.stdout and "nothing was trained" in good.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data"]
    (tmp_path / "data" / "c.lines").write_text('{"in": {"x": [1, 2]}, "y": 1}\n')
    (tmp_path / "data" / "a.jsonl.gz").write_bytes(b"text")
    bad = run("sexpgpu-run", artifact, "--preflight", "--data-root", tmp_path, ok=False)
    assert bad.returncode == 3 and "E-DATA-003" in bad.stderr and "E-STORE-003" in bad.stderr


def test_a_bad_record_ends_a_run_that_goes_on_without_it(artifact: Path, tmp_path: Path) -> None:
    write_data(tmp_path, bad=True)
    words = ["sexpgpu-run", artifact, "--data-root", tmp_path, "--out", tmp_path / "run"]
    ended = run(*words, ok=False)
    assert ended.returncode == 3 and "E-DATA-003" in ended.stderr
    assert "`data/b.msgpack.zstf` record 50: the field `:x` wants f32 [3], it has [1]" in ended.stderr
    done = run(*words, "--on-bad-data", "skip-record")
    assert "left out: `data/b.msgpack.zstf` record 50" in done.stdout + done.stderr
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, 41))
    assert lines[-1]["eval/val/loss"] < 0.1
    assert {"loader/wait-ms", "loader/ready", "loader/bytes", "loader/skipped"} <= set(lines[-1])
    assert max(line.get("loader/skipped", 0) for line in lines) == 1
    listed = [json.loads(line) for line in (tmp_path / "run" / "skipped.jsonl").read_text().splitlines()]
    assert {(x.get("stage"), x.get("evaluation"), x["file"], x["record"], x["code"]) for x in listed} == {
        ("easy", None, "data/b.msgpack.zstf", 50, "E-DATA-003"), (None, "val", "data/b.msgpack.zstf", 50, "E-DATA-003")}
    assert len(listed) == 2
