"""Special forms that choose and sequence: `if`, `cond`, `when`, `unless`, `case`, `and`, `or`, `progn`, `do`, `->`,
`->>`.

A condition known at compile time picks a branch. One that is a scalar tensor, or a scalar of `ctx`, stages both
(`branch`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from sexpgpu.compiler.frontend.branch import staged_branch
from sexpgpu.compiler.frontend.code_values import to_value
from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Symbol
from sexpgpu.compiler.frontend.ops import OPS
from sexpgpu.compiler.frontend.scope import Scope
from sexpgpu.compiler.frontend.special import Frame, Node, malformed, nil_node, special
from sexpgpu.compiler.frontend.values import POISON, HostScalar, Tensor, is_true, same_value
from sexpgpu.diagnostics import Span

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.analysis import Analyzer


def is_staged(condition: object) -> bool:
    """Whether a condition is decided at run time. A tensor of numbers with axes is no condition but something that is
    there, like any other value: `(if bias (+ y bias) y)` asks whether there is one."""
    if isinstance(condition, Tensor):
        return condition.dtype.kind == "bool" or not condition.shape
    return isinstance(condition, HostScalar)


def choose(analyzer: Analyzer, test: Node, on_true: Node, on_false: Node, place: Span, span: Span) -> Node:
    """The node of `(if test on-true on-false)`; `place` is the condition's."""
    evaluator = analyzer.evaluator

    def run(frame: Frame) -> object:
        condition = test(frame)
        if is_staged(condition):
            return staged_branch(evaluator, condition, lambda: on_true(frame), lambda: on_false(frame), place, span)
        if condition is POISON:
            return POISON
        return on_true(frame) if is_true(condition) else on_false(frame)

    return run


@special("if")
def if_(analyzer: Analyzer, form: Form, scope: Scope) -> Node:
    if len(form.items) not in (3, 4):
        malformed(form, "`if` has a condition and one or two branches", form.span, f"it has {len(form.items) - 1}",
                  shape="(if condition then else)")
    test, on_true = (analyzer.node(d, scope) for d in form.items[1:3])
    on_false = analyzer.node(form.items[3], scope) if len(form.items) == 4 else nil_node
    return choose(analyzer, test, on_true, on_false, form.items[1].span, form.span)


@special("when")
@special("unless")
def when(analyzer: Analyzer, form: Form, scope: Scope) -> Node:
    if len(form.items) < 2:
        malformed(form, f"`{form.head}` has no condition", form.span, "incomplete",
                  shape=f"({form.head} condition body…)")
    test = analyzer.node(form.items[1], scope)
    body = analyzer.sequence(form.items[2:], scope)
    branches = (body, nil_node) if form.head == "when" else (nil_node, body)
    return choose(analyzer, test, *branches, form.items[1].span, form.span)


def is_default(datum: Datum) -> bool:
    """`else` and `true` stand for what always holds, in `cond` and `case`."""
    return isinstance(datum, Atom) and (datum.value is True or datum.value == Symbol("else"))


def _clauses(form: Form, data: Sequence[Datum], shape: str) -> list[Form]:
    for datum in data:
        if not isinstance(datum, Form) or not datum.items:
            malformed(form, f"a clause of `{form.head}` is a list", datum.span, "not a clause", shape=shape)
    return list(data)


@special("cond")
def cond(analyzer: Analyzer, form: Form, scope: Scope) -> Node:
    """`(cond (test body…) … (else body…))`; a clause of a test alone gives the test's value."""
    clauses = _clauses(form, form.items[1:], "(cond (test body…) … (else body…))")
    node: Node = nil_node
    for clause in reversed(clauses):
        head, body = clause.items[0], clause.items[1:]
        if is_default(head):
            node = analyzer.sequence(body, scope)
        elif body:
            node = choose(analyzer, analyzer.node(head, scope), analyzer.sequence(body, scope), node, head.span,
                          clause.span)
        else:
            node = _first_true(analyzer.node(head, scope), node)
    return node


def _first_true(test: Node, otherwise: Node) -> Node:
    def run(frame: Frame) -> object:
        value = test(frame)
        return value if is_true(value) else otherwise(frame)

    return run


@special("case")
def case(analyzer: Analyzer, form: Form, scope: Scope) -> Node:
    """`(case value (key body…) ((key key) body…) … (else body…))`; keys are data, not evaluated."""
    shape = "(case value (key body…) … (else body…))"
    if len(form.items) < 2:
        malformed(form, "`case` has no value", form.span, "incomplete", shape=shape)
    value = analyzer.node(form.items[1], scope)
    inner = scope.nested()
    slot = inner.bind("")
    node: Node = nil_node
    for clause in reversed(_clauses(form, form.items[2:], shape)):
        body = analyzer.sequence(clause.items[1:], inner)
        head = clause.items[0]
        if is_default(head):
            node = body
            continue
        keys = to_value(head)
        listed = keys if isinstance(keys, tuple) else (keys,)
        test = _is_one_of(analyzer, slot, listed, head.span)
        node = choose(analyzer, test, body, node, head.span, clause.span)

    def run(frame: Frame) -> object:
        found = value(frame)
        if found is POISON:
            return POISON
        frame[slot] = found
        return node(frame)

    return run


def _is_one_of(analyzer: Analyzer, slot: int, keys: tuple, span: Span) -> Node:
    """Compile-time values are compared here, staged ones by the language's `=`."""
    evaluator = analyzer.evaluator

    def run(frame: Frame) -> object:
        value = frame[slot]
        if not isinstance(value, (Tensor, HostScalar)):
            return any(same_value(value, key) for key in keys)
        tests = [evaluator.apply(OPS["="], [value, key], span) for key in keys]
        return reduce(lambda a, b: evaluator.apply(OPS["logical-or"], [a, b], span), tests)

    return run


def _logic(name: str, stop: bool) -> None:
    """`and` stops at the first false value, `or` (`stop`) at the first true one; staged values are combined."""

    @special(name)
    def logic(analyzer: Analyzer, form: Form, scope: Scope) -> Node:
        nodes = [analyzer.node(datum, scope) for datum in form.items[1:]]
        evaluator = analyzer.evaluator

        def run(frame: Frame) -> object:
            staged: list[object] = []
            value: object = not stop
            poisoned = False
            for node in nodes:
                value = node(frame)
                if is_staged(value):
                    staged.append(value)
                elif value is POISON:
                    poisoned = True
                elif is_true(value) is stop:
                    return POISON if poisoned else value
            if poisoned:
                return POISON
            if not staged:
                return value
            return reduce(lambda a, b: evaluator.apply(OPS[f"logical-{name}"], [a, b], form.span), staged)

        return run


_logic("and", stop=False)
_logic("or", stop=True)


@special("progn")
@special("do")
def progn(analyzer: Analyzer, form: Form, scope: Scope) -> Node:
    return analyzer.sequence(form.items[1:], scope)


@special("->")
@special("->>")
def thread(analyzer: Analyzer, form: Form, scope: Scope) -> Node:
    """`(-> x (f a) g)` is `(g (f x a))`; `->>` puts the value last."""
    if len(form.items) < 2:
        malformed(form, f"`{form.head}` has no value to begin with", form.span, "incomplete",
                  shape=f"({form.head} value (function argument…) …)")
    value, *steps = form.items[1:]
    for step in steps:
        span = value.span.to(step.span) if value.span.file == step.span.file else step.span
        if isinstance(step, Form) and step.bracket == "(" and step.items:
            head, *rest = step.items
            items = (head, value, *rest) if form.head == "->" else (head, *rest, value)
            value = Form(items, step.span)
        elif isinstance(step, Atom) and isinstance(step.value, Symbol):
            value = Form((step, value), span)
        else:
            malformed(form, f"a step of `{form.head}` is a function or a call", step.span, "neither of them")
    return analyzer.node(value, scope)
