"""Sizes that could be meant: the number that is off written otherwise, or the name of the size that is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Keyword, Symbol
from sexpgpu.compiler.frontend.places import Places, integer_of, name_of
from sexpgpu.compiler.frontend.printer import brief
from sexpgpu.diagnostics import Clue, Diagnostic, Edit, Fix, Span


def constants(diagnostic: Diagnostic, places: Places, sites: list[Datum]) -> tuple[list[Fix], list[Fix]]:
    """A number written otherwise: in the code at fault, and in a definition that others use too."""
    written: list[Fix] = []
    defined: list[Fix] = []
    for clue in diagnostic.clues:
        home = diagnostic.primary.span.file if diagnostic.primary else None
        for fix in (*_by_name(clue, diagnostic, places), *_constant(clue, places, home)):
            (defined if _is_shared(fix.edits[0].span, places) else written).append(fix)
    return written, defined


def _by_name(clue: Clue, diagnostic: Diagnostic, places: Places) -> Iterator[Fix]:
    """The name of the size that the number is at odds with, where a number is written."""
    datum = places.at(clue.place)
    if integer_of(datum) == clue.found and datum is not None:
        for other in diagnostic.clues:
            name = name_of(places.at(other.place))
            if name and other.found == clue.wanted and places.value_of(name, clue.place.file) is not None:
                yield _renamed(datum, name, places)


def _is_shared(span: Span, places: Places) -> bool:
    """Whether a number is a `defvar`'s, or describes the data."""
    path = places.path(span)
    return any(isinstance(form, Form) and form.head in ("defvar", "field") for form in path)


def _line(span: Span, home: str | None) -> str:
    return f"line {span.line}" if span.file == home else f"line {span.line} of {Path(span.file).name}"


def _constant(clue: Clue, places: Places, home: str | None) -> Iterator[Fix]:
    path = places.path(clue.place)
    datum = path[-1] if path else None
    if len(path) > 1 and isinstance(path[-2], Form) and _key_of(path[-2], path[-1]) == "batch-size":
        return   # any number of rows would do
    if datum is not None and name_of(datum) and isinstance(path[0], Form) and path[0].head == "defvar":
        value = path[0].items[2] if len(path[0].items) > 2 else None
        if integer_of(value) == clue.found and path[0].items[1] is datum:
            yield Fix(f"with `(defvar {name_of(datum)} {clue.wanted})` it fits", (Edit(value.span, str(clue.wanted)),))
    elif integer_of(datum) == clue.found:
        yield Fix(f"with {clue.wanted} in place of {clue.found} at {_line(clue.place, home)} it fits",
                  (Edit(datum.span, str(clue.wanted)),))
    elif isinstance(datum, Form):
        for atom in _integers(datum):
            number = integer_of(atom)
            for other in _near(number, clue.found, clue.wanted):
                yield Fix(f"with {other} in place of {number} at {_line(atom.span, home)} it fits",
                          (Edit(atom.span, str(other)),))
        for name in names_in(datum):
            value = places.value_of(name, clue.place.file)
            number = integer_of(value)
            if value is not None and number is not None:
                for other in _near(number, clue.found, clue.wanted):
                    yield Fix(f"with `(defvar {name} {other})` it fits", (Edit(value.span, str(other)),))


def _key_of(form: Form, item: Datum) -> str | None:
    """The keyword that `item` is the value of."""
    before = next((a for a, b in pairwise(form.items) if b is item), None)
    return before.value.name if isinstance(before, Atom) and isinstance(before.value, Keyword) else None


def _integers(form: Form) -> Iterator[Atom]:
    for item in form.items:
        if isinstance(item, Form):
            yield from _integers(item)
        elif integer_of(item) is not None:
            yield item


def names_in(form: Form) -> list[str]:
    found = [name for item in form.items[1:] if (name := name_of(item))]
    return found + [name for item in form.items if isinstance(item, Form) for name in names_in(item)]


def other_names(diagnostic: Diagnostic, places: Places, forms: list[Datum]) -> Iterator[Fix]:
    """A size by another name: where the wrong one is written, that of a `defvar` of the size wanted; in a shape, that
    of a neighbour."""
    wanted = {clue.wanted for clue in diagnostic.clues}
    found = {clue.found for clue in diagnostic.clues}
    named = [name for clue in diagnostic.clues if (name := name_of(places.at(clue.place)))]
    for clue in diagnostic.clues:
        whole = places.at(clue.place)
        if isinstance(whole, Form) and whole.bracket == "(":
            inside = names_in(whole)
            for other in sorted(_sizes(places, clue.place.file, {clue.wanted}), key=lambda n: n not in inside):
                yield _renamed(whole, other, places)
            yield from _longer(whole, clue)
            for part in whole.items[1:]:
                if isinstance(part, Form):
                    for other in names_in(part):
                        yield _renamed(part, other, places)
        name = name_of(whole)
        if name and isinstance(whole, Atom):
            for use in places.uses(name, clue.place.file)[:6]:
                for other in sorted(_sizes(places, clue.place.file, {clue.wanted}), key=lambda n: n not in named)[:2]:
                    yield _renamed(use, other, places)
    for form in forms:
        for part in forms_in(form, 3):
            for item in part.items if part.bracket == "[" else part.items[1:]:
                value = integer_of(item)
                if value is None and (name := name_of(item)):
                    value = integer_of(places.value_of(name, item.span.file))
                if value in found:
                    for other in sorted(_sizes(places, item.span.file, wanted), key=lambda n: n not in named):
                        if other != name_of(item):
                            yield _renamed(item, other, places)
            if part.bracket == "[":
                yield from siblings(part, places)


def _longer(form: Form, clue: Clue) -> Iterator[Fix]:
    """A `slice` with an end that is further, or nearer."""
    if form.head == "slice" and len(form.items) > 4:
        end, step = form.items[4], clue.wanted - clue.found
        text = f"(+ {brief(end)} {step})" if step > 0 else f"(- {brief(end)} {-step})"
        yield Fix(f"with `{text}` as its end it fits", (Edit(end.span, text),))


def siblings(vector: Form, places: Places) -> Iterator[Fix]:
    """A shape with one of its sizes written as in another shape of the same function."""
    definition = places.definition(vector.span)
    around = forms_in(definition, 8) if definition else ()
    others = [form for form in around if form.bracket == "[" and form is not vector]
    texts = {places.text(item.span): None for form in others for item in form.items if not isinstance(item, Atom)
             or isinstance(item.value, Symbol)}
    for item in vector.items:
        for text in list(texts)[:3]:
            if text != places.text(item.span):
                yield Fix(f"with `{text}` in place of `{places.text(item.span)}` it fits", (Edit(item.span, text),))


def _renamed(item: Datum, name: str, places: Places) -> Fix:
    return Fix(f"with `{name}` in place of `{brief(item, 40)}` it fits", (Edit(item.span, name),))


def _sizes(places: Places, file: str, wanted: set[int]) -> list[str]:
    """The `defvar`s of a file whose values are wanted."""
    return [str(name_of(f.items[1])) for f in places.forms(file)
            if isinstance(f, Form) and f.head == "defvar" and len(f.items) > 2 and integer_of(f.items[2]) in wanted]


def _near(number: int, found: int, wanted: int) -> Iterator[int]:
    """What a number in a sum, or in a product, would be for the whole to be `wanted`."""
    if number + wanted - found > 0:
        yield number + wanted - found
    if found and number * wanted % found == 0 and number * wanted // found > 0:
        yield number * wanted // found


def forms_in(datum: Datum, depth: int) -> Iterator[Form]:
    """The forms in a datum, itself first, down to some depth."""
    if isinstance(datum, Form):
        yield datum
        if depth > 1:
            for item in datum.items:
                yield from forms_in(item, depth - 1)
