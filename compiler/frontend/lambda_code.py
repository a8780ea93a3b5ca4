"""The code of one function of the language: its parameters, and a body that is analysed when it is first needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sexpgpu.compiler.frontend.call_binding import Callee
from sexpgpu.compiler.frontend.data import Atom, Datum
from sexpgpu.compiler.frontend.lambda_list import LambdaList
from sexpgpu.compiler.frontend.scope import Scope
from sexpgpu.compiler.frontend.special import Node, nil_node, poison_node
from sexpgpu.diagnostics import Span

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.analysis import Analyzer


class Lambda:
    """`enclosing` is the scope that a function without a name stands in. The body waits until the function is called,
    or until all names are known."""

    __slots__ = ("_analyzer", "_body", "_data", "_is_top_level", "callee", "defaults", "doc", "name",
                 "params", "scope", "span")

    def __init__(self, analyzer: Analyzer, name: str, params: LambdaList, body: Sequence[Datum], span: Span,
                 enclosing: Scope | None) -> None:
        self._analyzer, self._data, self._body = analyzer, body, None
        self.name, self.params, self.span = name, params, span
        self.callee = Callee(name, params, by_name=analyzer.module.is_prelude, span=span)
        self.scope = Scope.inner(enclosing)
        self._is_top_level = enclosing is None
        self.doc = None
        if len(body) > 1 and isinstance(body[0], Atom) and isinstance(body[0].value, str):
            self.doc, self._data = body[0].value, body[1:]
        self.defaults: tuple[Node | None, ...] = ()

    def body(self) -> Node:
        if self._body is None:
            # Set first, for a macro of the body may call the function whose body this is.
            self._body = poison_node
            outer = self._analyzer.within
            if self._is_top_level:
                self._analyzer.within = self.name
            defaults: list[Node | None] = [None] * len(self.params.required)
            for parameter in self.params.required:
                self.scope.bind(parameter.name)
            for parameter in (*self.params.optional, *self.params.key):
                # A default sees the parameters before it.
                datum = parameter.default
                defaults.append(nil_node if datum is None else self._analyzer.node(datum, self.scope))
                self.scope.bind(parameter.name)
            if self.params.rest:
                defaults.append(None)
                self.scope.bind(self.params.rest.name)
            self.defaults = tuple(defaults)
            self._body = self._analyzer.sequence(self._data, self.scope)
            self._analyzer.within = outer
        return self._body
