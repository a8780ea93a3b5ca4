"""`repeat` is the loop over layers that it stands for: numbers to the last bits, names and files, at any depth."""

from __future__ import annotations

import numpy as np
import pytest
from experiment import Trained
from sexpgpu.runtime.artifact.manifest import StateTensor
from sexpgpu.runtime.checkpoint.tensors import TensorFile, layers_of, read_state, write
from sexpgpu.runtime.checkpoint.weights import init_from

HEAD = """
(defvar layers 5)
(defvar train-loader
  (loader :sources [(files ["none.parquet"])] :fields [(field :x :shape [6]) (field :y :shape [6])] :batch-size 4
          :infinite true))
(defun prepare (batch) (list :inputs (field batch :x) :targets (field batch :y)))
(defun objective (outputs targets) (mse outputs targets))
(defun layer (h i)
  (scope "block" i
    (+ h (tanh (+ (matmul h (param "w" [6 6])) (param "b" [6] :init zeros :decay false))))))
"""
LOOPS = {"repeat": "(defun model (x) (repeat layers layer x))",
         "for": "(defun model (x) (reduce layer (range layers) x))"}
OPTIMIZERS = {"adamw": "(adamw :lr 0.01 :weight-decay 0.1 :clip-norm 1.0)", "muon": "(muon :lr 0.01)",
              "groups": "(adamw :lr 0.01 :weight-decay 0.1 :clip-norm 0.5 :groups"
                        " [[\"block.3.*\" :frozen true] [\"block.1.w\" :lr 0.05 :weight-decay 0.0]])",
              # A sort is no operation that gets one more axis: the layers are taken one by one.
              "by-layer": "(optimizer :hyper (list :lr 0.1) :init (fn (p) (list :top (zeros [])))"
                          " :update (fn (p g state hyper) (list :param (- p (* 0.1 (sort g)))"
                          " :state (list :top (max (abs g))))))"}


def batches(count: int) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [{name: rng.standard_normal((4, 6)).astype(np.float32) for name in "xy"} for _ in range(count)]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    made = {}

    def of(optimizer: str) -> dict[str, Trained]:
        if optimizer not in made:
            made[optimizer] = {kind: Trained(f"{HEAD}{model}(defvar optimizer {OPTIMIZERS[optimizer]})",
                                             tmp_path_factory.mktemp(kind)) for kind, model in LOOPS.items()}
        return made[optimizer]

    return of


@pytest.mark.parametrize("optimizer", [name for name in OPTIMIZERS if name != "groups"])
def test_trains_as_the_layers_one_by_one(optimizer, pair):
    both = pair(optimizer)
    found = {kind: trained.losses(batches(6)) for kind, trained in both.items()}
    np.testing.assert_allclose(found["repeat"], found["for"], rtol=1e-6)
    stacked, single = both["repeat"].state(), both["for"].state()
    for name, array in stacked.items():
        for i, part in enumerate(array):
            own = name.replace("*", str(i))
            # AdamW's count of steps is one for all layers where these stand one by one.
            want = single[own if own in single else "optimizer.n"]
            np.testing.assert_allclose(part, want, rtol=1e-4, atol=1e-6, err_msg=f"{name}, layer {i}")


def test_groups_name_layers(pair):
    """One frozen, one of a rate of its own: as where the layers stand one by one."""
    both = pair("groups")
    first = both["repeat"].parameters()["block.*.w"].copy()
    found = {kind: trained.losses(batches(6)) for kind, trained in both.items()}
    np.testing.assert_allclose(found["repeat"], found["for"], rtol=1e-6)
    stacked, single = both["repeat"].parameters(), both["for"].parameters()
    for i in range(5):
        np.testing.assert_allclose(stacked["block.*.w"][i], single[f"block.{i}.w"], rtol=1e-4, atol=1e-6)
    moved = [not np.array_equal(a, b) for a, b in zip(first, stacked["block.*.w"], strict=True)]
    assert moved == [True, True, True, False, True]


def test_a_file_has_a_tensor_for_each_layer(pair, tmp_path):
    """Weights of one model start the other."""
    both = pair("muon")
    for kind, other in (("for", "repeat"), ("repeat", "for")):
        source, target = both[kind], both[other]
        rows = [t for t in source.manifest.state if t.role == "parameter"]
        arrays = source.state()
        parts = [(shape, part) for t in rows for shape, part in zip(
            layers_of(t), arrays[t.name].reshape(len(layers_of(t)), *layers_of(t)[0].shape), strict=True)]
        write(tmp_path / f"{kind}.safetensors", [s for s, _ in parts], [a for _, a in parts])
        assert sorted(TensorFile(tmp_path / f"{kind}.safetensors").shapes) == sorted(
            f"block.{i}.{name}" for i in range(5) for name in "wb")
        init_from(str(tmp_path / f"{kind}.safetensors"), target.session)
        again = target.parameters()
        for t in target.manifest.state:
            if t.role == "parameter":
                np.testing.assert_array_equal(read_state(TensorFile(tmp_path / f"{kind}.safetensors"), t),
                                              again[t.name])


def test_names_of_layers():
    tensor = StateTensor("a.*.b.*.c", (2, 3, 4), "f32", "parameter")
    assert [s.name for s in layers_of(tensor)] == [f"a.{i}.b.{j}.c" for i in range(2) for j in range(3)]
    assert {s.shape for s in layers_of(tensor)} == {(4,)}


NESTED = HEAD + """
(defun model (x)
  (repeat 3 (fn (h i)
              (repeat 2 (fn (h j) (scope "inner" j (dropout (* h (param "g" [6] :init ones)) 0.5))) h))
          (+ (* 0.0 x) 1.0)))
(defvar optimizer (sgd :lr 1.0))
"""


def test_layers_draw_numbers_of_their_own_and_again_on_the_way_back(tmp_path):
    """The loss of the identity with dropout: a gradient that is not zero is there where no mask was zero."""
    trained = Trained(NESTED.replace("(mse outputs targets)", "(mean outputs)"), tmp_path)
    zeros = {name: np.zeros((4, 6), np.float32) for name in "xy"}
    loss = float(trained.step(zeros)[0])
    gradient = (1 - trained.parameters()["*.inner.*.g"]) * 24
    assert gradient.shape == (3, 2, 6)
    for part in gradient.reshape(6, 6):
        np.testing.assert_allclose(part, gradient[0, 0], err_msg="each layer's gradient is the sum over the outputs")
    assert np.isclose(gradient[0, 0].sum() / 24, loss)
    assert loss < 16, "one mask for all six layers would keep half of the elements, each 64"
