"""The gradient of batch norm through the statistics of its batch, against central differences of its definition."""

from __future__ import annotations

import numpy as np
from differences import slopes
from experiment import Trained

SHAPES = {"rows": (6, 3), "image": (2, 3, 2, 4), "alone": (5, 1)}
CALL = """(let ((x (param "{0}.x" [{1}] :init (normal 1.0))) (gain (param "{0}.gain" [{2}] :init (normal 1.0)))
                 (bias (param "{0}.bias" [{2}] :init (normal 1.0))))
             (sum (* (reshape (slice g 1 {3} {4}) [{1}]) (batch-norm x gain bias :name "{0}"))))"""


def definition(x, gain, bias):
    axes = tuple(range(x.ndim - 1))
    centred = x - x.mean(axes)
    return centred / np.sqrt((centred**2).mean(axes) + 1e-5) * gain + bias


def test_gradients_are_the_slopes_of_the_definition(tmp_path):
    starts = np.cumsum([0, *(int(np.prod(s)) for s in SHAPES.values())])
    calls = " ".join(CALL.format(name, " ".join(map(str, s)), s[-1], starts[i], starts[i + 1])
                     for i, (name, s) in enumerate(SHAPES.items()))
    trained = Trained(f"""
(defvar train-loader
  (loader :sources [(files ["none.parquet"])] :fields [(field :g :shape [{starts[-1]}])] :batch-size 1 :infinite true))
(defun prepare (batch) (list :inputs (field batch :g) :targets (field batch :g)))
(defun model (g) (+ {calls}))
(defun objective (outputs targets) outputs)
(defvar optimizer (sgd :lr 1.0))
""", tmp_path)
    before = trained.state()
    g = np.random.default_rng(0).standard_normal((1, starts[-1])).astype(np.float32)
    trained.step({"g": g})
    after = trained.state()
    for i, (name, shape) in enumerate(SHAPES.items()):
        weight = g[0, starts[i]:starts[i + 1]].reshape(shape).astype(np.float64)
        given = {part: before[f"{name}.{part}"].astype(np.float64) for part in ("x", "gain", "bias")}
        for part, value in given.items():
            want = slopes(lambda v, part=part, given=given, weight=weight: float(
                (definition(**(given | {part: v})) * weight).sum()), value)
            gradient = before[f"{name}.{part}"] - after[f"{name}.{part}"]
            np.testing.assert_allclose(gradient, want, atol=5e-5 * max(1, np.abs(want).max()), err_msg=f"{name} {part}")
