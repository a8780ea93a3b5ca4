"""Special forms that bind names: `let`, `let*`, `lambda`, `fn`, `for`, `dotimes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sexpgpu.compiler.frontend.budget import MAX_LENGTH
from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Symbol
from sexpgpu.compiler.frontend.lambda_code import Lambda
from sexpgpu.compiler.frontend.lambda_list import read_lambda_list
from sexpgpu.compiler.frontend.scope import Scope
from sexpgpu.compiler.frontend.special import Frame, Malformed, Node, malformed, special
from sexpgpu.compiler.frontend.values import POISON, Closure, Dim, HostScalar, Tensor
from sexpgpu.diagnostics import Diagnostic, Label, Span

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.analysis import Analyzer


_LET = "(let ((name value) …) body…)"


def name_of(datum: Datum, form: Form, shape: str) -> str:
    """The name that must stand here."""
    if isinstance(datum, Atom) and isinstance(datum.value, Symbol):
        return datum.value.name
    malformed(form, f"`{form.head}` binds names", datum.span, "not a name", shape=shape)


def _bindings(form: Form) -> list[tuple[str, Datum, Span]]:
    shape = _LET.replace("let", form.head or "let", 1)
    if len(form.items) < 2 or not isinstance(form.items[1], Form):
        at = form.items[1].span if len(form.items) > 1 else form.span
        malformed(form, f"`{form.head}` needs a list of bindings", at, "not a list of `(name value)`", shape=shape)
    found = []
    for binding in form.items[1].items:
        if not isinstance(binding, Form) or len(binding.items) != 2:
            malformed(form, f"a binding of `{form.head}` is a name and a value", binding.span,
                      "not a `(name value)`", shape=shape)
        found.append((name_of(binding.items[0], form, shape), binding.items[1], binding.items[0].span))
    if len(form.items) < 3:
        malformed(form, f"`{form.head}` has no body", form.span, "no body", shape=shape)
    return found


@special("let")
def let(analyzer: Analyzer, form: Form, scope: Scope) -> Node:
    """The values see the scope outside."""
    bindings = _bindings(form)
    nodes = [analyzer.node(value, scope) for _, value, _ in bindings]
    inner, seen = scope.nested(), {}
    slots = []
    for name, _, span in bindings:
        if name in seen:
            malformed(form, f"`let` binds `{name}` twice", span, "the second time", code="E-NAME-003")
        seen[name] = span
        slots.append(inner.bind(name))
    body = analyzer.sequence(form.items[2:], inner)
    pairs = tuple(zip(slots, nodes, strict=True))

    def run(frame: Frame) -> object:
        values = [node(frame) for _, node in pairs]
        for (slot, _), value in zip(pairs, values, strict=True):
            frame[slot] = value
        return body(frame)

    return run


@special("let*")
def let_in_order(analyzer: Analyzer, form: Form, scope: Scope) -> Node:
    """Each value sees the names before it."""
    inner, pairs = scope, []
    for name, value, _ in _bindings(form):
        node = analyzer.node(value, inner)
        inner = inner.nested()
        pairs.append((inner.bind(name), node))
    body = analyzer.sequence(form.items[2:], inner)

    def run(frame: Frame) -> object:
        for slot, node in pairs:
            frame[slot] = node(frame)
        return body(frame)

    return run


@special("lambda")
@special("fn")
def function(analyzer: Analyzer, form: Form, scope: Scope) -> Node:
    if len(form.items) < 3:
        malformed(form, f"`{form.head}` needs parameters and a body", form.span, "incomplete",
                  shape=f"({form.head} (parameters) body…)")

    def report(code: str, message: str, span: Span, label: str) -> None:
        raise Malformed(Diagnostic(code, message, Label(span, label)))

    params = read_lambda_list(form.items[1], report)
    assert params is not None
    name = f"{form.head} in {analyzer.within}" if analyzer.within else str(form.head)
    code = Lambda(analyzer, name, params, form.items[2:], form.span, scope)
    code.body()
    return lambda frame: Closure(code, frame)


@special("for")
def for_each(analyzer: Analyzer, form: Form, scope: Scope) -> Node:
    """`(for [x xs …] body…)`: a vector of the body's values; of several names, the last turns fastest."""
    shape = "(for [name list] body…)"
    names = form.items[1] if len(form.items) > 1 else None
    if not isinstance(names, Form) or not names.items or len(names.items) % 2 or len(form.items) < 3:
        malformed(form, "`for` needs names with lists, and a body", names.span if names else form.span,
                  "not `[name list]`" if len(form.items) > 2 else "incomplete", shape=shape)
    name = name_of(names.items[0], form, shape)
    source = analyzer.node(names.items[1], scope)
    inner = Scope.inner(scope)
    slot = inner.bind(name)
    nested = len(names.items) > 2
    if nested:
        rest = Form(names.items[2:], names.span, names.bracket)
        body = for_each(analyzer, Form((form.items[0], rest, *form.items[2:]), form.span), inner)
    else:
        body = analyzer.sequence(form.items[2:], inner)
    evaluator, place = analyzer.evaluator, names.items[1].span

    def run(frame: Frame) -> object:
        items = source(frame)
        if items is POISON:
            return POISON
        if not isinstance(items, tuple):
            hint = "`(range n)` counts from 0; `scan` goes through a tensor" if isinstance(
                items, (int, Tensor, HostScalar)) else None
            evaluator.reporter.error("E-TYPE-013", "`for` goes through a list", place, "not a list", fix=hint)
            return POISON
        found: list[object] = []
        for item in items:
            evaluator.budget.step(form.span)
            turn = inner.layout.frame(frame)
            turn[slot] = item
            value = body(turn)
            if nested and isinstance(value, tuple):
                found.extend(value)
            else:
                found.append(value)
        return tuple(found)

    return run


@special("dotimes")
def dotimes(analyzer: Analyzer, form: Form, scope: Scope) -> Node:
    """`(dotimes (i n) body…)`: the body n times, with i from 0; nil."""
    shape = "(dotimes (name count) body…)"
    head = form.items[1] if len(form.items) > 1 else None
    if not isinstance(head, Form) or len(head.items) != 2 or len(form.items) < 3:
        malformed(form, "`dotimes` needs a name, a count and a body", head.span if head else form.span,
                  "not `(name count)`" if len(form.items) > 2 else "incomplete", shape=shape)
    name = name_of(head.items[0], form, shape)
    count = analyzer.node(head.items[1], scope)
    inner = Scope.inner(scope)
    slot = inner.bind(name)
    body = analyzer.sequence(form.items[2:], inner)
    evaluator, place = analyzer.evaluator, head.items[1].span

    def run(frame: Frame) -> object:
        n = count(frame)
        if n is POISON:
            return POISON
        if not isinstance(n, int) or isinstance(n, bool):
            evaluator.reporter.error("E-TYPE-006", "`dotimes` counts to an integer known at compile time", place,
                                     "not an integer")
            return POISON
        if n > MAX_LENGTH:
            evaluator.reporter.error("E-VALUE-005", f"a loop at compile time takes at most {MAX_LENGTH} turns", place,
                                     f"{int(n)} turns")
            return POISON
        for i in range(n):
            evaluator.budget.step(form.span)
            turn = inner.layout.frame(frame)
            turn[slot] = Dim(i)
            body(turn)
        return None

    return run
