"""The staged module: roles, markers, the optimizer's update, and the manifest that goes with it."""

import json

import pytest
from frontend_support import check_text, experiment
from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.experiment import check
from sexpgpu.diagnostics import SourceMap

MARKED = """
(defun prepare (batch)
  (counter :rows (dim (field batch :x) 0))
  (counter :mass (sum (field batch :y)))
  (list :inputs (field batch :x) :targets (field batch :y) :scale (field batch :n)))
"""
MODEL = """
(defun model (x)
  (let ((seen (buffer "seen" [])))
    (update-buffer "seen" (+ seen 1.0))
    (scope "layer" 0
      (sum (* x (param "w" [3] :init zeros :decay true) (param "g" [] :init 1 :decay false)
              (param "f" [3] :trainable false))
           :axis 1))))
"""
OBJECTIVE = """
(defun objective (o t metadata)
  (metric :bias (mean o) :weight 2.0)
  (metric :top (max o) :reduce :max)
  (* (mean (square (- o t))) (schedule :beta (fn (ctx) (get ctx :progress)))))
"""
EVALUATION = """
(defvar val (loader :sources [(files ["v.parquet"])] :fields [(field :x :shape [3]) (field :y) (field :n)]
                    :batch-size 5))
(defvar evaluations [(evaluation :name "val" :loader val)])
(defun curriculum (ctx) "main")
(defvar run (run :steps 10 :log-every 5 :resume :auto))
"""
OPTIMIZER = """
(defvar optimizer
  (optimizer :hyper (list :lr (fn (ctx) (* 0.1 (get ctx :step))) :mass 0.9)
             :init (fn (p) (list :v (zeros-like p) :n 0))
             :update (fn (p g state hyper)
               (let ((v (+ (* (get state :v) (get hyper :mass)) g)))
                 (list :param (- p (* (get hyper :lr) v)) :state (list :n (+ (get state :n) 1) :v v))))
             :clip-norm 1.0 :clip-value 0.5 :weight-decay 0.01 :skip-nonfinite true
             :groups [["*.g" :lr 0.5]]))
"""


@pytest.fixture
def staged(tmp_path):
    module, diagnostics = check_text(experiment(prepare=MARKED, model=MODEL, objective=OBJECTIVE, optimizer=OPTIMIZER,
                                                extra=EVALUATION), tmp_path)
    assert diagnostics == []
    return module


def functions(module: ir.Module) -> dict[str, ir.Operation]:
    return {ir.StringAttr(op.attributes["sym_name"]).value: op.operation for op in module.body.operations}


def markers(function: ir.Operation) -> list[tuple[str, dict[str, object]]]:
    found = []
    for op in function.regions[0].blocks[0].operations:
        kind = hlo.marker_kind(op)
        if kind:
            facts = ir.DictAttr(op.operation.attributes["backend_config"])
            found.append((kind, {named.name: str(named.attr).strip('"') for named in facts}))
    return found


def type_of(function: ir.Operation) -> str:
    return str(function.attributes["function_type"])


def test_roles(staged):
    roles = {name: ir.StringAttr(f.attributes["sexp.role"]).value for name, f in functions(staged.module).items()}
    assert roles == {
        "train": "train", "init.seen": "init", "init.layer.0.w": "init", "init.layer.0.g": "init",
        "init.layer.0.f": "init", "evaluate.val": "evaluate", "evaluate.val.row": "evaluate",
        "optimizer_init": "optimizer_init", "optimizer": "optimizer", "ctx.lr": "ctx", "ctx.beta": "ctx",
        "ctx.curriculum": "ctx"}
    assert staged.module.operation.verify()


def test_types(staged):
    f = functions(staged.module)
    assert type_of(f["train"]) == "(tensor<4x3xf32>, tensor<4xf32>, tensor<4xi32>) -> tensor<f32>"
    assert type_of(f["evaluate.val.row"]) == "(tensor<1x3xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<f32>"
    assert type_of(f["init.layer.0.w"]) == "() -> tensor<3xf32>"
    assert type_of(f["optimizer_init"]) == \
        "(tensor<3xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<i32>, tensor<f32>, tensor<i32>)"
    state = "tensor<3xf32>, tensor<i32>, tensor<f32>, tensor<i32>"
    assert type_of(f["optimizer"]) == (
        f"(tensor<3xf32>, tensor<f32>, tensor<3xf32>, tensor<f32>, {state}, tensor<f32>, tensor<f32>, tensor<f32>) -> "
        f"(tensor<3xf32>, tensor<f32>, {state}, tensor<f32>, tensor<i32>)")
    assert type_of(f["ctx.lr"]).endswith("-> f64")
    assert type_of(f["ctx.curriculum"]).endswith("-> i64")
    assert type_of(f["ctx.lr"]).count("64") == len(staged.manifest["ctx"]) + 1


def test_markers(staged):
    f = functions(staged.module)
    assert markers(f["train"]) == [
        ("counter", {"name": "rows"}), ("counter", {"name": "mass"}), ("buffer", {"name": "seen"}),
        ("update_buffer", {"name": "seen"}),
        ("param", {"name": "layer.0.w", "trainable": "true", "decay": "true"}),
        ("param", {"name": "layer.0.g", "trainable": "true", "decay": "false"}),
        ("param", {"name": "layer.0.f", "trainable": "false", "decay": "true"}),
        ("metric", {"name": "bias", "reduce": "mean", "weighted": "true"}),
            ("metric", {"name": "top", "reduce": "max", "weighted": "false"}),
        ("schedule", {"name": "beta"})]
    kinds = [kind for kind, _ in markers(f["evaluate.val"])]
    assert kinds == ["buffer", "param", "param", "param", "metric", "metric", "schedule"]


def test_manifest(staged):
    m = staged.manifest
    assert json.loads(ir.StringAttr(staged.module.operation.attributes["sexp.manifest"]).value) == m
    assert [p["name"] for p in m["parameters"]] == ["layer.0.w", "layer.0.g", "layer.0.f"]
    assert [s["name"] for s in m["state"]] == ["layer.0.w", "layer.0.g", "layer.0.f", "seen", "layer.0.w.v",
                                              "layer.0.w.n", "layer.0.g.v", "layer.0.g.n"]
    assert m["counters"] == [{"name": "rows", "dtype": "i64"}, {"name": "mass", "dtype": "f64"}]
    assert [(e["name"], e["reduce"], e["offset"], e["counter"]) for e in m["metrics"]["train"]] == [
        ("loss", "mean", 0, False), ("bias", "mean", 2, False), ("top", "max", 4, False), ("mass", "sum", 5, True)]
    assert m["metrics"]["size"] == 8
    assert [(s["name"], s["constant"]) for s in m["schedules"]] == [
        ("lr", None), ("mass", 0.9), ("lr.*.g", 0.5), ("beta", None)]
    assert [k["key"] for k in m["ctx"]][-4:] == ["rows", "stage-rows", "mass", "stage-mass"]
    assert m["evaluations"][0]["row_export"] == "evaluate_0_row"
    assert m["run"] == {"steps": 10, "log-every": 5, "resume": "auto"}
    assert m["fields"][0] == {"name": "x", "dtype": "f32", "shape": [4, 3]}


def test_an_experiment_is_called_as_its_file_or_its_folder(tmp_path):
    folder = tmp_path / "digits"
    folder.mkdir()
    staged, _ = check_text(experiment(), folder)
    assert staged.manifest["name"] == "digits" and staged.manifest["source"]["file"] == "experiment.sexp"
    mlp = (folder / "experiment.sexp").rename(folder / "mlp.sexp")
    assert check(mlp, overrides={}, sources=SourceMap())[0].manifest["name"] == "mlp"


def test_locations_are_the_source_with_its_calls(staged):
    (multiply, *_) = [op for op in functions(staged.module)["train"].regions[0].blocks[0].operations
                      if op.operation.name == "stablehlo.multiply"]
    location = multiply.location
    assert isinstance(location, ir.CallSiteLoc)
    assert location.callee.name_str == "model"
    assert location.callee.child_loc.start_line > 1


def test_an_optimizer_is_checked(found):
    def text(**parts: str) -> str:
        init = parts.get("init", "(fn (p) (list :v (zeros-like p)))")
        update = parts.get("update", "(fn (p g s h) (list :param p :state s))")
        more = parts.get("more", "")
        hyper = parts.get("hyper", "(list :lr 0.1)")
        return experiment(optimizer=f"(defvar optimizer (optimizer :hyper {hyper} :init {init} :update {update} "
                                    f"{more}))")

    assert found(text()) == []
    for wrong in ({"init": "(fn (p) 3)"}, {"init": "(fn (p) (list :v :k))"}, {"update": "(fn (p g s h) p)"},
                  {"update": "(fn (p g s h) (list :param (sum p) :state s))"}, {"update": "3"}, {"init": "3"},
                  {"update": "(fn (p g s h) (list :param p :state (list :w p)))"}, {"hyper": "(list :lr nil)"},
                  {"update": "(fn (p g s h) (list :param p :state (list :v 1)))"}, {"hyper": "3"},
                  {"more": ":clip-norm -1"}, {"more": ":skip-nonfinite 1"}, {"more": ":weight-decay :x"},
                  {"more": ":groups 3"}, {"more": ':groups [["w" :beta 2]]'},
                  {"hyper": "(list :rate 1)", "more": ":weight-decay 0.1"}):
        assert found(text(**wrong)) == ["E-CONTRACT-022"], wrong
    assert found(text(more=':groups [["nothing*" :lr 1.0]]')) == ["E-CONTRACT-018"]
    assert found(text(more=':groups [["w" :frozen true]]')) == []
    assert found(text(more=":ema 0.99")) == []
    assert found(text(more=":ema 1")) == ["E-CONTRACT-022"]
    assert found(text(more=":momentum 0.9")) == ["E-ARITY-003"]
    assert found(text(update="(fn (p g s) s)")) == ["E-ARITY-001"]


def test_a_tensor_at_the_top_level_is_staged_where_it_is_used(checked):
    staged, diagnostics = checked(experiment(extra="(defvar mask (ones [3]))",
                                             model='(defun model (x) (sum (* x mask (param "w" [3])) :axis 1))'))
    assert diagnostics == []
    assert staged.module.operation.verify()


def test_a_mistake_in_a_tensor_at_the_top_level(found):
    assert found(experiment(extra="(defvar mask (matmul (ones [3 2]) (ones [3 2])))")) == ["E-SHAPE-002"]


BRANCHES = [
    ("(if (> (sum x) 0.0) (* x 2.0) x)", ["stablehlo.select"]),
    ("(if (> (sum x) 0.0) (matmul x (ones [3 3])) x)", ["stablehlo.if"]),
    ("(if (> (sum x) 0.0) x 0.0)", ["stablehlo.select"]),
    ("(get (if (> (sum x) 0.0) (list :a x :b 1) (list :a (neg x) :b 1)) :a)", ["stablehlo.select"]),
    ("(* x (cond ((> (sum x) 1.0) 1.0) ((> (sum x) 0.0) 0.5) (else 0.25)))", ["stablehlo.select"] * 2),
    ("(if (and (> (sum x) 0.0) true (< (sum x) 9.0)) x (neg x))", ["stablehlo.select"]),
    ("(if (or nil (> (sum x) 0.0) (not (< (sum x) 9.0))) x (neg x))", ["stablehlo.select"]),
    ("(if x x 0.0)", []),
]


@pytest.mark.parametrize(("expression", "expected"), BRANCHES, ids=[e for e, _ in BRANCHES])
def test_staged_branches(checked, expression, expected):
    model = f'(defun model (x) (let ((y {expression})) (sum (* y (param "w" [3])) :axis 1)))'
    staged, diagnostics = checked(experiment(model=model))
    assert diagnostics == []
    names = [op.operation.name for op in functions(staged.module)["train"].regions[0].blocks[0].operations]
    assert [n for n in names if n in ("stablehlo.select", "stablehlo.if")] == expected
    assert not any(n.startswith(("scf.", "arith.")) for n in names)


@pytest.mark.parametrize(("expression", "code"), [
    ("(if (> (sum x) 0.0) x (sum x))", "E-TYPE-014"), ("(if (> (sum x) 0.0) x (cast x :i32))", "E-TYPE-014"),
    ("(if (> (sum x) 0.0) x)", "E-TYPE-014"), ("(if (> (sum x) 0.0) x [x x])", "E-TYPE-014"),
    ("(if (> x 0.0) x (neg x))", "E-TYPE-009"), ("(if (sum x) x (neg x))", "E-TYPE-009"),
])
def test_wrong_branches(found, expression, code):
    model = f'(defun model (x) (let ((y {expression})) (sum (* y (param "w" [3])) :axis 1)))'
    assert found(experiment(model=model)) == [code]


def test_initialisers(checked):
    inits = ("zeros", "ones", "0.5", "3", "(fn (shape) (full shape 2.0))", "(normal 0.02)", "(constant 1.0)",
             "xavier-normal")
    terms = " ".join(f'(param "p{i}" [3 3] :init {init})' for i, init in enumerate(inits))
    staged, diagnostics = checked(experiment(model=f"(defun model (x) (sum (matmul x (+ {terms})) :axis 1))"))
    assert diagnostics == []
    assert len([n for n in functions(staged.module) if n.startswith("init.")]) == len(inits)

