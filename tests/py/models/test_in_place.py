"""The optimizer changes parameters and its state where they lie: nothing else may lie there."""

from pathlib import Path

import numpy as np
from experiment import Trained

#: Moments begin equal, and equal to a parameter; the average of a parameter begins as that parameter.
PROGRAM = """
(defvar train-loader
  (loader :sources [(files ["none.parquet"])] :fields [(field :x :shape [64])] :batch-size 8 :infinite true))
(defun prepare (batch) (list :inputs (field batch :x) :targets (field batch :x)))
(defun model (x)
  (+ (matmul (tanh (matmul x (param "a" [64 64]))) (param "b" [64 64]))
     (matmul x (param "none" [64 64] :init zeros))))
(defun objective (outputs targets) (mean (square (- outputs (* 0.5 targets)))))
(defvar optimizer (adamw :lr 0.01 :ema 0.9))
"""


def test_what_begins_equal_stays_apart(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    batches = [{"x": rng.standard_normal((8, 64)).astype(np.float32)} for _ in range(8)]
    runs = []
    for number, disabled in enumerate(((), ("updates-avx2",))):
        folder = tmp_path / str(number)
        folder.mkdir()
        run = Trained(PROGRAM, folder, disabled=disabled)
        states = [run.state()]
        for i, batch in enumerate(batches):
            if i == 3:
                run.session.restart_optimizer()
            if i == 6:   # one array for all that have its shape
                given = run.state()
                one = given["a.m"]
                run.session.state_set({n: one if n in ("a.m", "b.m", "none.m") else v for n, v in given.items()})
            run.step(batch)
            states.append(run.state())
        runs.append(states)
    for ours, plain in zip(*runs, strict=True):
        assert ours.keys() == plain.keys() and len(ours) >= 12
        for name, array in ours.items():
            np.testing.assert_allclose(array, plain[name], rtol=2e-5, atol=1e-7, err_msg=name)


def test_a_copy_of_the_state_stays(tmp_path: Path) -> None:
    run = Trained(PROGRAM, tmp_path)
    batch = {"x": np.ones((8, 64), np.float32)}
    run.step(batch)
    before = run.state()
    held = {name: array.copy() for name, array in before.items()}
    given = {name: array.copy() for name, array in before.items()}
    run.session.state_set(given)
    run.step(batch)
    assert all((before[n] == held[n]).all() and (given[n] == held[n]).all() for n in held)
    assert any((run.state()[n] != held[n]).any() for n in held)
