"""Which graphs an experiment has: that of training, those of each evaluation, and exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sexpgpu.compiler.frontend.budget import MAX_STEPS
from sexpgpu.compiler.frontend.contract import Contract
from sexpgpu.compiler.frontend.contract_values import Evaluation, Export, Loader
from sexpgpu.compiler.frontend.staging_export import StagedExport, stage_export
from sexpgpu.compiler.frontend.staging_graph import Graph
from sexpgpu.compiler.frontend.trace import Phase, Trace
from sexpgpu.compiler.frontend.values import Dim, Origin, Tensor
from sexpgpu.diagnostics import Diagnostic, Fix, Label, Severity
from sexpgpu.diagnostics.record import replace

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator


class Steps:
    """Stages the training graph, then the evaluations, which must declare no state of their own. Without `finish`, an
    evaluation that would be the training graph once more is not staged."""

    def __init__(self, evaluator: Evaluator, contract: Contract, finish: bool) -> None:
        self._evaluator, self._contract, self._finish = evaluator, contract, finish
        self._graph = Graph(evaluator, contract)
        self.training = Trace(training=True)
        self.loss: Tensor | None = None
        self._work = 0   # calls and turns that the training graph took

    def train(self) -> None:
        definition = self._contract.get("train-loader")
        loader = definition.value if definition and isinstance(definition.value, Loader) else None
        before = self._evaluator.budget.steps
        self.loss = self._graph.stage("train", "train", loader, loader.batch_size if loader else None, self.training,
                                self._contract.get("prepare"), Phase.PREPARE,
                                self._contract.get("objective"), Phase.OBJECTIVE)
        self._work = self._evaluator.budget.steps - before

    def evaluate(self, evaluation: Evaluation) -> Trace:
        """The pass for full batches and, where it reads a finite loader whole, for a batch of one row."""
        found, before = self._evaluator.reporter.found, self._evaluator.reporter.errors
        loader = evaluation.loader
        if not self._finish and self._is_training_again(loader):
            trace = self._without_training()
            trace.schedules |= self.training.schedules
            self._evaluator.budget.step(evaluation.span, self._work)   # so that a build and a check count alike
        else:
            trace = self._pass(f"evaluate.{evaluation.name}", loader, loader.batch_size if loader else None)
        # What is wrong in training, or with a full batch, is wrong with one row too, and told once.
        clean = self._evaluator.reporter.errors == before and self.loss is not None
        if evaluation.batches is None and clean and loader is not None and loader.complete:
            start = len(found)
            one = Dim(1, Origin("a batch of one row", evaluation.span))
            self._pass(f"evaluate.{evaluation.name}.row", loader, one, again=True)
            wrong = [d for d in found[start:] if d.severity is Severity.ERROR]
            if wrong:
                found[start:] = [self._for_full_batches_only(evaluation, wrong[0])]
        if self._evaluator.reporter.errors == 0:
            self._check_state(trace, "an evaluation")
        return trace

    def export(self, export: Export) -> StagedExport | None:
        """A function for inference; None where it is wrong."""
        trace = self._without_training()
        staged = stage_export(self._evaluator, export, trace)
        if self._evaluator.reporter.errors == 0:
            self._check_state(trace, "an export")
        return staged

    def _is_training_again(self, loader: Loader | None) -> bool:
        """Whether an evaluation computes what training did: the same functions, which did not ask whether it was
        training, of batches of the same types. Of a program with errors it is not known."""
        mine, get = self._contract.get("train-loader"), self._contract.get
        if self._evaluator.reporter.errors or loader is None or mine is None or not isinstance(mine.value, Loader):
            return False
        if self._evaluator.budget.steps + self._work > MAX_STEPS:
            return False   # it would be one too many, which is for the evaluation to say
        return not self.training.asked_training and get("eval-prepare") is None and get("evaluate") is None and (
            loader.batch_size == mine.value.batch_size and loader.complete and mine.value.complete
            and [(f.name, f.dtype, f.shape) for f in loader.fields]
            == [(f.name, f.dtype, f.shape) for f in mine.value.fields])

    def _without_training(self, again: bool = False) -> Trace:
        return Trace(training=False, again=again, parameters=dict(self.training.parameters),
                     buffers=dict(self.training.buffers))

    def _pass(self, symbol: str, loader: Loader | None, size: Dim | None, again: bool = False) -> Trace:
        trace = self._without_training(again)
        own = self._contract.get("eval-prepare")
        judge = self._contract.get("evaluate")
        self._graph.stage(symbol, "evaluate", loader, size, trace, own or self._contract.get("prepare"),
                    Phase.EVAL_PREPARE if own else Phase.PREPARE,
                    judge or self._contract.get("objective"), Phase.EVALUATE if judge else Phase.OBJECTIVE)
        return trace

    @staticmethod
    def _for_full_batches_only(evaluation: Evaluation, wrong: Diagnostic) -> Diagnostic:
        reads = f"the last rows of the pass `{evaluation.name}` are read one by one"
        return replace(wrong, code="E-SHAPE-012", message=f"{reads}, and this does not fit a batch of one row",
                       notes=(f"with one row: {wrong.message}", *wrong.notes),
                       secondary=(*wrong.secondary, Label(evaluation.span, "reads its loader whole")),
                       fix=Fix("take the batch size from a tensor, `(dim x 0)`, where a shape needs it; or give the "
                               "evaluation its number of `:batches`"))

    def _check_state(self, trace: Trace, where: str) -> None:
        for kind, mine, known in (("parameter", trace.parameters, self.training.parameters),
                                  ("buffer", trace.buffers, self.training.buffers)):
            for name in mine.keys() - known.keys():
                self._evaluator.reporter.error(
                    "E-CONTRACT-024", f"the {kind} `{name}` is declared in {where} only", mine[name].span,
                    "training does not have it", fix="declare it where training does too, outside of `training?`")
