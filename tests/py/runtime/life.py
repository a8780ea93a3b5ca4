"""The experiment of `life.sexp`, its data, its artifact, and running it in this process with a cut somewhere."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sexpgpu.cli.run import main
from sexpgpu.cli.sexpc import main as sexpc
from sexpgpu.runtime.dataio import Loader

HERE = Path(__file__).parent
ROWS = {"a": 90, "b": 50, "v": 22}
STEPS = 60


def table(name: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(sum(name.encode()))
    x = rng.normal(size=(ROWS[name], 4)).astype(np.float32)
    mask = (rng.random(ROWS[name]) < 0.7).astype(np.float32)
    mask[:4] = (0, 1, 0, 0)   # a batch whose weight is one
    return {"x": x, "y": np.sin(x).sum(1).astype(np.float32), "m": mask}


def make_data(folder: Path) -> None:
    for name in ROWS:
        columns = table(name)
        pq.write_table(pa.table({"x": pa.array(list(columns["x"])), "y": columns["y"], "m": columns["m"]}),
                       folder / f"{name}.parquet", row_group_size=16)
    for name in ("a", "b"):
        assert sexpc(["manifest", str(folder / f"{name}.parquet"), "-o", str(folder / f"{name}.json")]) == 0


def build(folder: Path, *changes: tuple[str, str]) -> Path:
    """The artifact, with some of the text of the experiment replaced."""
    text = (HERE / "life.sexp").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    source = folder / "life.sexp"
    source.write_text(text, encoding="utf-8")
    assert sexpc(["build", str(source), "-o", str(folder / "life.vmfb")]) == 0
    return folder / "life.vmfb"


def cut_at(batch: int):
    """A loader that sends this process a SIGINT before the `batch`-th batch of training or passes, counted together."""
    count = 0

    class Cut(Loader):
        def next(self):
            nonlocal count
            count += 1
            if count == batch:
                os.kill(os.getpid(), signal.SIGINT)
            return super().next()
    return Cut


def run(artifact: Path, out: Path, *flags: str, cut: int = 0) -> int:
    return main([str(artifact), "--out", str(out), *flags], cut_at(cut) if cut else Loader)
