"""What the reader makes of text: data, each with its span.

A datum is an `Atom` (number, string, keyword, symbol, boolean, nothing) or a `Form` (a bracketed sequence). `'x`,
`` `x ``, `,x` and `,@x` are read as the forms `(quote x)`, `(quasiquote x)`, `(unquote x)`, `(unquote-splicing x)`.
"""

from __future__ import annotations

from typing import TypeAlias

from sexpgpu.diagnostics import Span
from sexpgpu.diagnostics.record import record


@record
class Symbol:
    """A name. Equal by name: the place is the datum's."""

    name: str

    def __str__(self) -> str:
        return self.name


@record
class Keyword:
    """`:name`; `name` is without the colon."""

    name: str

    def __str__(self) -> str:
        return f":{self.name}"


Literal: TypeAlias = "int | float | str | bool | Keyword | Symbol | None"


# Atoms and forms are not `frozen`, though nothing changes one: freezing makes their construction five times slower,
# and reading the prelude is nothing but their construction.

@record
class Atom:
    value: Literal
    span: Span


@record
class Form:
    """`bracket` is `"("` for a call or special form, `"["` for a vector."""

    items: tuple[Datum, ...]
    span: Span
    bracket: str = "("

    @property
    def head(self) -> str | None:
        """The name a `(name …)` form begins with."""
        if self.bracket == "(" and self.items:
            first = self.items[0]
            if isinstance(first, Atom) and isinstance(first.value, Symbol):
                return first.value.name
        return None


Datum: TypeAlias = "Atom | Form"
