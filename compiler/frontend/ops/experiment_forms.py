"""The forms that describe a run: `evaluation`, `optimizer`, `precision`, `run`."""

from __future__ import annotations

import math

from sexpgpu.compiler.frontend.builtin_call import BuiltinCall
from sexpgpu.compiler.frontend.contract_values import Evaluation, Loader, Optimizer, Precision, Run
from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.compiler.frontend.ops.registry import Op, op
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.optimizer_groups import BadGroup, read_groups
from sexpgpu.compiler.frontend.values import POISON, Closure, is_plist, plist_items
from sexpgpu.diagnostics import Label, one_of
from sexpgpu.runtime.dtypes import DTYPES

EXPERIMENT = "experiment"
NO_GRAD = "none: it describes a run"


@op("evaluation", "&key name loader every batches (at-start false) (at-end true)", group=EXPERIMENT, grad=NO_GRAD,
    by_name=False, poison="any",
    doc="One evaluation pass: its loader, how often it runs, and how many batches it reads; all rows once without "
        "`:batches`.")
def evaluation(call: BuiltinCall, name: object, loader: object, every: object, batches: object, at_start: object,
               at_end: object) -> object:
    word = name.name if isinstance(name, Keyword) else name
    if not isinstance(word, str) or not word:
        if name is not POISON and (call.given("name") or call.absent("name")):
            given = call.given("name")
            call.report("E-CONTRACT-021", f"the name of an evaluation is a string, not {describe(name)}" if given else
                        "the evaluation has no `:name`", at=call.where("name"),
                        label=f"this is {describe(name)}" if given else "no `:name`")
        return POISON
    if not isinstance(loader, Loader):
        if loader is not POISON and (call.given("loader") or call.absent("loader")):
            given = call.given("loader")
            call.report("E-CONTRACT-021", f"`:loader` is a loader, not {describe(loader)}" if given else
                        f"the evaluation `{word}` has no `:loader`", at=call.where("loader"),
                        label=f"this is {describe(loader)}" if given else "no `:loader`")
        loader = None
    numbers = []
    for parameter, value in (("every", every), ("batches", batches)):
        good = isinstance(value, int) and not isinstance(value, bool) and value > 0
        if not good and value is not None and value is not POISON:
            call.report("E-CONTRACT-021", f"`:{parameter}` is a positive integer, not {describe(value)}",
                        at=call.where(parameter), label=f"this is {describe(value)}")
        numbers.append(int(value) if good else None)
    for parameter, value in (("at-start", at_start), ("at-end", at_end)):
        if not isinstance(value, bool) and value is not POISON:
            call.report("E-CONTRACT-021", f"`:{parameter}` is `true` or `false`, not {describe(value)}",
                        at=call.where(parameter), label=f"this is {describe(value)}")
    if loader is not None and len(loader.stages) > 1:
        call.report("E-CONTRACT-015", f"the loader of the evaluation `{word}` has several stages",
                    at=call.where("loader"), label=f"{len(loader.stages)} stages",
                    secondary=[Label(loader.span, "the loader")],
                    fix="nothing moves between stages in an evaluation: give it a loader with `:sources`")
    elif loader is not None and batches is None and loader.infinite:
        call.report("E-CONTRACT-012", f"the evaluation `{word}` never ends",
                    label="no `:batches`, and an infinite loader",
                    secondary=[Label(loader.span, "`:infinite true`")],
                    fix="say how many `:batches` it reads, or give it a finite loader")
    return Evaluation(word, loader, numbers[0], numbers[1], at_start is True, at_end is not False, call.span)


def _positive(call: BuiltinCall, parameter: str, value: object, zero: bool = False) -> float | None:
    """An option of an optimizer: a number, or nil for none."""
    if value is None:
        return None
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not good or value < 0 or (value == 0 and not zero):
        wanted = "number from 0 upwards" if zero else "positive number"
        call.fail("E-CONTRACT-022", f"`:{parameter}` is a {wanted}, not {describe(value)}",
                  at=call.where(parameter), label=f"this is {describe(value)}")
    return float(value)


@op("optimizer", "&key hyper init update clip-norm clip-value weight-decay groups skip-nonfinite ema",
    group=EXPERIMENT, grad=NO_GRAD, by_name=False,
    doc="An update rule: `:init` gives a parameter's state, `:update` (of parameter, gradient, state, hyper) a plist "
        "of `:param` and `:state`; `:hyper` holds numbers and functions of `ctx`.")
def optimizer(call: BuiltinCall, hyper: object, init: object, update: object, clip_norm: object, clip_value: object,
              weight_decay: object, groups: object, skip_nonfinite: object, ema: object) -> Optimizer:
    hyper = () if hyper is None else hyper
    if not is_plist(hyper):
        call.fail("E-CONTRACT-022", f"`:hyper` is a plist, not {describe(hyper)}", at=call.where("hyper"),
                  label=f"this is {describe(hyper)}", fix="write `:hyper (list :lr lr)`")
    names = [name for name, _ in plist_items(hyper)]
    try:
        found = read_groups(groups, names)
    except BadGroup as error:
        call.fail("E-CONTRACT-022", str(error), at=call.where("groups"), label="no groups")
    if not isinstance(update, (Closure, Op)):
        call.fail("E-CONTRACT-022", f"`:update` is a function, not {describe(update)}", at=call.where("update"),
                  label="no update rule", fix="write `:update (fn (p g state hyper) (list :param … :state …))`")
    if init is not None and not isinstance(init, (Closure, Op)):
        call.fail("E-CONTRACT-022", f"`:init` is a function of the parameter, not {describe(init)}",
                  at=call.where("init"), label=f"this is {describe(init)}")
    decay = _positive(call, "weight-decay", weight_decay, zero=True) or 0.0
    if (decay or any(g.weight_decay for g in found)) and "lr" not in names:
        call.fail("E-CONTRACT-022", "`:weight-decay` is scaled by `:lr`, and `:hyper` has none",
                  at=call.where("weight-decay"), label="no `:lr` beside it")
    if skip_nonfinite is not None and not isinstance(skip_nonfinite, bool):
        call.fail("E-CONTRACT-022", f"`:skip-nonfinite` is `true` or `false`, not {describe(skip_nonfinite)}",
                  at=call.where("skip-nonfinite"), label=f"this is {describe(skip_nonfinite)}")
    if ema is not None and not (isinstance(ema, float) and 0 < ema < 1):
        call.fail("E-CONTRACT-022", f"`:ema` is a number between 0 and 1, not {describe(ema)}", at=call.where("ema"),
                  label=f"this is {describe(ema)}")
    made = Optimizer(hyper, init, update, _positive(call, "clip-norm", clip_norm),
                     _positive(call, "clip-value", clip_value), decay, skip_nonfinite is True, found,
                     call.evaluator.reporter.users_place(call.where("groups")), ema, call.span)
    for name, value in made.hypers():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number and not isinstance(value, (Closure, Op)):
            call.fail("E-CONTRACT-022", f"the hyper-parameter `:{name}` is {describe(value)}", at=call.where("hyper"),
                      label=f"`:{name}` is {describe(value)}", fix="give it a number or a function of `ctx`")
    return made


#: What each dtype of `precision` can be, the default first.
_PRECISIONS = {"compute": ("f32", "bf16", "f16"), "params": ("f32", "f64")}


@op("precision", "&key (compute :f32) (params :f32) (loss-scale :none)", group=EXPERIMENT, grad=NO_GRAD, by_name=False,
    doc="The dtypes that a run computes with and keeps its parameters in. `:compute` is that of the operands of "
        "matmul, conv and attention: `:f32`, `:bf16` or `:f16`; sums, norms, softmax and losses stay f32. "
        "`:loss-scale` is a number or `:dynamic`, which `:f16` needs; a step whose gradient is not finite is skipped.")
def precision(call: BuiltinCall, compute: object, params: object, loss_scale: object) -> Precision:
    kinds = []
    for parameter, value in (("compute", compute), ("params", params)):
        word = value.name if isinstance(value, Keyword) else str(value).lstrip(":")
        allowed = _PRECISIONS[parameter]
        if word not in allowed:
            call.report("E-VALUE-007", f"`:{parameter}` is {describe(value)}, which this version does not run",
                        at=call.where(parameter), label="not supported",
                        fix=f"it runs {one_of(word, [f':{name}' for name in allowed])}")
        kinds.append(DTYPES[word if word in allowed else allowed[0]])
    scale = _loss_scale(call, loss_scale)
    if kinds[0].name == "f16" and scale is None:
        call.report("E-VALUE-015", "`:compute :f16` without a `:loss-scale`", label="gradients would underflow",
                    fix="`:loss-scale :dynamic` finds a scale; `:compute :bf16` needs none")
    return Precision(kinds[0], kinds[1], scale, call.span)


def _loss_scale(call: BuiltinCall, value: object) -> float | str | None:
    word = value.name if isinstance(value, Keyword) else str(value).lstrip(":")
    if word in ("none", "nil", "None"):
        return None
    if word == "dynamic":
        return word
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    call.report("E-VALUE-007", f"`:loss-scale` is {describe(value)}", at=call.where("loss-scale"),
                label="no scale", fix="it is `:none`, `:dynamic` or a positive number")
    return None


@op("run", "&rest settings", group=EXPERIMENT, grad=NO_GRAD, by_name=False,
    doc="Defaults of the run file: each keyword is also a flag of `sexpgpu-run`.")
def run(call: BuiltinCall, settings: tuple) -> Run:
    found: dict[str, object] = {}
    places = {}
    at = 0
    while at < len(settings):
        key = settings[at]
        if not isinstance(key, Keyword):
            call.fail("E-ARITY-001", "`run` holds keywords with their values", at=call.where("settings", at),
                      label="no keyword before it")
        if at + 1 == len(settings):
            call.fail("E-ARITY-004", f"`{key}` has no value after it", at=call.where("settings", at),
                      label="a value is missing")
        if key.name in found:
            call.fail("E-ARITY-005", f"`run` is given `{key}` twice", at=call.where("settings", at),
                      label="the second time", secondary=[Label(places[key.name], "the first time")])
        found[key.name], places[key.name] = settings[at + 1], call.where("settings", at)
        at += 2
    return Run(found, places, call.span)
