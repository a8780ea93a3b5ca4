"""From a place back to the data that stands there. Asked only of what is wrong: the text is read once more for it."""

from __future__ import annotations

from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Symbol
from sexpgpu.compiler.frontend.reader import read
from sexpgpu.diagnostics import SourceMap, Span
from sexpgpu.diagnostics.edits import offsets


class Places:
    """The data of the files of `sources`, by place."""

    def __init__(self, sources: SourceMap) -> None:
        self._sources = sources
        self._read: dict[str, list[Datum]] = {}

    def forms(self, file: str) -> list[Datum]:
        """The top-level data of a file; nothing of one that is not known."""
        found = self._read.get(file)
        if found is None:
            source = self._sources.get(file)
            found = self._read[file] = read(source, lambda _: None) if source else []
        return found

    def path(self, span: Span) -> list[Datum]:
        """The data around `span`, the outermost first; the last is the smallest that contains it."""
        found: list[Datum] = []
        items: tuple[Datum, ...] = tuple(self.forms(span.file))
        while True:
            inside = next((item for item in items if item.span.contains(span)), None)
            if inside is None:
                return found
            found.append(inside)
            items = inside.items if isinstance(inside, Form) else ()

    def at(self, span: Span) -> Datum | None:
        """The datum that stands exactly at `span`."""
        path = self.path(span)
        return path[-1] if path and path[-1].span == span else None

    def item(self, span: Span, index: int) -> Span | None:
        """The place of element `index` of the vector, or the `(list …)`, that is written at `span`."""
        datum = self.at(span)
        if not isinstance(datum, Form):
            return None
        items = datum.items if datum.bracket == "[" else datum.items[1:] if datum.head == "list" else ()
        return items[index].span if -len(items) <= index < len(items) else None

    def text(self, span: Span) -> str:
        """What is written at `span`."""
        source = self._sources.get(span.file)
        if source is None:
            return ""
        start, end = offsets(source.text, span)
        return source.text[start:end]

    def definition(self, span: Span) -> Form | None:
        """The top-level `def…` around a place."""
        path = self.path(span)
        return path[0] if path and isinstance(path[0], Form) and (path[0].head or "").startswith("def") else None


def name_of(datum: Datum | None) -> str | None:
    """The name that a symbol is."""
    return datum.value.name if isinstance(datum, Atom) and isinstance(datum.value, Symbol) else None


def integer_of(datum: Datum | None) -> int | None:
    """The whole number that is written here."""
    if isinstance(datum, Atom) and isinstance(datum.value, int) and not isinstance(datum.value, bool):
        return int(datum.value)
    return None
