"""Between data and values: what quote gives, and what a macro's value is read as.

Lists become `Code`, which keeps the form it was read from; so a part of the user's text that a macro hands through
keeps its spans, and what the macro adds has the span of the macro's call.
"""

from __future__ import annotations

from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Keyword, Symbol
from sexpgpu.compiler.frontend.values import Code
from sexpgpu.diagnostics import Span


def to_value(datum: Datum) -> object:
    """A datum as a value, not evaluated."""
    if isinstance(datum, Atom):
        return datum.value
    return Code(tuple([to_value(item) for item in datum.items]), datum)


def to_data(value: object, span: Span) -> Datum | None:
    """A value as a datum at `span`; None where the value is no code (a function, a tensor)."""
    if isinstance(value, Code) and value.form is not None:
        return value.form
    if isinstance(value, tuple):
        items = [to_data(item, span) for item in value]
        if any(item is None for item in items):
            return None
        return Form(tuple(items), span, value.bracket if isinstance(value, Code) else "(")
    if value is None or isinstance(value, (bool, int, float, str, Keyword, Symbol)):
        return Atom(int(value) if isinstance(value, int) and not isinstance(value, bool) else value, span)
    return None
