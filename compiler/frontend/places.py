"""From a place back to the data that stands there. Asked only of what is wrong: the text is read once more for it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Keyword, Symbol
from sexpgpu.compiler.frontend.reader import read
from sexpgpu.compiler.frontend.report import PRELUDE
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

    def value_of(self, name: str, file: str) -> Datum | None:
        """What a `defvar` of the file, or of another one, gives to a name."""
        for other in (file, *(source.name for source in self._sources if not source.name.startswith(PRELUDE))):
            for form in self.forms(other):
                if isinstance(form, Form) and form.head == "defvar" and len(form.items) > 2 \
                        and name_of(form.items[1]) == name:
                    return form.items[2]
        return None

    def variables(self, span: Span) -> set[str]:
        """The names that parameter lists and `let`s around a place bind."""
        found: set[str] = set()
        for form in self.path(span):
            if not isinstance(form, Form):
                continue
            at = {"defun": 2, "defmacro": 2, "fn": 1, "lambda": 1, "let": 1, "let*": 1}.get(form.head or "")
            names = form.items[at] if at is not None and len(form.items) > at else None
            for item in names.items if isinstance(names, Form) else ():
                name = name_of(item.items[0] if isinstance(item, Form) and item.items else item)
                if name:
                    found.add(name)
        return found

    def bound(self, name: str, span: Span) -> Datum | None:
        """What a `let` around `span` gives to a name."""
        for form in reversed(self.path(span)):
            if isinstance(form, Form) and form.head in ("let", "let*") and isinstance(form.items[1], Form):
                for binding in reversed(form.items[1].items):
                    if isinstance(binding, Form) and len(binding.items) == 2 and name_of(binding.items[0]) == name \
                            and not binding.span.contains(span):
                        return binding.items[1]
        return None

    def source(self, span: Span, calls: Sequence[Span]) -> Datum | None:
        """Where the value of the name at `span` is written: by a `defvar`, or by the call that gives it to the function
        around the place. `calls` led there, the outermost first."""
        left = list(calls)
        datum = self.at(span)
        for _ in range(8):
            name = name_of(datum)
            if name is None or datum is None:
                break
            given = self._argument(datum.span, name, left)
            datum = given or self.value_of(name, datum.span.file) or datum
            if name_of(datum) == name:
                break
        return datum if datum is not None and datum.span != span else None

    def _argument(self, span: Span, name: str, calls: list[Span]) -> Datum | None:
        """The argument that the last of `calls`, which is taken off, gives to a parameter of the function at `span`."""
        definition = self.definition(span)
        if definition is None or definition.head != "defun" or len(definition.items) < 3 or not calls:
            return None
        params = definition.items[2]
        names = [name_of(p.items[0] if isinstance(p, Form) and p.items else p) for p in params.items] \
            if isinstance(params, Form) else []
        path = self.path(calls.pop())
        form = path[-1] if path else None
        if name not in names or not isinstance(form, Form) or form.head != name_of(definition.items[1]):
            return None
        for key, value in pairwise(form.items):
            if isinstance(key, Atom) and isinstance(key.value, Keyword) and key.value.name == name:
                return value
        around = path[-2] if len(path) > 1 else None
        threaded = isinstance(around, Form) and around.head == "->" and around.items[1] is not form
        place = names.index(name) + 1 - threaded
        return form.items[place] if 0 < place < len(form.items) else None

    def uses(self, name: str, file: str) -> list[Atom]:
        """Where a name stands in a file, without its definition."""
        found: list[Atom] = []
        stack = list(reversed(self.forms(file)))
        while stack:
            datum = stack.pop()
            if isinstance(datum, Form):
                skip = 2 if (datum.head or "").startswith("def") else 0
                stack += reversed(datum.items[skip:])
            elif name_of(datum) == name:
                found.append(datum)
        return found

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
