"""What the frontend's tests share: values of expressions, and whole experiments out of a skeleton."""

from __future__ import annotations

from pathlib import Path

from iree.compiler import ir
from sexpgpu.compiler.frontend.deep_stack import with_deep_stack
from sexpgpu.compiler.frontend.evaluator import Evaluator
from sexpgpu.compiler.frontend.experiment import StagedModule, check
from sexpgpu.compiler.frontend.report import Reporter
from sexpgpu.compiler.frontend.sources import Files
from sexpgpu.compiler.frontend.toplevel import load
from sexpgpu.diagnostics import Diagnostic, SourceMap
from sexpgpu.diagnostics.house_style import check_message

#: The parts of a small regression, each of which a test may replace.
PARTS = {
    "train-loader": """(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields [(field :x :shape [3]) (field :y) (field :n :dtype :i32)]   ; allow W-CONTRACT-026
          :batch-size 4
          :infinite true))""",
    "prepare": "(defun prepare (batch) (list :inputs (field batch :x) :targets (field batch :y)))",
    "model": '(defun model (x) (sum (* x (param "w" [3] :init zeros)) :axis 1))',
    "objective": "(defun objective (outputs targets) (mean (square (- outputs targets))))",
    "optimizer": """(defvar optimizer
  (optimizer :hyper (list :lr 0.1)
             :update (fn (p g state hyper) (list :param (- p (* (get hyper :lr) g)) :state state))))""",
}


def experiment(*, extra: str = "", **parts: str | None) -> str:
    """The skeleton, with parts replaced (`train_loader="…"`) or left out (None)."""
    named = {name.replace("_", "-"): text for name, text in parts.items()}
    assert named.keys() <= PARTS.keys(), named.keys() - PARTS.keys()
    chosen = {**PARTS, **named}
    return "\n".join([*(text for text in chosen.values() if text is not None), extra]) + "\n"


def check_text(text: str, folder: Path, overrides: dict[str, str] | None = None
               ) -> tuple[StagedModule | None, list[Diagnostic]]:
    path = folder / "experiment.sexp"
    path.write_text(text, encoding="utf-8")
    staged, found = check(path, overrides=overrides or {}, sources=SourceMap())
    _in_house_style(found)
    # `sexpc check` stages less than `sexpc build`, and finds the same.
    silent = Reporter()
    silent.silent = True
    assert check(path, overrides=overrides or {}, sources=SourceMap(), module=False, reporter=silent)[1] == found
    return staged, found


def _in_house_style(found: list[Diagnostic]) -> None:
    for diagnostic in found:
        assert check_message(diagnostic) == []


def codes(text: str, folder: Path, **options: dict[str, str]) -> list[str]:
    return [d.code for d in check_text(text, folder, **options)[1]]


def evaluate(text: str, folder: Path) -> tuple[object, list[Diagnostic]]:
    """The value of the last form of `text` (as the defvar `result`), and what was reported."""
    path = folder / "expression.sexp"
    path.write_text(text, encoding="utf-8")
    return with_deep_stack(lambda: _evaluate(path))


def _evaluate(path: Path) -> tuple[object, list[Diagnostic]]:
    reporter = Reporter()
    sources = SourceMap()
    files = Files(path, sources, reporter)
    if reporter.errors:
        return None, reporter.found
    evaluator = Evaluator(sources, reporter, {})
    with evaluator.staging.context, ir.Location.unknown(), evaluator.staging.scratch():
        load(evaluator, files.forms)
        reporter.release()
        _in_house_style(reporter.found)
        found = evaluator.user.table.get("result")
        return (found.value if found else None), reporter.found
