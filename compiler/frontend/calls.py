"""Code of calls: arguments are bound where the call is analysed, as far as it is known there what is called.

Each function gives the node of one kind of call; see `analysis` for what a node is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sexpgpu.compiler.frontend.call_binding import CallShape, bind
from sexpgpu.compiler.frontend.data import Form
from sexpgpu.compiler.frontend.environment import Global
from sexpgpu.compiler.frontend.ops.registry import Op
from sexpgpu.compiler.frontend.scope import Scope
from sexpgpu.compiler.frontend.special import Node, malformed, poison_node
from sexpgpu.compiler.frontend.values import POISON, Closure

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.analysis import Analyzer

#: How many expansions of macros may stand inside each other.
MAX_EXPANSIONS = 200


def _arguments(analyzer: Analyzer, form: Form, scope: Scope) -> tuple[CallShape, list[Node]]:
    return CallShape.of(form), [analyzer.node(d, scope) for d in form.items[1:]]


def of_op(analyzer: Analyzer, op: Op, form: Form, scope: Scope) -> Node:
    shape, nodes = _arguments(analyzer, form, scope)
    evaluator = analyzer.evaluator
    slots, wrong, unknown = bind(shape, evaluator.callee(op))
    invoke = evaluator.invoke_op
    if wrong:
        def made(values: Sequence[object]) -> object:
            evaluator.unknown_words = unknown
            try:
                return invoke(op, slots, shape, values)
            finally:
                evaluator.unknown_words = ()

        # A form that describes data is made as far as it is known, for what depends on it.
        return analyzer.wrong(wrong, nodes, None if slots is None or op.poison != "any" else made)
    return lambda frame: invoke(op, slots, shape, [node(frame) for node in nodes])


def of_function(analyzer: Analyzer, target: Global, form: Form, scope: Scope) -> Node:
    """A call of a top-level function: its lambda list is known, so the call is checked here."""
    shape, nodes = _arguments(analyzer, form, scope)
    closure = analyzer.evaluator.global_value(target, form.items[0].span)
    if not isinstance(closure, Closure):
        return analyzer.wrong([], nodes)
    slots, wrong, _ = bind(shape, closure.code.callee)
    if wrong:
        return analyzer.wrong(wrong, nodes)
    invoke = analyzer.evaluator.invoke_closure
    return lambda frame: invoke(closure, slots, shape, [node(frame) for node in nodes])


def of_value(analyzer: Analyzer, head: Node, form: Form, scope: Scope, beyond: Global | Op | None = None) -> Node:
    """A call of whatever the head's value is. A variable that holds no function does not hide a function of the
    language that has its name (`beyond`)."""
    shape, nodes = _arguments(analyzer, form, scope)
    evaluator, place = analyzer.evaluator, form.items[0].span

    def of_nothing(frame: list) -> object:
        """The arguments of a call whose function is wrong, for their own mistakes."""
        trace = evaluator.trace
        trace.uncertain += 1
        try:
            for node in nodes:
                node(frame)
        finally:
            trace.uncertain -= 1
        return POISON

    def run(frame: list) -> object:
        function = head(frame)
        if function is POISON:
            return of_nothing(frame)
        if beyond is not None and not isinstance(function, (Closure, Op)):
            function = evaluator.global_value(beyond, place) if isinstance(beyond, Global) else beyond
        return evaluator.call(function, shape, [node(frame) for node in nodes], place)

    return run


def of_macro(analyzer: Analyzer, macro: Global, form: Form, scope: Scope) -> Node:
    """The code that the macro's call expands to."""
    if analyzer.expansions >= MAX_EXPANSIONS:
        malformed(form, f"macros expand into macros deeper than {MAX_EXPANSIONS}", form.span,
                  f"the expansion of `{macro.name}` does not end", code="E-VALUE-009")
    analyzer.expansions += 1
    try:
        expansion = analyzer.evaluator.expand(macro, form)
        if expansion is None:
            return poison_node
        reporter = analyzer.evaluator.reporter

        def note() -> str:
            from sexpgpu.compiler.frontend.printer import brief  # only what is wrong is printed

            return f"`{macro.name}` at {form.span} expands to `{brief(expansion)}`"

        with reporter.expanding(note):
            node = analyzer.node(expansion, scope)
    finally:
        analyzer.expansions -= 1

    def run(frame: list) -> object:
        with reporter.expanding(note):
            return node(frame)

    return run
