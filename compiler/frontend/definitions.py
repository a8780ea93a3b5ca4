"""`defun`, `defmacro` and `defvar`: from the form to a function's code, or to the node of a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Symbol
from sexpgpu.compiler.frontend.lambda_code import Lambda
from sexpgpu.compiler.frontend.lambda_list import read_lambda_list
from sexpgpu.compiler.frontend.scope import Scope
from sexpgpu.compiler.frontend.special import SPECIAL, TOP_LEVEL, Node
from sexpgpu.diagnostics import Diagnostic, Fix, Label, Span

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.analysis import Analyzer
    from sexpgpu.compiler.frontend.environment import Global, Kind

KINDS: dict[str, Kind] = {"defun": "function", "defmacro": "macro", "defvar": "variable"}

_SHAPES = {"defun": "(defun name (parameters) body…)", "defmacro": "(defmacro name (parameters) body…)",
           "defvar": "(defvar name value)"}


def defined_name(form: Form) -> str | Diagnostic:
    """The name that a definition defines, or what is wrong with the form."""
    word = form.head
    shape = Fix(f"write `{_SHAPES[word]}`")
    items = form.items
    if len(items) < 2 or not (isinstance(items[1], Atom) and isinstance(items[1].value, Symbol)):
        at = items[1].span if len(items) > 1 else form.span
        return Diagnostic("E-ARITY-006", f"`{word}` needs a name", Label(at, "no name here"), fix=shape)
    name = items[1].value.name
    if name in SPECIAL or name in TOP_LEVEL or name == "training?" or name.startswith("&"):
        return Diagnostic("E-NAME-005", f"`{name}` is a form of the language",
                          Label(items[1].span, "cannot be defined"))
    if word == "defvar" and len(items) != 3 and not (
            len(items) == 4 and isinstance(items[3], Atom) and isinstance(items[3].value, str)):
        what = "no value" if len(items) == 2 else "more than one value"
        return Diagnostic("E-ARITY-006", f"the `defvar` of `{name}` has {what}", Label(form.span, what), fix=shape)
    if word != "defvar" and len(items) < 4:
        what = "no parameter list" if len(items) == 2 else "no body"
        return Diagnostic("E-ARITY-006", f"the `{word}` of `{name}` has {what}", Label(form.span, what), fix=shape)
    return name


def function_of(analyzer: Analyzer, found: Global) -> Lambda | None:
    """The code of a `defun` or `defmacro`; None where its parameter list is wrong (reported)."""
    reporter = analyzer.evaluator.reporter

    def report(code: str, message: str, span: Span, label: str) -> None:
        reporter.add(Diagnostic(code, message, Label(span, label)))

    params = read_lambda_list(found.form.items[2], report)
    if params is None:
        return None
    return Lambda(analyzer, found.name, params, found.form.items[3:], found.span, None)


def initializer_of(analyzer: Analyzer, found: Global, override: Datum | None) -> Node:
    """The node of a `defvar`'s value; `override` stands in its place when `-D` gives one."""
    scope = Scope.inner(None)
    node = analyzer.node(found.form.items[2] if override is None else override, scope)

    def run(_frame: list) -> object:
        return node(scope.layout.frame(None))

    return run
