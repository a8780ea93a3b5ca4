"""What a layer of a `repeat` reports and keeps is what the layers one by one would: metrics, counters, buffers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from experiment import Batch, Trained, found
from sexpgpu.compiler.frontend.experiment import check
from sexpgpu.compiler.passes.build import run_pipeline
from sexpgpu.compiler.passes.iree.targets import parse_target
from sexpgpu.diagnostics import SourceMap
from sexpgpu.runtime.checkpoint.tensors import TensorFile, layers_of, read_state, write

LAYERS = 5
HEAD = f"""
(defvar layers {LAYERS})
(defvar train-loader
  (loader :sources [(files ["none.parquet"])] :fields [(field :x :shape [6]) (field :y :shape [6])] :batch-size 8
          :infinite true))
(defvar val-loader
  (loader :sources [(files ["none.parquet"])] :fields [(field :x :shape [6]) (field :y :shape [6])] :batch-size 8))
(defvar evaluations [(evaluation :name "val" :loader val-loader)])
(defun prepare (batch) (list :inputs (field batch :x) :targets (field batch :y)))
(defun objective (outputs targets) (mse outputs targets))
(defvar optimizer (adamw :lr 0.01))
(defun normed (h)
  (batch-norm (matmul h (param "w" [6 6] :init he-normal)) (param "gain" [6] :init ones)
              (param "bias" [6] :init zeros)))
"""

#: What a layer does with `h` and its number `i`, in scope.
BODIES = {
    "batch norm": "(+ h (relu (normed h)))",
    "a remat": """
      (let ((y (remat (metric (str "size-" i) (norm h)) (relu (normed h)))))
        (metric (format "largest-~d" i) (max y) :reduce :max)
        (metric (str "weighed-" i) (mean y) :weight (sum (cast (> y 0) :f32)))
        (+ h y))""",
    "all of it in a remat": "(remat (metric (str \"top-\" i) (max h)) (+ h (relu (normed h))))",
    "buffers read after an update": """
      (let ((calls (buffer "calls" [6])) (seen (buffer "seen" [6] :init ones)))
        (update-buffer "calls" (+ calls (stop-gradient (mean h :axis 0))))
        (let ((again (buffer "calls" [6]))
              (y (remat (update-buffer "seen" (stop-gradient (max h :axis 0))) (tanh (normed h)))))
          (update-buffer "calls" (* again 0.5))
          (+ h (* y (* (tanh again) (buffer "seen" [6] :init ones))))))""",
}
QUICK = ("a remat", "buffers read after an update")
LOOPS = {"repeat": "(repeat layers layer x)", "for": "(reduce layer (range layers) x)"}


def program(body: str, loop: str) -> str:
    return f'{HEAD}(defun layer (h i) (scope "block" i {body}))\n(defun model (x) {LOOPS[loop]})'


def batches(count: int, seed: int = 0) -> list[Batch]:
    rng = np.random.default_rng(seed)
    return [{name: rng.standard_normal((8, 6)).astype(np.float32) for name in "xy"} for _ in range(count)]


def metrics(rows, vector) -> dict[str, tuple[float, ...]]:
    return {m.name: tuple(vector[m.offset:m.offset + (2 if m.reduce == "mean" else 1)]) for m in rows}


def evaluated(trained: Trained, batch: Batch) -> dict[str, tuple[float, ...]]:
    (passed,) = trained.manifest.evaluations
    vector = trained.session.evaluate(0, batch, (0, 0, 0, 0), [s.constant for s in trained.manifest.schedules])
    return metrics(passed.metrics, np.asarray(vector))


def by_layer(trained: Trained) -> dict[str, np.ndarray]:
    """Parameters and buffers under the names that a checkpoint gives them."""
    arrays = trained.state()
    return {own.name: part for t in trained.manifest.state if t.role != "optimizer"
            for own, part in zip(layers_of(t), arrays[t.name].reshape(len(layers_of(t)), *layers_of(t)[0].shape),
                                 strict=True)}


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    @cache
    def of(body: str, layers: int) -> dict[str, Trained]:
        return {loop: Trained(program(body, loop), tmp_path_factory.mktemp(loop), layers=str(layers)) for loop in LOOPS}

    return of


#: Where there are more than eight layers, what leaves the loop is filled in blocks.
CASES = [*((name, LAYERS) for name in BODIES), ("a remat", 12)]


@pytest.mark.parametrize(("name", "layers"), [
    case if case in [(name, LAYERS) for name in QUICK] else pytest.param(*case, marks=pytest.mark.slow)
    for case in CASES])
def test_trains_and_evaluates_as_the_layers_one_by_one(name, layers, pair):
    both = pair(BODIES[name], layers)
    seen = {}
    for loop, trained in both.items():
        steps = [metrics(trained.manifest.metrics.train, trained.step(batch)) for batch in batches(6)]
        seen[loop] = [*steps, evaluated(trained, batches(1, 9)[0])]
    for stacked, single in zip(seen["repeat"], seen["for"], strict=True):
        assert sorted(stacked) == sorted(single)
        for metric, value in single.items():
            np.testing.assert_allclose(stacked[metric], value, rtol=2e-5, atol=1e-6, err_msg=metric)
    stacked, single = (by_layer(both[loop]) for loop in ("repeat", "for"))
    assert sorted(stacked) == sorted(single)
    for variable, value in single.items():
        np.testing.assert_allclose(stacked[variable], value, rtol=1e-4, atol=1e-5, err_msg=variable)


def test_a_resumed_run_goes_on_as_the_unbroken_one(pair, tmp_path):
    """Bit for bit, by way of a file that has a tensor for each layer."""
    unbroken = pair(BODIES["a remat"], LAYERS)["repeat"]
    unbroken.session.init(0)
    unbroken.done = 0
    rows = unbroken.manifest.state
    unbroken.losses(batches(3))
    arrays = unbroken.state()
    shapes = [(own, part) for t in rows for own, part in zip(
        layers_of(t), arrays[t.name].reshape(len(layers_of(t)), *layers_of(t)[0].shape), strict=True)]
    write(tmp_path / "state.safetensors", [own for own, _ in shapes], [part for _, part in shapes])
    file = TensorFile(tmp_path / "state.safetensors")
    assert {f"block.{i}.batch-norm.{name}" for i in range(LAYERS) for name in ("mean", "var")} <= set(file.shapes)
    later = [unbroken.step(batch) for batch in batches(3, 1)]
    kept = unbroken.state()
    unbroken.session.init(7)
    unbroken.session.state_set({t.name: read_state(file, t) for t in rows})
    unbroken.done = 3
    for one, other in zip(later, [unbroken.step(batch) for batch in batches(3, 1)], strict=True):
        np.testing.assert_array_equal(one, other)
    for name, array in unbroken.state().items():
        np.testing.assert_array_equal(array, kept[name], err_msg=name)


#: Layers in layers that draw masks, in a `remat`, and report them beside numbers that say where they were reported.
DROPPED = """
(defun prepare (batch)
  (repeat 3 (fn (x i)
              (counter :seen (numel x))
              (counter :number i)
              (counter (str "part-" i) (+ i 1))
              (counter :share 0.5)
              x)
          (field batch :x))
  (list :inputs (field batch :x) :targets (field batch :y)))
(defun cell (h i j)
  (let ((v (+ (* (cast i :f32) 10.0) (cast j :f32))))
    (metric :mean v)
    (metric :weighed v :weight (cast i :f32))
    (metric :twice v :weight 2)
    (metric :total v :reduce :sum)
    (metric :top (stop-gradient v) :reduce :max)
    (metric :low v :reduce :min)
    (metric :end v :reduce :last)
    (metric (str "row-" i) v)
    (metric (str "column-" j) v :reduce :sum)
    (metric (str "cell-" i "-" j) v)
    (scope "mask" i (scope "of" j
      (let ((kept (buffer "kept" [])) (scale (param "scale" [] :init ones)))
        (remat
          (let ((mask (dropout (ones [64]) 0.5)))
            (metric (str "kept-" i "-" j) (mean mask))
            (update-buffer "kept" (+ kept (mean mask)))
            (+ h (* scale (mean mask))))))))))
(defun model (x)
  (repeat 3 (fn (h i) (metric :outer (cast i :f32)) (repeat 2 (fn (h j) (cell h i j)) h)) (* 0.0 (mean x))))
(defun objective (outputs targets) outputs)
(defvar optimizer (sgd :lr 1.0))
"""


def test_layers_in_layers_report_by_name_or_together(tmp_path):
    """Every value is known: those of the masks from the loss, their sum, and from the gradients of their scales."""
    head = HEAD[:HEAD.index("(defun prepare")]
    trained = Trained(head + DROPPED, tmp_path)
    outcome = trained.session.microbatch(batches(1)[0], (0, 0, 0, 0), [1.0])
    trained.session.update([1.0], 1)
    seen = metrics(trained.manifest.metrics.train, np.array([*outcome.metrics, 0, 0]))
    value = {name: v[0] / v[1] if len(v) == 2 else v[0] for name, v in seen.items()}
    v = np.array([[10 * i + j for j in range(2)] for i in range(3)], np.float64)
    weights = np.array([[i] * 2 for i in range(3)])
    expected = {"mean": v.mean(), "weighed": (v * weights).sum() / weights.sum(), "twice": v.mean(), "total": v.sum(),
                "top": v.max(), "low": 0, "end": 21, "outer": 1, "share": 1.5}
    expected |= {f"row-{i}": v[i].mean() for i in range(3)} | {f"column-{j}": v[:, j].sum() for j in range(2)}
    expected |= {f"cell-{i}-{j}": v[i, j] for i in range(3) for j in range(2)}
    masks = np.array([[value.pop(f"kept-{i}-{j}") for j in range(2)] for i in range(3)])
    loss = value.pop("loss")
    assert sorted(value) == sorted(expected)
    for name, wanted in expected.items():
        np.testing.assert_allclose(value[name], wanted, rtol=1e-6, err_msg=name)
    assert (seen["mean"][1], seen["weighed"][1], seen["twice"][1]) == (1, weights.sum(), 12)
    exact = [c.name for c in trained.manifest.counters if c.dtype == "i64"]
    assert dict(zip(exact, outcome.counters, strict=True)) == {
        "seen": 3 * 48, "number": 3, "part-0": 1, "part-1": 2, "part-2": 3}
    assert {"part-1", "stage-part-2"} <= {entry.key for entry in trained.manifest.ctx}
    assert len(set(masks.flat)) > 3
    np.testing.assert_allclose(loss, masks.sum(), rtol=1e-6)
    state = trained.state()
    np.testing.assert_allclose(1 - state["mask.*.of.*.scale"], masks, rtol=1e-6)
    np.testing.assert_array_equal(state["mask.*.of.*.kept"], masks.astype(np.float32))


WRONG = {
    '(repeat 3 (fn (h i) (metric (str "n-" i) (norm h)) h) x) (metric "n-2" (norm x))': "E-CONTRACT-017",
    '(repeat 3 (fn (h i) (metric "n" (norm h)) (metric "n" (norm h)) h) x)': "E-CONTRACT-017",
    '(repeat 3 (fn (h i) (metric (str "n*" i) (norm h)) h) x)': "E-CONTRACT-017",
    '(repeat 3 (fn (h i) (metric (str i i) (norm h)) h) x)': "E-CONTRACT-017",
    '(repeat 200 (fn (h i) (repeat 200 (fn (h j) (metric (str i "-" j) (norm h)) h) h)) x)': "E-CONTRACT-017",
    "(scan (fn (h y) (metric :n (norm h)) (list h nil)) x x)": "E-CONTRACT-020",
    "(repeat 3 (fn (h i) (first (scan (fn (h y) (metric :n (norm h)) (list h nil)) h h))) x)": "E-CONTRACT-020",
    "(repeat 3 (fn (h i) (if (> i 1) (progn (metric :n (norm h)) h) h)) x)": "E-CONTRACT-020",
    "(remat (while-loop (fn (h) false) (fn (h) (metric :n (norm h)) h) x))": "E-CONTRACT-020",
    "(gradient (fn (x) (repeat 3 (fn (h i) (metric :n (norm h)) h) (sum x))) x)": "E-CONTRACT-020",
    '(repeat 3 (fn (h i) (scope "b" i (scope "c" i (* h (param "v" [6]))))) x)': "E-CONTRACT-025",
    '(repeat 3 (fn (h i) (repeat 2 (fn (h j) (scope "a" j (scope "b" i (* h (param "v" [6]))))) h)) x)':
        "E-CONTRACT-025",
    '(repeat 3 (fn (h i) (repeat 2 (fn (h j) (scope "a" i (* h (buffer "v" [6])))) h)) x)': "E-CONTRACT-025",
    '(* x (param "v*" [6]))': "E-CONTRACT-025",
    '(buffer "s" [6]) (repeat 3 (fn (h i) (update-buffer "s" h) h) x)': "E-NAME-006",
    '(repeat 3 (fn (h i) (buffer "s" [6]) (update-buffer "s" (sum h)) h) x)': "E-SHAPE-013",
}


@pytest.mark.parametrize("body", WRONG)
def test_what_cannot_be_is_told(body):
    assert [d.code for d in found(f'{HEAD}(defun model (x) {body} (* x (param "w" [6])))')] == [WRONG[body]]


def test_the_module_does_not_grow_with_depth(tmp_path):
    """As staged and after all passes; what takes time to compile is operations. (Stacks of more numbers than are copied
    every round are filled in blocks where there are more than a few layers: `blocks`.)"""
    path = tmp_path / "experiment.sexp"
    path.write_text(program(BODIES["a remat"], "repeat"))

    def operations(layers: int) -> tuple[int, int]:
        staged, _ = check(path, overrides={"layers": str(layers)}, sources=SourceMap())
        before = str(staged.module).count(" = ")
        run_pipeline(staged.module, parse_target("cpu"))
        with staged.module.context:
            return before, str(staged.module).count(" = ")

    assert operations(2) == operations(64)
