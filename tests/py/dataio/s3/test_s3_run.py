"""An experiment whose data lies in S3, behind a manifest: from the source to a trained model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fault_proxy import Fault, FaultProxy
from s3_server import Server
from sexpgpu.cli.sexpc import main
from test_s3_faults import plan_of

pytest.importorskip("iree.compiler")

EXPERIMENT = """
(defvar train-loader
  (loader :sources [(manifest "s3://data/run/m.json" :split "train")]
          :fields [(field :x :shape [3]) (field :y)] :shuffle 50 :infinite true :batch-size 8))
(defun prepare (batch) (list :inputs (field batch :x) :targets (field batch :y)))
(defun model (x) (+ (matmul x (param "w" [3] :init zeros)) (param "b" [] :init zeros)))
(defun objective (outputs targets) (mse outputs targets))
(defvar optimizer (sgd :lr 0.1))
(defvar run (run :steps 60))
"""


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *map(str, words)], text=True, capture_output=True, timeout=300,
                          env=dict(os.environ))


@pytest.fixture
def server(moto_server: Server) -> Server:
    return moto_server


def test_a_model_learns_from_s3(server: Server, proxy: FaultProxy, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for part in range(3):
        x = random.normal(size=(200, 3)).astype(np.float32)
        path = tmp_path / f"{part}.parquet"
        table = {"x": pa.FixedSizeListArray.from_arrays(x.reshape(-1), 3), "y": pa.array(x @ np.float32([1, -2, 3]))}
        pq.write_table(pa.table(table), path, row_group_size=40)
        server.put(f"run/{part}.parquet", path)
    assert main(["manifest", "s3://data/run/", "-o", "s3://data/run/m.json"]) == 0
    (tmp_path / "e.sexp").write_text(EXPERIMENT)
    built = run("sexpgpu.cli.sexpc", "build", tmp_path / "e.sexp", "-o", tmp_path / "e.vmfb")
    assert built.returncode == 0, built.stderr
    checked = run("sexpgpu.cli.run", tmp_path / "e.vmfb", "--preflight")
    assert checked.returncode == 0 and "3 files, 600 rows" in checked.stdout, checked.stderr

    proxy.plan = plan_of(0, 0.3, lambda _: Fault(status=503, code="SlowDown"))
    trained = run("sexpgpu.cli.run", tmp_path / "e.vmfb", "--out", tmp_path / "out")
    assert trained.returncode == 0, trained.stderr
    lines = [json.loads(line) for line in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["train/loss"] < 0.01 * lines[0]["train/loss"]
    assert lines[-1]["loader/retries"] > 0 and lines[-1]["loader/bytes"] > 0

    # The preflight holds every shard against the manifest, not only the first.
    for part in (1, 2):
        pq.write_table(pq.read_table(tmp_path / f"{part}.parquet").slice(0, 199), tmp_path / "short.parquet")
        server.put(f"run/{part}.parquet", tmp_path / "short.parquet")
    proxy.plan = lambda _: Fault()
    checked = run("sexpgpu.cli.run", tmp_path / "e.vmfb", "--preflight")
    assert checked.returncode == 3
    for part in (1, 2):
        assert f"`s3://data/run/m.json` says that `s3://data/run/{part}.parquet` has 200 records" in checked.stderr
