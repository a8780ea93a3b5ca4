"""`prepare`, `model` and `objective` in one function: the graph of training, or of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.budget import Abandoned
from sexpgpu.compiler.frontend.contract import Contract, Definition
from sexpgpu.compiler.frontend.contract_values import Batch, Loader
from sexpgpu.compiler.frontend.data import Datum, Form, Keyword
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.precision import precision_of, scaled_loss
from sexpgpu.compiler.frontend.staging import Function
from sexpgpu.compiler.frontend.trace import Phase, Trace
from sexpgpu.compiler.frontend.values import POISON, Dim, Tensor, has_poison, is_plist, plist_items
from sexpgpu.diagnostics import Edit, Fix, Label, Span, did_you_mean
from sexpgpu.runtime.dtypes import DTYPES

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator


class Graph:
    """Stages one such function after the other, and says what the experiment's own functions do wrong in it."""

    def __init__(self, evaluator: Evaluator, contract: Contract) -> None:
        self._evaluator, self._contract = evaluator, contract

    def stage(self, symbol: str, role: str, loader: Loader | None, size: Dim | None, trace: Trace,
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
                fix=f"a list of inputs is spread over the model's parameters: give `model` {n} of them")
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
