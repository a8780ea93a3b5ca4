"""`scope`: the prefix of parameter names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sexpgpu.compiler.frontend.data import Form
from sexpgpu.compiler.frontend.layer_names import number_text
from sexpgpu.compiler.frontend.scope import Scope
from sexpgpu.compiler.frontend.special import Frame, Node, malformed, special
from sexpgpu.compiler.frontend.values import POISON

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.analysis import Analyzer


@special("scope")
def scope_form(analyzer: Analyzer, form: Form, scope: Scope) -> Node:
    """`(scope "block" i body…)`: names declared in the body begin `block.<i>.`.

    A second form that evaluates to an integer or a string, or to the number of a layer of `repeat`, with more forms
    after it, is part of the name; any other is the first form of the body.
    """
    if len(form.items) < 3:
        malformed(form, "`scope` has a name and a body", form.span, "incomplete", shape='(scope "name" body…)')
    name = analyzer.node(form.items[1], scope)
    second = analyzer.node(form.items[2], scope)
    more = len(form.items) > 3
    rest = analyzer.sequence(form.items[3:], scope)
    evaluator, place = analyzer.evaluator, form.items[1].span

    def run(frame: Frame) -> object:
        loops = evaluator.trace.loops
        prefix = name(frame)
        prefix = number_text(loops, prefix) or prefix
        if not isinstance(prefix, (str, int)) or isinstance(prefix, bool) or prefix == "":
            if prefix is not POISON:
                evaluator.reporter.error("E-TYPE-013", "the name of a `scope` is a string", place, "not a string")
            evaluator.trace.uncertain += 1   # what is declared in it has another name than it seems
            try:
                return rest(frame) if more else second(frame)
            finally:
                evaluator.trace.uncertain -= 1
        path = evaluator.trace.path
        depth = len(path)
        path.append(prefix if isinstance(prefix, str) else str(prefix))
        try:
            value = second(frame)
            if not more:
                return value
            value = number_text(loops, value) or value
            if isinstance(value, (str, int)) and not isinstance(value, bool):
                path.append(value if isinstance(value, str) else str(value))
            return rest(frame)
        finally:
            del path[depth:]

    return run
