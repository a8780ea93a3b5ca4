"""`prepare`, `model` and `objective` in one function: the training graph, and each evaluation's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.contract import Contract, Definition
from sexpgpu.compiler.frontend.contract_values import Batch, Evaluation, Export, Loader
from sexpgpu.compiler.frontend.data import Datum, Form, Keyword
from sexpgpu.compiler.frontend.evaluator import MAX_STEPS, Abandoned
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.precision import precision_of, scaled_loss
from sexpgpu.compiler.frontend.staging import Function
from sexpgpu.compiler.frontend.staging_export import StagedExport, stage_export
from sexpgpu.compiler.frontend.trace import Phase, Trace
from sexpgpu.compiler.frontend.values import POISON, Dim, Origin, Tensor, has_poison, is_plist, plist_items
from sexpgpu.diagnostics import Diagnostic, Edit, Fix, Label, Severity, Span, did_you_mean
from sexpgpu.diagnostics.record import replace
from sexpgpu.runtime.dtypes import DTYPES

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator


class Steps:
    """Stages the training graph, then the evaluations, which must declare no state of their own. Without `finish`, an
    evaluation that would be the training graph once more is not staged."""

    def __init__(self, evaluator: Evaluator, contract: Contract, finish: bool) -> None:
        self._evaluator, self._contract, self._finish = evaluator, contract, finish
        self.training = Trace(training=True)
        self.loss: Tensor | None = None
        self._work = 0   # calls and turns that the training graph took

    def train(self) -> None:
        definition = self._contract.get("train-loader")
        loader = definition.value if definition and isinstance(definition.value, Loader) else None
        before = self._evaluator.steps
        self.loss = self._stage("train", "train", loader, loader.batch_size if loader else None, self.training,
                                self._contract.get("prepare"), Phase.PREPARE,
                                self._contract.get("objective"), Phase.OBJECTIVE)
        self._work = self._evaluator.steps - before

    def evaluate(self, evaluation: Evaluation) -> Trace:
        """The pass for full batches and, where it reads a finite loader whole, for a batch of one row."""
        found, before = self._evaluator.reporter.found, self._evaluator.reporter.errors
        loader = evaluation.loader
        if not self._finish and self._is_training_again(loader):
            trace = self._without_training()
            trace.schedules |= self.training.schedules
            self._evaluator.step(evaluation.span, self._work)   # so that a build and a check count alike
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
        if self._evaluator.steps + self._work > MAX_STEPS:
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
        self._stage(symbol, "evaluate", loader, size, trace, own or self._contract.get("prepare"),
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

    # -- one function -------------------------------------------------------------------------------------------------

    def _stage(self, symbol: str, role: str, loader: Loader | None, size: Dim | None, trace: Trace,
               prepare: Definition | None, prepare_phase: Phase, judge: Definition | None, judge_phase: Phase
               ) -> Tensor | None:
        """The loss; None where it is wrong (reported)."""
        evaluator = self._evaluator
        known = [] if loader is None or size is None else [f for f in loader.fields if f.dtype and f.shape is not None]
        types = [hlo.tensor_type([size, *f.shape], f.dtype.mlir) for f in known]
        span = judge.span if judge else self._contract.top
        with evaluator.staging.function(symbol, role, types, span, trace) as function:
            batch = self._batch(loader, size, function.arguments)
            errors = evaluator.reporter.errors
            prepared = self._call(prepare, [batch], prepare_phase)
            if prepared is POISON or evaluator.reporter.errors > errors:
                trace.counters_known = False
            inputs, targets, metadata = self._parts(prepare, prepared)
            outputs = self._model(inputs)
            arguments = [outputs, targets]
            if judge is not None and judge.accepts(3):
                arguments.append(metadata)
            loss = self._loss(judge, self._call(judge, arguments, judge_phase))
            if role == "train":
                loss = scaled_loss(evaluator, precision_of(self._contract), loss)
            self._return(function, loss)
        return loss

    @staticmethod
    def _return(function: Function, loss: Tensor | None) -> None:
        function.results = [hlo.splat(0.0, [], "f32") if loss is None else loss.value]

    @staticmethod
    def _batch(loader: Loader | None, size: Dim | None, arguments: Sequence[ir.Value]) -> object:
        if loader is None:
            return POISON
        values = iter(arguments)
        tensors: dict[str, object] = {}
        for f in loader.fields:
            if size is None or f.dtype is None or f.shape is None:
                tensors[f.name] = POISON
            else:
                tensors[f.name] = Tensor(next(values), f.dtype, (size, *f.shape), f.span)
        return Batch(tensors, loader)

    def _call(self, function: Definition | None, values: Sequence[object], phase: Phase) -> object:
        if function is None or function.value is POISON:
            return POISON
        with self._evaluator.trace.within(phase):
            try:
                return self._evaluator.apply(function.value, values, function.span)
            except Abandoned:
                return POISON

    def _parts(self, prepare: Definition | None, prepared: object) -> tuple[object, object, tuple]:
        """Inputs, targets, and the plist of the other keys."""
        if prepared is POISON or prepare is None:
            return POISON, POISON, ()
        reporter = self._evaluator.reporter
        name = prepare.name
        advice = "end it with `(list :inputs … :targets …)`"
        if not is_plist(prepared):
            reporter.error("E-CONTRACT-004", f"`{name}` gives {describe(prepared)}, not a plist", prepare.span,
                           f"gives {describe(prepared)}", fix=advice,
                           secondary=_place_of(prepared) or self._last_form(prepare))
            return POISON, POISON, ()
        found = dict(plist_items(prepared))
        values: list[object] = []
        for key in ("inputs", "targets"):
            value = found.pop(key, None)
            good = isinstance(value, Tensor) or has_poison(value) or (
                isinstance(value, tuple) and value and all(isinstance(item, Tensor) for item in value))
            if not good and key not in dict(plist_items(prepared)) and (near := _misspelt(key, found)):
                place = _place_of_keyword(self._evaluator, prepare.span, near)
                reporter.error("E-CONTRACT-004", f"`{name}` gives `:{near}`, and no `:{key}`", place,
                               f"not `:{key}`", fix=Fix(f"did you mean `:{key}`?", (Edit(place, f":{key}"),), True)
                               if place != prepare.span else advice)
                value = POISON
            elif not good:
                what = f"`:{key}` of `{name}` is {describe(value)}" if key in dict(plist_items(prepared)) else \
                    f"`{name}` gives no `:{key}`"
                reporter.error("E-CONTRACT-004", what, prepare.span, f"no `:{key}` here" if "gives no" in what else
                               f"`:{key}` is {describe(value)}",
                               fix=advice if "gives no" in what else f"`:{key}` is a tensor or a list of tensors")
                value = POISON
            values.append(value)
        rest = tuple([x for key, value in found.items() for x in (Keyword(key), value)])
        return values[0], values[1], rest

    def _last_form(self, function: Definition) -> list[Label]:
        form = self._evaluator.places.definition(function.span)
        return [Label(form.items[-1].span, "this is its value")] if form else []

    def _model(self, inputs: object) -> object:
        model = self._contract.get("model")
        if model is None or model.value is POISON:
            return POISON
        if inputs is POISON:
            # How many there are is not known; the body is still checked.
            values = [POISON] * len(model.value.code.params.required) if hasattr(model.value, "code") else [POISON]
            return self._call(model, values, Phase.MODEL)
        values = list(inputs) if isinstance(inputs, tuple) else [inputs]
        if not model.accepts(len(values)):
            place = next((v.span for v in values if isinstance(v, Tensor)), None)
            n = len(values)
            self._evaluator.reporter.error(
                "E-CONTRACT-013", f"`:inputs` holds {n} tensor{'s' * (n != 1)}, and `model` does not take {n}",
                model.span, f"`(model {self._params(model)})`",
                secondary=[Label(place, "the first of `:inputs`")] if place else [],
                fix="a list of inputs is spread over the model's parameters")
            return POISON
        return self._call(model, values, Phase.MODEL)

    @staticmethod
    def _params(model: Definition) -> str:
        return str(model.value.code.params if hasattr(model.value, "code") else model.value.signature)

    def _reduced(self, judge: Definition, loss: object) -> list[Fix]:
        """The last form of the function as a mean, or cast."""
        form = self._evaluator.places.definition(judge.span)
        if not isinstance(loss, Tensor) or form is None or len(form.items) < 4:
            return []
        last = form.items[-1].span
        before, after = ("(mean ", ")") if loss.shape else ("(cast ", " :f32)")
        return [Fix(f"reduce it: `{before}…{after}`", (Edit(last.start, before), Edit(last.end, after)))]

    def _loss(self, judge: Definition | None, loss: object) -> Tensor | None:
        if judge is None or has_poison(loss):
            return None
        if isinstance(loss, Tensor) and not loss.shape and loss.dtype is DTYPES["f32"]:
            return loss
        name = judge.name
        fix = None
        if isinstance(loss, Tensor):
            fix = "reduce it: `(mean …)`" if loss.shape else "cast it: `(cast … :f32)`"
        self._evaluator.reporter.error(
            "E-CONTRACT-014", f"`{name}` gives {describe(loss)}, not an f32 scalar", judge.span,
            f"gives {describe(loss)}", fix=fix, secondary=_place_of(loss), tries=self._reduced(judge, loss))
        return None


def _misspelt(key: str, found: Mapping[str, object]) -> str | None:
    """A key of a plist that was meant to be `key`."""
    return next((other for other in found if did_you_mean(other, ("inputs", "targets")) == key), None)


def _place_of_keyword(evaluator: Evaluator, definition: Span, keyword: str) -> Span:
    """Where a keyword stands in the definition whose name is at `definition`; else that name."""
    form = evaluator.places.definition(definition)
    stack: list[Datum] = [form] if form else []
    while stack:
        datum = stack.pop()
        if isinstance(datum, Form):
            stack += datum.items
        elif isinstance(datum.value, Keyword) and datum.value.name == keyword:
            return datum.span
    return definition


def _place_of(value: object) -> list[Label]:
    return [Label(value.span, "this is its value")] if isinstance(value, Tensor) else []
