"""IREE verifies its own work, which builds leave out for its time, on one small experiment of everything common."""

from __future__ import annotations

from sexpgpu.compiler.frontend.experiment import check
from sexpgpu.compiler.passes.build import BuildOptions, compile_module
from sexpgpu.compiler.passes.iree.driver import CompileOptions
from sexpgpu.compiler.passes.iree.targets import parse_target
from sexpgpu.diagnostics import SourceMap

TEXT = """
(defvar train-loader
  (loader :sources [(files ["none.parquet"])] :fields [(field :x :shape [8 8 4]) (field :y :dtype :i32)] :batch-size 16
          :infinite true))
(defun prepare (batch) (counter :rows 16) (list :inputs (field batch :x) :targets (field batch :y)))
(defun layer (h i)
  (scope "layer" i
    (let* ((q (reshape h [16 2 32 16])))
      (+ h (dropout (reshape (attention q q (* q (param "v" [16])) :causal true) (shape h)) 0.1)))))
(defun model (x)
  (let* ((h (max-pool (batch-norm (conv x (param "w" [3 3 4 16]) :padding :same) (param "gain" [16]) nil) 2))
         (h (repeat 2 layer (reshape (concat [h h h h] :axis 1) [16 64 16])))
         (h (scan (fn (c x) (let ((c (tanh (+ c x)))) (list c c))) (zeros [16 16]) (transpose h [1 0 2]))))
    (matmul (first h) (param "classes" [16 10]))))
(defun objective (outputs targets) (metric :top (mean (max outputs :axis -1))) (cross-entropy outputs targets))
(defvar optimizer (adamw :lr 1e-3 :clip-norm 1.0 :weight-decay 0.1))
"""


def test_what_iree_makes_of_an_experiment_is_valid(tmp_path):
    path = tmp_path / "experiment.sexp"
    path.write_text(TEXT)
    staged, found = check(path, overrides={}, sources=SourceMap())
    assert staged is not None, [(d.code, d.message) for d in found]
    with staged.module.context:
        assert compile_module(staged.module, parse_target("cpu"),
                              BuildOptions(compile=CompileOptions(bundle_folder=tmp_path, verify=True)))
