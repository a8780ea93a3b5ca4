"""`quote` and `quasiquote`: pieces of program as values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sexpgpu.compiler.frontend.code_values import to_value
from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Symbol
from sexpgpu.compiler.frontend.scope import Scope
from sexpgpu.compiler.frontend.special import Frame, Node, malformed, special
from sexpgpu.compiler.frontend.values import POISON, Code

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.analysis import Analyzer

_PREFIX = {"quote": "'", "quasiquote": "`", "unquote": ",", "unquote-splicing": ",@"}


def _only(form: Form) -> Datum:
    if len(form.items) != 2:
        malformed(form, f"`{form.head}` takes one form", form.span, f"{len(form.items) - 1} forms",
                  shape=f"{_PREFIX[form.head or 'quote']}form")
    return form.items[1]


@special("quote")
def quote(_analyzer: Analyzer, form: Form, _scope: Scope) -> Node:
    value = to_value(_only(form))
    return lambda _frame: value


@special("unquote")
@special("unquote-splicing")
def stray(_analyzer: Analyzer, form: Form, _scope: Scope) -> Node:
    word = form.head or "unquote"
    malformed(form, f"`{_PREFIX[word]}` stands outside of a quasiquote", form.span, "no quasiquote around it")


@special("quasiquote")
def quasiquote(analyzer: Analyzer, form: Form, scope: Scope) -> Node:
    return _template(analyzer, _only(form), scope, 1)


def _template(analyzer: Analyzer, datum: Datum, scope: Scope, depth: int) -> Node:
    """What a template makes: `depth` quasiquotes are open around it, and an unquote of the outermost is evaluated."""
    if isinstance(datum, Atom):
        value = datum.value
        return lambda _frame: value
    if datum.head == "unquote":
        if depth == 1:
            return analyzer.node(_only(datum), scope)
        return _rewrapped(analyzer, datum, scope, depth - 1)
    if datum.head == "quasiquote":
        return _rewrapped(analyzer, datum, scope, depth + 1)
    parts: list[tuple[bool, Node]] = []
    for item in datum.items:
        if isinstance(item, Form) and item.head == "unquote-splicing" and depth == 1:
            parts.append((True, _spliced(analyzer, item, scope)))
        else:
            parts.append((False, _template(analyzer, item, scope, depth)))
    bracket = datum.bracket

    def run(frame: Frame) -> object:
        items: list[object] = []
        for splice, node in parts:
            value = node(frame)
            if splice and isinstance(value, tuple):
                items.extend(value)
            else:
                items.append(value)
        return Code(tuple(items), None, bracket)

    return run


def _rewrapped(analyzer: Analyzer, datum: Form, scope: Scope, depth: int) -> Node:
    """A nested quote of either kind stays what it is, its inside a template of another depth."""
    inside = _template(analyzer, _only(datum), scope, depth)
    word = Symbol(datum.head or "quasiquote")
    return lambda frame: Code((word, inside(frame)))


def _spliced(analyzer: Analyzer, item: Form, scope: Scope) -> Node:
    node, evaluator = analyzer.node(_only(item), scope), analyzer.evaluator

    def run(frame: Frame) -> object:
        value = node(frame)
        if not isinstance(value, tuple) and value is not POISON:
            if value is None:
                return ()
            evaluator.reporter.error("E-TYPE-013", "`,@` splices a list", item.span, "not a list")
            return POISON
        return value

    return run
