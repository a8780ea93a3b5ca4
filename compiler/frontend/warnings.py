"""What is allowed and rarely meant, told once everything is right: unread fields, parameters that nothing trains,
schedules that outlast the run, the decay of vectors, a `defvar` hidden by a `let`.

Each can be allowed where it stands, by a comment `; allow W-CODE` on its line or on the one above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.contract_values import Loader, Optimizer, Run
from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Symbol
from sexpgpu.compiler.frontend.values import Closure, origin_of
from sexpgpu.diagnostics import Edit, Fix, Label

if TYPE_CHECKING:
    from iree.compiler import ir
    from sexpgpu.compiler.frontend.contract import Contract
    from sexpgpu.compiler.frontend.evaluator import Evaluator
    from sexpgpu.compiler.frontend.trace import Schedule, Trace
    from sexpgpu.diagnostics import Span

#: What schedules of the prelude call the steps after which they change.
_STEPS = ("steps", "warmup", "boundaries")
#: StableHLO operations through which nothing is differentiated.
_CUTS = ("stablehlo.compare", "stablehlo.is_finite", "stablehlo.sign", "stablehlo.floor", "stablehlo.ceil")


def warn(evaluator: Evaluator, contract: Contract, training: Trace, schedules: Sequence[Schedule]) -> None:
    """Called where there are no errors."""
    _unread_fields(evaluator, contract)
    _untrained(evaluator, training)
    _decayed_vectors(evaluator, contract, training)
    _late_schedules(evaluator, contract, schedules)
    _hidden_variables(evaluator)


def _unread_fields(evaluator: Evaluator, contract: Contract) -> None:
    definition = contract.get("train-loader")
    if definition is None or not isinstance(definition.value, Loader):
        return
    for field in definition.value.fields:
        if field.span not in evaluator.fields_read:
            evaluator.reporter.error("W-CONTRACT-026", f"nothing reads the field `:{field.name}`", field.span,
                                     "decoded and dropped in every step", fix="leave it out, or read it in `prepare`")


def _untrained(evaluator: Evaluator, training: Trace) -> None:
    for variable in training.parameters.values():
        made = training.made.get(variable.name)
        if variable.trainable and made is not None and not _is_used(made):
            evaluator.reporter.error("W-GRAD-004", f"the parameter `{variable.name}` gets no gradient", variable.span,
                                     "training leaves it as it was",
                                     fix="`:trainable false` says so; else let the loss depend on it")


def _is_used(value: ir.Value) -> bool:
    """Whether an operation that can have a derivative takes the value."""
    for use in value.uses:
        owner = use.owner.operation
        if owner.name not in _CUTS and hlo.marker_kind(owner) != "stop_gradient":
            return True
    return False


def _decayed_vectors(evaluator: Evaluator, contract: Contract, training: Trace) -> None:
    definition = contract.get("optimizer")
    if definition is None or not isinstance(definition.value, Optimizer) or not definition.value.weight_decay:
        return
    for variable in training.parameters.values():
        if variable.trainable and variable.decay and not variable.decay_given and len(variable.own_shape) < 2:
            evaluator.reporter.error(
                "W-CONTRACT-029", f"`:weight-decay` pulls the vector `{variable.name}` towards zero", variable.span,
                "a parameter of one axis", secondary=[Label(definition.span, "has a `:weight-decay`")],
                fix=Fix("`:decay false` leaves it alone, `:decay true` says that it is meant",
                        (Edit(variable.span.before_last, " :decay false"),)))


def _late_schedules(evaluator: Evaluator, contract: Contract, schedules: Sequence[Schedule]) -> None:
    definition = contract.get("run")
    steps = definition.value.settings.get("steps") if definition and isinstance(definition.value, Run) else None
    if isinstance(steps, bool) or not isinstance(steps, int):
        return
    for schedule in schedules:
        for name, number, place in _turns(schedule.function, schedule.span):
            if number > steps:
                evaluator.reporter.error(
                    "W-CONTRACT-028", f"the schedule `:{schedule.name}` changes until step {number}, and the run has "
                    f"{int(steps)}", place, f"`{name}` after the end", secondary=[Label(definition.span, "the run")]
                    if definition else (), fix="without `steps` a schedule takes the run's length")


def _turns(function: object, place: Span) -> Iterator[tuple[str, int, Span]]:
    """The steps at which a schedule of the prelude changes, and where each is written."""
    if not isinstance(function, Closure) or not function.code.callee.by_name or function.frame is None:
        return
    for name, value in function.code.scope.captured(function.frame).items():
        for number in value if isinstance(value, tuple) else (value,):
            if name in _STEPS and isinstance(number, int) and not isinstance(number, bool):
                origin = origin_of(number)
                yield name, int(number), origin.span if origin and origin.span else place
            elif isinstance(number, Closure):
                yield from _turns(number, place)


def _hidden_variables(evaluator: Evaluator) -> None:
    """A `let` of a `defvar`'s name, unless its value is made of that one: `(let ((width (/ width 2))) …)`. Parameters
    are not looked at: `width` is a good name for a definition and for what a function takes."""
    variables = {name: item for name, item in evaluator.user.table.items() if item.kind == "variable"}
    for item in evaluator.user.table.values():
        for name, place in _bound_anew(item.form):
            if name in variables:
                evaluator.reporter.error(
                    "W-NAME-007", f"this `{name}` hides the `defvar` of that name", place, "another value from here on",
                    secondary=[Label(variables[name].span, "the definition")], fix="give one of them another name")


def _bound_anew(datum: Datum) -> Iterator[tuple[str, Span]]:
    """The names that a `let` binds to values that do not mention them."""
    if not isinstance(datum, Form) or datum.head in ("quote", "quasiquote"):
        return
    if datum.head in ("let", "let*") and len(datum.items) > 1 and isinstance(datum.items[1], Form):
        for binding in datum.items[1].items:
            if isinstance(binding, Form) and len(binding.items) == 2:
                name, value = binding.items
                if isinstance(name, Atom) and isinstance(name.value, Symbol) and not _mentions(value, name.value):
                    yield name.value.name, name.span
    for item in datum.items:
        yield from _bound_anew(item)


def _mentions(datum: Datum, name: Symbol) -> bool:
    if isinstance(datum, Form):
        return any(_mentions(item, name) for item in datum.items)
    return datum.value == name
