"""Data to code: every name resolved, every call bound, every special form taken apart, before anything runs.

`Analyzer.node` turns a datum into a node, a Python function from a frame of variables to a value. Mistakes that can be
seen without running (names, arguments, malformed forms) are held back in the reporter until the code runs, or until
everything that runs has run; so code that is never reached is checked as well, and nothing is reported twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sexpgpu.compiler.frontend.call_binding import CallShape, bind
from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Keyword, Symbol
from sexpgpu.compiler.frontend.environment import Global, Module
from sexpgpu.compiler.frontend.ops.registry import Op
from sexpgpu.compiler.frontend.scope import Scope
from sexpgpu.compiler.frontend.special import SPECIAL, TOP_LEVEL, Malformed, Node, malformed, nil_node, poison_node
from sexpgpu.compiler.frontend.values import POISON, Closure, Dim, Origin
from sexpgpu.diagnostics import Diagnostic, Edit, Fix, Label, Span, did_you_mean
from sexpgpu.diagnostics.suggest import is_sure

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator

#: Special forms whose parts are not all expressions.
_BINDERS = {"let", "let*", "fn", "lambda", "for", "dotimes", "cond", "case", "quote", "quasiquote"}
#: Names of values that are no variables.
_LITERALS = {"true", "false", "nil", "inf", "nan"}
#: How many expansions of macros may stand inside each other.
MAX_EXPANSIONS = 200


class Analyzer:
    """Analyses the code of one module: the user's files, or the prelude. `within` is the function it is in."""

    def __init__(self, evaluator: Evaluator, module: Module) -> None:
        self.evaluator, self.module = evaluator, module
        self.expansions = 0
        self.within = ""

    # -- data ---------------------------------------------------------------------------------------------------------

    def node(self, datum: Datum, scope: Scope) -> Node:
        try:
            if isinstance(datum, Atom):
                return self._atom(datum, scope)
            if datum.bracket == "[":
                return self._vector([self.node(item, scope) for item in datum.items])
            if not datum.items:
                return nil_node
            return self._form(datum, scope)
        except Malformed as error:
            return self.wrong([error.diagnostic])

    def sequence(self, data: Sequence[Datum], scope: Scope) -> Node:
        """The data in order; the value is the last one's, nil of none."""
        nodes = [self.node(datum, scope) for datum in data]
        if not nodes:
            return nil_node
        if len(nodes) == 1:
            return nodes[0]
        *before, last = nodes

        def run(frame: list) -> object:
            for node in before:
                node(frame)
            return last(frame)

        return run

    def wrong(self, diagnostics: Sequence[Diagnostic], parts: Sequence[Node] = (),
              made: Callable[[list], object] | None = None) -> Node:
        """The node of a mistake: its parts are evaluated for their own mistakes, and it is poison, or what `made` gives
        of them."""
        reporter = self.evaluator.reporter
        for diagnostic in diagnostics:
            reporter.hold(diagnostic)

        def run(frame: list) -> object:
            values = [part(frame) for part in parts]
            for d in diagnostics:
                reporter.error(d.code, d.message, d.primary.span, d.primary.text, secondary=d.secondary, notes=d.notes,
                               fix=d.fix, tries=d.tries)
            return POISON if made is None else made(values)

        return run

    def _atom(self, atom: Atom, scope: Scope) -> Node:
        value = atom.value
        if isinstance(value, Symbol):
            return self.variable(value.name, atom.span, scope)
        if type(value) is int:
            value = Dim(value, Origin(f"the number {value}", atom.span))
        return lambda _frame: value

    @staticmethod
    def _vector(nodes: list[Node]) -> Node:
        return lambda frame: tuple([node(frame) for node in nodes])

    # -- names --------------------------------------------------------------------------------------------------------

    def variable(self, name: str, span: Span, scope: Scope) -> Node:
        """The value of a name."""
        place = scope.find(name)
        if place is not None:
            return local(*place)
        if name == "training?":
            return lambda _frame: self.evaluator.training()
        found = self.module.find(name)
        if isinstance(found, Op):
            return lambda _frame: found
        if found is None:
            self._unresolved(name, span, scope)
        names = scope.names()

        def run(_frame: list) -> object:
            known = found if found is not None else self.module.find(name)
            if known is None:
                self.unknown_name(name, span, names)
                return POISON
            return self.evaluator.global_value(known, span) if isinstance(known, Global) else known

        return run

    def _unresolved(self, name: str, span: Span, scope: Scope) -> None:
        self.evaluator.unresolved.append((self, name, span, scope.names()))

    def unknown_name(self, name: str, span: Span, names: set[str], hold: bool = False) -> None:
        """Report a name that nothing has."""
        module = self.module
        if name in SPECIAL or name in TOP_LEVEL:
            diagnostic = Diagnostic("E-NAME-001", f"`{name}` is a special form, not a value",
                                    Label(span, "not a value"))
        else:
            near = did_you_mean(name, sorted(names | module.visible() | set(SPECIAL) | set(TOP_LEVEL) | _LITERALS))
            fix = Fix(f"did you mean `{near}`?", (Edit(span, near),), is_sure(name, near)) if near else None
            diagnostic = Diagnostic("E-NAME-001", f"nothing is called `{name}`", Label(span, "unknown name"), fix=fix)
        if hold:
            self.evaluator.reporter.hold(diagnostic)
        else:
            self.evaluator.reporter.error(diagnostic.code, diagnostic.message, span, diagnostic.primary.text,
                                          fix=diagnostic.fix)

    # -- forms --------------------------------------------------------------------------------------------------------

    def _form(self, form: Form, scope: Scope) -> Node:
        head = form.items[0]
        name = head.value.name if isinstance(head, Atom) and isinstance(head.value, Symbol) else None
        if name is None:
            return self._call_of(self.node(head, scope), form, scope)
        if name in SPECIAL:
            return SPECIAL[name](self, form, scope)
        if name in TOP_LEVEL and scope.find(name) is None:
            malformed(form, f"`{name}` stands at the top level of a file only", form.span, "inside another form")
        place = scope.find(name)
        if place is not None:
            return self._call_of(local(*place), form, scope, self.module.find_beyond(name))
        found = self.module.find(name)
        if isinstance(found, Global) and found.kind == "macro":
            return self._macro_call(found, form, scope)
        if isinstance(found, Op):
            return self._op_call(found, form, scope)
        if isinstance(found, Global) and found.kind == "function":
            return self._function_call(found, form, scope)
        if found is None and self._near_form(name):
            # A misspelt macro or special form: what stands in it is not an argument, and may use names that it binds.
            return self.variable(name, head.span, scope)
        beyond = self.module.find_beyond(name) if found is not None else None
        return self._call_of(self._head(name, head.span, scope, found, beyond), form, scope, beyond)

    def _near_form(self, name: str) -> bool:
        near = did_you_mean(name, sorted(self.module.visible() | set(SPECIAL)))
        known = self.module.find(near) if near is not None else None
        return near in _BINDERS or (isinstance(known, Global) and known.kind == "macro")

    def _head(self, name: str, span: Span, scope: Scope, found: Global | None, beyond: Global | Op | None) -> Node:
        """A variable at the head of a call. While its own value is being computed, `(defvar optimizer (optimizer …))`,
        it hides nothing."""
        variable = self.variable(name, span, scope)
        if found is None or beyond is None:
            return variable
        return lambda frame: variable(frame) if found.is_known else None

    def _arguments(self, form: Form, scope: Scope) -> tuple[CallShape, list[Node]]:
        data = form.items[1:]
        words = tuple(d.value.name if isinstance(d, Atom) and isinstance(d.value, Keyword) else None for d in data)
        return CallShape(form.span, words, tuple(d.span for d in data)), [self.node(d, scope) for d in data]

    def _op_call(self, op: Op, form: Form, scope: Scope) -> Node:
        shape, nodes = self._arguments(form, scope)
        slots, wrong, unknown = bind(shape, self.evaluator.callee(op))
        invoke = self.evaluator.invoke_op
        if wrong:
            def made(values: Sequence[object]) -> object:
                self.evaluator.unknown_words = unknown
                try:
                    return invoke(op, slots, shape, values)
                finally:
                    self.evaluator.unknown_words = ()

            # A form that describes data is made as far as it is known, for what depends on it.
            return self.wrong(wrong, nodes, None if slots is None or op.poison != "any" else made)
        return lambda frame: invoke(op, slots, shape, [node(frame) for node in nodes])

    def _function_call(self, target: Global, form: Form, scope: Scope) -> Node:
        """A call of a top-level function: its lambda list is known, so the call is checked here."""
        shape, nodes = self._arguments(form, scope)
        closure = self.evaluator.global_value(target, form.items[0].span)
        if not isinstance(closure, Closure):
            return self.wrong([], nodes)
        slots, wrong, _ = bind(shape, closure.code.callee)
        if wrong:
            return self.wrong(wrong, nodes)
        invoke = self.evaluator.invoke_closure
        return lambda frame: invoke(closure, slots, shape, [node(frame) for node in nodes])

    def _call_of(self, head: Node, form: Form, scope: Scope, beyond: Global | Op | None = None) -> Node:
        """A call of whatever the head's value is. A variable that holds no function does not hide a function of the
        language that has its name (`beyond`)."""
        shape, nodes = self._arguments(form, scope)
        evaluator, place = self.evaluator, form.items[0].span

        def run(frame: list) -> object:
            function = head(frame)
            if function is POISON:
                return self._arguments_of_nothing(nodes, frame)
            if beyond is not None and not isinstance(function, (Closure, Op)):
                function = evaluator.global_value(beyond, place) if isinstance(beyond, Global) else beyond
            return evaluator.call(function, shape, [node(frame) for node in nodes], place)

        return run

    def _arguments_of_nothing(self, nodes: Sequence[Node], frame: list) -> object:
        """The arguments of a call whose function is wrong, for their own mistakes."""
        trace = self.evaluator.trace
        trace.uncertain += 1
        try:
            for node in nodes:
                node(frame)
        finally:
            trace.uncertain -= 1
        return POISON

    def _macro_call(self, macro: Global, form: Form, scope: Scope) -> Node:
        if self.expansions >= MAX_EXPANSIONS:
            malformed(form, f"macros expand into macros deeper than {MAX_EXPANSIONS}", form.span,
                      f"the expansion of `{macro.name}` does not end", code="E-VALUE-009")
        self.expansions += 1
        try:
            expansion = self.evaluator.expand(macro, form)
            if expansion is None:
                return poison_node
            reporter = self.evaluator.reporter

            def note() -> str:
                from sexpgpu.compiler.frontend.printer import brief  # only what is wrong is printed

                return f"`{macro.name}` at {form.span} expands to `{brief(expansion)}`"

            with reporter.expanding(note):
                node = self.node(expansion, scope)
        finally:
            self.expansions -= 1

        def run(frame: list) -> object:
            with reporter.expanding(note):
                return node(frame)

        return run


def local(hops: int, slot: int) -> Node:
    """A variable `hops` frames out."""
    if hops == 0:
        return lambda frame: frame[slot]
    if hops == 1:
        return lambda frame: frame[0][slot]

    def run(frame: list) -> object:
        for _ in range(hops):
            frame = frame[0]
        return frame[slot]

    return run
