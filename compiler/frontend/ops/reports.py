"""What a run reports: `counter`, `metric`, and `schedule`, a scalar that follows `ctx`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.builtin_call import BuiltinCall
from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.compiler.frontend.layer_names import each, flaw, loops_of
from sexpgpu.compiler.frontend.ops.registry import Op, op
from sexpgpu.compiler.frontend.ops.state import must_not_branch, must_stand_in
from sexpgpu.compiler.frontend.ops.support.dtype import F32, convert
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.trace import Counter, Metric, Phase, Schedule
from sexpgpu.compiler.frontend.values import POISON, Closure, Tensor, same_value
from sexpgpu.diagnostics import Edit, Fix, Label, one_of

REPORTS = "reports"
#: The keys of `ctx` that a counter's name must leave alone; `stage-…` is the count within the stage.
RESERVED = ("step", "steps", "progress", "stage", "records", "loss")
#: Each is a curve of its own.
MOST_NAMES = 10_000
REDUCTIONS = ("mean", "sum", "max", "min", "last")
IN_GRAPH = (Phase.PREPARE, Phase.EVAL_PREPARE, Phase.MODEL, Phase.OBJECTIVE, Phase.EVALUATE)


def _word(call: BuiltinCall, value: object, code: str) -> str:
    if isinstance(value, Keyword):
        return value.name
    if isinstance(value, str) and value:
        return value
    call.fail(code, f"the name of a {call.op.name} is a keyword, not {describe(value)}", at=call.where("name"),
              label=f"this is {describe(value)}")


def _names(call: BuiltinCall, word: str, code: str) -> list[str]:
    """The names of a report: one, or in a `repeat` one for each layer whose number stands in it."""
    loops = call.evaluator.trace.layered
    wrong = flaw(word, loops) if loops_of(word) else None
    if wrong is None and prod(loop.trips for loop in loops_of(word)) > MOST_NAMES:
        wrong = f"at most {MOST_NAMES:,} layers have a name each"
    if wrong is not None:
        call.fail(code, f"no {call.op.name} is called `{word}`", at=call.where("name"), label="with layers in it",
                  notes=[wrong])
    return each(word)


def _report(call: BuiltinCall, word: str, values: Sequence[ir.Value], facts: dict[str, ir.Attribute],
            complete: Callable[[list[ir.Value]], list[ir.Value]] = list) -> None:
    """The marker of a report, at the top level of the function. In a `repeat` its values have an axis for the layers of
    each: first those that have a name each, `layers` of them. `complete` adds values that are known outside."""
    trace, place = call.evaluator.trace, ir.Location.current
    loops, named = trace.layered, loops_of(word)
    order = [i for wanted in (True, False) for i, loop in enumerate(loops) if (loop in named) is wanted]

    def mark(found: list[ir.Value]) -> None:
        with place:
            if order != sorted(order):
                found = [hlo.transpose(v, order) for v in found]
            hlo.marker(call.op.name, complete(found), [], {
                "name": ir.StringAttr.get(word), **facts, **({"layers": hlo.i64(len(named))} if loops else {})})

    trace.leave((call.op.name, word), values, mark)


def _is_scalar(value: object) -> bool:
    return (isinstance(value, Tensor) and not value.shape) or (
        isinstance(value, (int, float)) and not isinstance(value, bool))


def _f32(value: object) -> ir.Value:
    if isinstance(value, Tensor):
        return convert(value.value, value.dtype, F32)
    return hlo.splat(float(value), [], "f32")


@op("counter", "name value", group=REPORTS, grad="none: it only counts", by_name=False, poison="any",
    doc="Declares a progress counter, summed over the run and the stage. It belongs in `prepare`.")
def counter(call: BuiltinCall, name: object, value: object) -> None:
    trace = call.evaluator.trace
    if trace.phase is not Phase.PREPARE:
        call.fail("E-CONTRACT-010", f"`counter` stands in {trace.phase.value}", label="outside of `prepare`",
                  fix="records are counted in `prepare`; a `metric` reports a number from elsewhere")
    must_not_branch(call)
    if not trace.training:
        return None  # a pass counts nothing
    if name is POISON:
        trace.counters_known = False
        return None
    word = _word(call, name, "E-CONTRACT-011")
    names = _names(call, word, "E-CONTRACT-011")
    for own in names:
        if own in RESERVED or own.startswith("stage-"):
            call.fail("E-CONTRACT-011", f"`:{own}` is a key of `ctx` already", at=call.where("name"), label="reserved",
                      fix="the runtime counts `records` itself" if own == "records" else "another name is free")
        if own in trace.counters:
            call.fail("E-CONTRACT-011", f"two counters are called `:{own}`", at=call.where("name"),
                      label="the second one", secondary=[Label(trace.counters[own].span, "the first one")])
    exact = not (isinstance(value, float) or (isinstance(value, Tensor) and value.dtype.is_float))
    trace.counters.update({own: Counter(own, "i64" if exact else "f64", call.where("name")) for own in names})
    if value is POISON:
        return None
    if not _is_scalar(value):
        call.fail("E-CONTRACT-011", f"the counter `:{word}` counts {describe(value)}, not a scalar",
                  at=call.where("value"), label=f"this is {describe(value)}",
                  fix="`numel` and `dim` count what a tensor holds; `sum` adds up its elements")
    _report(call, word, [_counted(value, exact)], {})
    return None


def _counted(value: object, exact: bool) -> ir.Value:
    if not exact:
        return _f32(value)
    if isinstance(value, Tensor):
        return hlo.select(value.value, hlo.splat(1, [], "i32"), hlo.splat(0, [], "i32")) \
            if value.dtype.kind == "bool" else value.value
    return hlo.splat(value, [], "i64")


@op("metric", "name value &key (reduce :mean) weight", group=REPORTS, grad="none: it only reports", by_name=False,
    poison="any", doc="Reports a scalar of each step. `:reduce` is `:mean`, `:sum`, `:max`, `:min` or `:last` over "
                      "microbatches and ranks, and over the layers of a `repeat` unless the name holds the layer's "
                      "number, `(str \"norm-\" i)`; `:weight` weighs a mean.")
def metric(call: BuiltinCall, name: object, value: object, reduce: object, weight: object) -> None:
    must_stand_in(call, *IN_GRAPH)
    if call.evaluator.trace.phase is Phase.EXPORT:
        return None  # nobody is told
    must_not_branch(call)
    if name is POISON:
        return None
    trace = call.evaluator.trace
    word = _word(call, name, "E-CONTRACT-017")
    names = _names(call, word, "E-CONTRACT-017")
    for own in names:
        if own == "loss":
            call.fail("E-CONTRACT-017", "every pass has a metric called `loss` already", at=call.where("name"),
                      label="taken", fix="the value of `objective` is reported as the loss")
        if own in trace.metrics:
            call.fail("E-CONTRACT-017", f"two metrics are called `:{own}`", at=call.where("name"),
                      label="the second one", secondary=[Label(trace.metrics[own].span, "the first one")],
                      fix="a name with the place in it tells them apart: `(metric (str \"norm-\" i) …)`")
    kind = reduce.name if isinstance(reduce, Keyword) else str(reduce).lstrip(":")
    trace.metrics.update({own: Metric(own, kind, call.where("name"), weight is not None) for own in names})
    if kind not in REDUCTIONS and reduce is not POISON:
        choices = [f":{r}" for r in REDUCTIONS]
        call.fail("E-CONTRACT-017", f"`:{kind}` is not a reduction", at=call.where("reduce"), label="unknown reduction",
                  fix=f"the reductions are {one_of(f':{kind}', choices)}")
    if weight is not None and kind != "mean" and weight is not POISON:
        call.fail("E-CONTRACT-017", f"a `:weight` weighs a mean, and this is a `:{kind}`", at=call.keyword("weight"),
                  label="without a mean")
    for parameter, number in (("value", value), ("weight", weight)):
        if number is not POISON and not _is_scalar(number) and not (parameter == "weight" and number is None):
            what = "reports" if parameter == "value" else "is weighed by"
            fix = Fix("reduce it: `(mean …)`", (
                Edit(call.where("value").start, "(mean "), Edit(call.where("value").end, ")"),
            )) if isinstance(number, Tensor) and parameter == "value" else None
            call.fail("E-CONTRACT-017", f"the metric `:{word}` {what} {describe(number)}, not a scalar",
                      at=call.where(parameter), label=f"this is {describe(number)}", fix=fix)
    if POISON in (value, weight, reduce):
        return None
    if not isinstance(value, Tensor):
        call.report("W-CONTRACT-027", f"the metric `:{word}` is always {describe(value)}", at=call.where("value"),
                    label="known at compile time", fix="`print` shows it once; a metric follows a tensor")
    weighed = isinstance(weight, Tensor)

    def complete(found: list[ir.Value]) -> list[ir.Value]:
        same = hlo.splat(1.0 if weight is None else float(weight), hlo.shape_of(found[0]), "f32") \
            if not weighed else found[1]
        return [found[0], same]

    _report(call, word, [_f32(value), *([_f32(weight)] if weighed else [])],
            {"reduce": ir.StringAttr.get(kind), "weighted": ir.BoolAttr.get(weight is not None)}, complete)
    return None


@op("schedule", "name value", group=REPORTS, grad="none: it follows the run, not the parameters", by_name=False,
    doc="A scalar that follows `ctx`, from a function of `ctx` or a number: `(schedule :beta (fn (ctx) …))`.")
def schedule(call: BuiltinCall, name: object, value: object) -> Tensor:
    must_stand_in(call, *IN_GRAPH)
    trace = call.evaluator.trace
    word = _word(call, name, "E-CONTRACT-017")
    if not isinstance(value, (Closure, Op)) and (isinstance(value, bool) or not isinstance(value, (int, float))):
        call.fail("E-CONTRACT-023", f"a schedule is a number or a function of `ctx`, not {describe(value)}",
                  at=call.where("value"), label=f"this is {describe(value)}", fix="write `(fn (ctx) …)`")
    old = trace.schedules.get(word)
    if old is None:
        trace.schedules[word] = Schedule(word, value, call.span)
    elif trace.phase is not Phase.EXPORT and not same_value(old.function, value):
        call.fail("E-VALUE-008", f"two schedules are called `:{word}`", at=call.where("name"), label="the second one",
                  secondary=[Label(old.span, "the first one")])
    made = hlo.marker("schedule", [], [hlo.tensor_type([], "f32")], {"name": ir.StringAttr.get(word)})
    return Tensor(made.results[0], F32, (), call.span)
