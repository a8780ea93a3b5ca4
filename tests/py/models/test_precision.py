"""Narrow products beside f32 parameters; scaled losses; averages of parameters, which evaluations read."""

from __future__ import annotations

import numpy as np
import pytest
from experiment import Trained

TEXT = """
(defvar fields [(field :x :shape [16]) (field :y :dtype :i32)])
(defvar train-loader (loader :sources [(files ["none.parquet"])] :fields fields :batch-size 8 :infinite true))
(defun prepare (batch) (list :inputs (field batch :x) :targets (field batch :y)))
(defun model (x)
  (matmul (tanh (matmul x (param "w" [16 32] :init he-normal))) (param "v" [32 4] :init he-normal)))
(defun objective (outputs targets) (cross-entropy outputs targets))
"""
ADAM = "(defvar optimizer (adamw :lr 0.01))"


def batches(count: int) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [{"x": rng.standard_normal((8, 16)).astype(np.float32), "y": rng.integers(0, 4, 8).astype(np.int32)}
            for _ in range(count)]


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    return Trained(TEXT + ADAM, tmp_path_factory.mktemp("wide")).losses(batches(20))


@pytest.mark.parametrize(("settings", "tolerance"), [
    (":compute :bf16", 2e-2), (":compute :f16 :loss-scale 1024", 4e-3), (":compute :f16 :loss-scale :dynamic", 4e-3)])
def test_narrow_products_train_alike(settings, tolerance, wide, tmp_path):
    trained = Trained(f"{TEXT}{ADAM}(defvar precision (precision {settings}))", tmp_path)
    assert {p.dtype for p in trained.manifest.parameters} == {"f32"}
    found = trained.losses(batches(20))
    np.testing.assert_allclose(found, wide, rtol=tolerance)
    assert found != wide, "something is rounded"
    if "scale" in settings:
        dynamic = "dynamic" in settings
        before = trained.state()
        assert ("loss-scale" in before) == dynamic
        overflowing = {**batches(1)[0], "x": np.full((8, 16), 1e30, np.float32)}
        metrics = trained.step(overflowing)
        after = trained.state()
        assert metrics[-1] == 1, "the step is skipped"
        for name in ("w", "v", "w.m"):
            np.testing.assert_array_equal(after[name], before[name])
        if dynamic:
            assert after["loss-scale"] == before["loss-scale"] / 2
            assert (before["loss-scale.good"], after["loss-scale.good"]) == (20, 0)


def test_evaluations_read_the_average(tmp_path):
    keep = 0.75
    trained = Trained(TEXT + f"(defvar optimizer (sgd :lr 0.5 :ema {keep}))"
                      '(defvar evaluations [(evaluation :name "v" :loader train-loader :batches 1)])', tmp_path)
    average = trained.parameters()
    for batch in batches(5):
        trained.step(batch)
        average = {name: keep * old + (1 - keep) * trained.parameters()[name] for name, old in average.items()}
    state = trained.state()
    for name, array in average.items():
        np.testing.assert_allclose(state[f"{name}.ema"], array, rtol=1e-5, atol=1e-6)
    batch = batches(1)[0]
    logits = np.tanh(batch["x"] @ average["w"]) @ average["v"]
    wanted = (np.log(np.exp(logits).sum(1)) - logits[np.arange(8), batch["y"]]).mean()
    found = trained.session.evaluate(0, batch, (0, 0, 0, 0), [0.5])
    assert np.isclose(np.array(found)[0], wanted, rtol=1e-5)
