"""Time of a loop by its length: a `scan` with its gradient, 64 to 4,096 rounds.

    python bench/loops.py [--rounds 5] [--lengths 64,256,1024,4096] [--without PASS[,PASS]]

A cell h ← tanh(h W + x), 16 × 64, all of whose outputs count. Each length is an artifact of its own, and another one
for each `--without`; they run in turns. Printed are the step, microseconds a round, which stay what they are where a
loop is linear in its length, and how the first artifact of a length compares (median over turns of its time over this
one's). Without the pass `blocks` a loop is quadratic: leave out the longer ones.
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
from builds import add_without, built  # noqa: E402
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


class Loop:
    """The loop of one length, built without some passes, and the seconds of its steps."""

    def __init__(self, length: int, without: tuple[str, ...], folder: Path) -> None:
        self.length, self.without = length, without
        experiment = folder / "experiment.sexp"
        experiment.write_text(TEXT)
        out = built(experiment, folder / "loop.vmfb", without=without, overrides={"time": str(length)})
        self._session = Session(read_artifact(out), Device("local-task", 2))
        self._session.init(0)
        self._batch = {"x": aligned((16, length, 64), np.dtype("float32"))}
        self._batch["x"][...] = 0.1
        self.seconds: list[float] = []

    def step(self) -> None:
        begun = time.perf_counter()
        self._session.microbatch(self._batch, (0, len(self.seconds), 0, 0), [0.1])
        self._session.update([0.1], 1)
        self.seconds.append(time.perf_counter() - begun)


def lengths(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in text.split(","))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_without(parser)
    parser.add_argument("--rounds", type=int, default=5, help="steps of each, after one unmeasured (5)")
    parser.add_argument("--lengths", type=lengths, default=LENGTHS, help="of the loops (64,256,1024,4096)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        loops = [Loop(n, without, Path(folder)) for n in chosen.lengths for without in [(), *chosen.without]]
        for _ in range(chosen.rounds + 1):
            for loop in loops:
                loop.step()
    print("| rounds | built | ms | µs a round | first / this |\n|---|---|---|---|---|")
    first = loops[0]
    for loop in loops:
        first = loop if loop.length != first.length else first
        ratio = statistics.median(a / b for a, b in zip(first.seconds[1:], loop.seconds[1:], strict=True))
        middle = statistics.median(loop.seconds[1:])
        print(f"| {loop.length} | {'without ' + ', '.join(loop.without) if loop.without else 'as it is'} | "
              f"{middle * 1e3:.2f} | {middle / loop.length * 1e6:.1f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
