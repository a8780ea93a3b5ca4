"""Data to code: every name resolved, every call bound, every special form taken apart, before anything runs.

`Analyzer.node` turns a datum into a node, a Python function from a frame of variables to a value. Mistakes that can be
seen without running (names, arguments, malformed forms) are held back in the reporter until the code runs, or until
everything that runs has run; so code that is never reached is checked as well, and nothing is reported twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sexpgpu.compiler.frontend import calls
from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Symbol
from sexpgpu.compiler.frontend.environment import Global, Module
from sexpgpu.compiler.frontend.ops.registry import Op
from sexpgpu.compiler.frontend.scope import Scope
from sexpgpu.compiler.frontend.special import SPECIAL, TOP_LEVEL, Malformed, Node, local, malformed, nil_node
from sexpgpu.compiler.frontend.values import POISON, Dim, Origin
from sexpgpu.diagnostics import Diagnostic, Edit, Fix, Label, Span, did_you_mean
from sexpgpu.diagnostics.suggest import is_sure

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator

#: Special forms whose parts are not all expressions.
_BINDERS = {"let", "let*", "fn", "lambda", "for", "dotimes", "cond", "case", "quote", "quasiquote"}
#: Names of values that are no variables.
_LITERALS = {"true", "false", "nil", "inf", "nan"}


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
            return calls.of_value(self, self.node(head, scope), form, scope)
        if name in SPECIAL:
            return SPECIAL[name](self, form, scope)
        if name in TOP_LEVEL and scope.find(name) is None:
            malformed(form, f"`{name}` stands at the top level of a file only", form.span, "inside another form")
        place = scope.find(name)
        if place is not None:
            return calls.of_value(self, local(*place), form, scope, self.module.find_beyond(name))
        found = self.module.find(name)
        if isinstance(found, Global) and found.kind == "macro":
            return calls.of_macro(self, found, form, scope)
        if isinstance(found, Op):
            return calls.of_op(self, found, form, scope)
        if isinstance(found, Global) and found.kind == "function":
            return calls.of_function(self, found, form, scope)
        if found is None and self._near_form(name):
            # A misspelt macro or special form: what stands in it is not an argument, and may use names that it binds.
            return self.variable(name, head.span, scope)
        beyond = self.module.find_beyond(name) if found is not None else None
        return calls.of_value(self, self._head(name, head.span, scope, found, beyond), form, scope, beyond)

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
