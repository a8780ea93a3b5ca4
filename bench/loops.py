"""Time and memory of a loop by its length: a `scan` with its gradient, 64 to 4,096 rounds.

    python bench/loops.py [--rounds 5]

A cell h ← tanh(h W + x), 16 × 64, all of whose outputs count. Each length is an artifact of its own; they run in turns.
Printed are microseconds a round, which stay what they are where a loop is linear in its length.
"""

from __future__ import annotations

from sexpgpu.runtime.allocator import start_over

start_over()

import argparse  # noqa: E402
import statistics  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
from sexpgpu.compiler.frontend.experiment import check  # noqa: E402
from sexpgpu.compiler.passes.build import build  # noqa: E402
from sexpgpu.diagnostics import SourceMap  # noqa: E402
from sexpgpu.runtime.artifact.read import read_artifact  # noqa: E402
from sexpgpu.runtime.session import Device, Session, aligned  # noqa: E402

LENGTHS = (64, 256, 1024, 4096)
TEXT = """
(defvar time 64)
(defvar train-loader
  (loader :sources [(files ["none.parquet"])] :fields [(field :x :shape [time 64])] :batch-size 16 :infinite true))
(defun prepare (batch) (let ((x (field batch :x))) (list :inputs (transpose x [1 0 2]) :targets x)))
(defun model (xs)
  (let ((w (param "w" [64 64] :init (normal 0.05))))
    (last (scan (fn (h x) (let ((h (tanh (+ (matmul h w) x)))) (list h h))) (zeros [16 64]) xs))))
(defun objective (outputs targets) (mean (square outputs)))
(defvar optimizer (sgd :lr 0.1))
"""


def prepared(length: int, folder: Path) -> Session:
    path, out = folder / "experiment.sexp", folder / f"{length}.vmfb"
    path.write_text(TEXT)
    staged, found = check(path, overrides={"time": str(length)}, sources=SourceMap())
    assert staged is not None, found
    with staged.module.context:
        build(staged.module, "cpu", out)
    session = Session(read_artifact(out), Device("local-task", 2))
    session.init(0)
    return session


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        sessions = {n: prepared(n, Path(folder)) for n in LENGTHS}
        batches = {n: {"x": aligned((16, n, 64), np.dtype("float32"))} for n in LENGTHS}
        for batch in batches.values():
            batch["x"][...] = 0.1
        taken: dict[int, list[float]] = {n: [] for n in LENGTHS}
        for step in range(rounds + 1):
            for n, session in sessions.items():
                begun = time.perf_counter()
                session.microbatch(batches[n], (0, step, 0, 0), [0.1])
                session.update([0.1], 1)
                taken[n].append(time.perf_counter() - begun)
    for n, seconds in taken.items():
        print(f"{n:6} rounds: {statistics.median(seconds[1:]) * 1e3:8.2f} ms, "
              f"{min(seconds[1:]) / n * 1e6:6.1f} us a round at best")


if __name__ == "__main__":
    main()
