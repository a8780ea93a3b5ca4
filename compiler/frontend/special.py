"""The table of special forms: what each is called, and how it is analysed.

A special form decides itself which of its parts are evaluated. Its function gets the form and the scope it stands in,
and gives a node: a Python function from a frame to a value. Adding one is adding an entry to the file of its group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from sexpgpu.compiler.frontend.data import Form
from sexpgpu.compiler.frontend.scope import Scope
from sexpgpu.compiler.frontend.values import POISON
from sexpgpu.diagnostics import Diagnostic, Fix, Label, Span

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.analysis import Analyzer

Frame: TypeAlias = "list"
Node: TypeAlias = Callable[[Frame], object]


def nil_node(_frame: Frame) -> None:
    """The node of nothing."""
    return None


def poison_node(_frame: Frame) -> object:
    """The node of what is wrong and reported."""
    return POISON


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


class Malformed(Exception):
    """A form does not have its parts. Carries the diagnostic; the analyzer makes the form poison."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def malformed(form: Form, message: str, at: Span | None = None, label: str = "", *, shape: str = "",
              code: str = "E-ARITY-006") -> NoReturn:
    """End the analysis of `form`; `shape` is what it should look like."""
    raise Malformed(Diagnostic(code, message, Label(at or form.span, label),
                               fix=Fix(f"write `{shape}`") if shape else None))


Special: TypeAlias = "Callable[[Analyzer, Form, Scope], Node]"

SPECIAL: dict[str, Special] = {}

#: The forms that stand at the top level only, beside those of `SPECIAL`.
TOP_LEVEL = ("defvar", "defun", "defmacro", "include")


def special(name: str) -> Callable[[Special], Special]:
    """Enter the decorated function into the table."""

    def enter(function: Special) -> Special:
        assert name not in SPECIAL, f"`{name}` stands twice"
        SPECIAL[name] = function
        return function

    return enter
