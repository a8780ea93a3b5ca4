"""The top level of an experiment: which names it defines, then the value of each `defvar`, in order.

All names are known before the first value is computed, so functions may call each other whatever their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sexpgpu.compiler.frontend.budget import Abandoned
from sexpgpu.compiler.frontend.contract_values import Evaluation, Loader, Optimizer, Precision, Run
from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Symbol
from sexpgpu.compiler.frontend.definitions import KINDS, defined_name
from sexpgpu.compiler.frontend.environment import Global
from sexpgpu.compiler.frontend.scope import Scope
from sexpgpu.compiler.frontend.special import SPECIAL
from sexpgpu.diagnostics import Diagnostic, Edit, Fix, Label, did_you_mean

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator


def load(evaluator: Evaluator, forms: Sequence[Datum]) -> None:
    """Define and evaluate everything."""
    written: dict[int, Global | None] = {}
    _declare(evaluator, forms, written)
    for form in forms:
        try:
            _run(evaluator, form, written)
        except Abandoned:
            continue
    _check_overrides(evaluator)
    evaluator.check_names()


def _declare(evaluator: Evaluator, forms: Sequence[Datum], written: dict[int, Global | None]) -> None:
    """Enter the definitions that stand in the text; those that macros write are entered when they are reached."""
    for form in forms:
        if not isinstance(form, Form):
            continue
        if form.head in ("progn", "do"):
            _declare(evaluator, form.items[1:], written)
        elif form.head in KINDS:
            written[id(form)] = _enter(evaluator, form)
        elif form.head and (word := _means_definition(evaluator, form)):
            evaluator.reporter.add(Diagnostic(
                "E-NAME-001", f"nothing is called `{form.head}`", Label(form.items[0].span, "unknown name"),
                fix=Fix(f"did you mean `{word}`?", (Edit(form.items[0].span, word),), True)))
            meant = Form((Atom(Symbol(word), form.items[0].span), *form.items[1:]), form.span)
            written[id(form)] = _enter(evaluator, meant)


def _means_definition(evaluator: Evaluator, form: Form) -> str | None:
    """The `def…` that a misspelt or foreign one means: what it defines is then not missing, too."""
    named = len(form.items) > 2 and isinstance(form.items[1], Atom) and isinstance(form.items[1].value, Symbol)
    head = form.head or ""
    if not named or head in SPECIAL or evaluator.user.find(head) is not None:
        return None
    word = did_you_mean(head, KINDS)
    return "defun" if word == "defvar" and len(form.items) > 3 else word


def _enter(evaluator: Evaluator, form: Form) -> Global | None:
    name = defined_name(form)
    if isinstance(name, Diagnostic):
        evaluator.reporter.add(name)
        return None
    table = evaluator.user.table
    if name in table:
        evaluator.reporter.add(Diagnostic(
            "E-NAME-003", f"`{name}` is defined twice", Label(form.items[1].span, "the second definition"),
            (Label(table[name].span, "the first definition"),)))
        return None
    made = table[name] = Global(name, KINDS[form.head], form, evaluator.user)
    return made


def _run(evaluator: Evaluator, form: Datum, written: dict[int, Global | None]) -> None:
    if isinstance(form, Form):
        if form.head in ("progn", "do"):
            for item in form.items[1:]:
                _run(evaluator, item, written)
            return
        if form.head in KINDS or id(form) in written:
            found = written[id(form)] if id(form) in written else _enter(evaluator, form)
            if found is not None and found.kind == "variable":
                evaluator.define(found)
            return
        macro = evaluator.user.table.get(form.head) if form.head else None
        if macro is not None and macro.kind == "macro":
            macro.used = True
            expansion = evaluator.expand(macro, form)
            if expansion is not None:
                _run(evaluator, expansion, written)
            return
    scope = Scope.inner(None)
    node = evaluator.analyzers[False].node(form, scope)
    _check_taken(evaluator, form, node(scope.layout.frame(None)))


#: What the compiler looks for by a name: as a value alone at the top level nothing would take it.
_NAMES: dict[type, str] = {Loader: "train-loader", Optimizer: "optimizer", Precision: "precision", Run: "run",
                           Evaluation: "evaluations"}


def _check_taken(evaluator: Evaluator, form: Datum, value: object) -> None:
    """Of a loader or an optimizer that lacks its name, the contract says that the definition is missing."""
    name = _NAMES.get(type(value))
    if name is None or not isinstance(form, Form) or (
            isinstance(value, Loader | Optimizer) and name not in evaluator.user.table):
        return
    before, after = ("[", "])") if isinstance(value, Evaluation) else ("", ")")
    shown = f"`(defvar {name} {before}({form.head or '…'} …){after}`"
    edits = (Edit(form.span.start, f"(defvar {name} {before}"), Edit(form.span.end, after))
    free = name not in evaluator.user.table
    evaluator.reporter.add(Diagnostic(
        "E-CONTRACT-020", f"nothing takes the value of this `{form.head or name}`",
        Label(form.span, "a value at the top level, without a name"),
        fix=Fix(f"write {shown}", edits, not isinstance(value, Evaluation)) if free else
        Fix(f"the compiler looks for `{name}`, which is defined: put it there")))


def _check_overrides(evaluator: Evaluator) -> None:
    """`-D name=value` replaces a `defvar`."""
    table = evaluator.user.table
    variables = [g.name for g in table.values() if g.kind == "variable"]
    for name in evaluator.overrides:
        if name in variables:
            continue
        near = did_you_mean(name, variables)
        what = "is a function" if name in table else "is not defined"
        advice = f"did you mean `{near}`?" if near else "the defvars are " + ", ".join(f"`{v}`" for v in variables)
        evaluator.reporter.add(Diagnostic("E-NAME-004", f"`-D {name}` names no `defvar`: `{name}` {what}",
                                          fix=Fix(advice) if variables else None))
