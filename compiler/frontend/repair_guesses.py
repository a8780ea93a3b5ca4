"""Changes that could repair a mistake, from the text around it: constants that are at odds, neighbours in the wrong
order, another axis, a transpose too many or too few. `repair` tries them in this order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Keyword, Symbol
from sexpgpu.compiler.frontend.places import Places, integer_of, name_of
from sexpgpu.compiler.frontend.printer import brief
from sexpgpu.compiler.frontend.repair_words import words
from sexpgpu.compiler.frontend.report import in_prelude
from sexpgpu.compiler.frontend.special import SPECIAL
from sexpgpu.diagnostics import Clue, Diagnostic, Edit, Fix, Span

#: Keywords whose number counts axes.
_AXES = ("axis", "start", "end")
#: Operations with an axis at a position: the first argument is 0.
_AXIS_AT = {"slice": 1, "expand-dims": 1, "dim": 1, "take": 2, "flip": 1, "repeat-axis": 2}
_OTHER_AXES = (-1, 0, 1, 2, -2)


def guesses(diagnostic: Diagnostic, places: Places) -> Iterator[Fix]:
    """The likeliest first. Each is one change; nothing says that it helps."""
    sites = _sites(diagnostic, places)
    calls = _calls(diagnostic, places)
    family = diagnostic.code.split("-")[1]
    shapes = family == "SHAPE"
    if not shapes:
        for site in sites[:3]:
            yield from words(site, diagnostic, places)
    if family == "CONTRACT":
        for call in calls[:1]:
            yield from _arguments_exchanged(call, places)
        return
    for site in sites if shapes else ():
        yield from _vectors_turned(site, places)
    written, defined = _constants(diagnostic, places, sites)
    yield from written
    for call in calls:
        yield from _arguments_exchanged(call, places)
    if shapes:
        yield from _other_names(diagnostic, places, [*sites, *calls])
        for form in (*sites, *calls):
            yield from _other_axes(form)
    yield from defined
    if shapes:
        for site in sites:
            yield from _transposes(site, places)
        for call in calls[:1]:
            yield from _ranks(call)


def _sites(diagnostic: Diagnostic, places: Places) -> list[Datum]:
    """The data that the diagnostic underlines, in the user's files; a whole definition is none."""
    spans = [diagnostic.primary.span] if diagnostic.primary else []
    spans += [*(label.span for label in diagnostic.secondary), *diagnostic.around]
    found = []
    for span in spans:
        datum = None if in_prelude(span) else places.at(span)
        if datum is not None and datum not in found:
            found.append(datum)
    for datum in list(found):
        for name in ([name_of(datum)] if isinstance(datum, Atom) else _names(datum)):
            bound = places.bound(name, datum.span) if name else None
            if bound is not None and bound not in found:
                found.append(bound)
    return found[:8]


def _calls(diagnostic: Diagnostic, places: Places) -> list[Form]:
    """The calls around the place, the nearest first, and the user's calls that led there."""
    if diagnostic.primary is None:
        return []
    found: list[Form] = []
    for span in (diagnostic.primary.span, *(frame.call for frame in reversed(diagnostic.chain[-3:]))):
        path = [d for d in places.path(span) if isinstance(d, Form) and d.bracket == "(" and _is_call(d)]
        for form in path[:-4:-1]:
            if form not in found:
                found.append(form)
    return found


def _is_call(form: Form) -> bool:
    head = form.head
    return head is not None and head not in SPECIAL and not head.startswith("def")


# -- constants --------------------------------------------------------------------------------------------------------

def _constants(diagnostic: Diagnostic, places: Places, sites: list[Datum]) -> tuple[list[Fix], list[Fix]]:
    """A number written otherwise: in the code at fault, and in a definition that others use too."""
    written: list[Fix] = []
    defined: list[Fix] = []
    for clue in diagnostic.clues:
        for fix in (*_by_name(clue, diagnostic, places), *_constant(clue, places)):
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


def _constant(clue: Clue, places: Places) -> Iterator[Fix]:
    path = places.path(clue.place)
    datum = path[-1] if path else None
    if len(path) > 1 and isinstance(path[-2], Form) and _key_of(path[-2], path[-1]) == "batch-size":
        return   # any number of rows would do
    if datum is not None and name_of(datum) and isinstance(path[0], Form) and path[0].head == "defvar":
        value = path[0].items[2] if len(path[0].items) > 2 else None
        if integer_of(value) == clue.found and path[0].items[1] is datum:
            yield Fix(f"with `(defvar {name_of(datum)} {clue.wanted})` it fits", (Edit(value.span, str(clue.wanted)),))
    elif integer_of(datum) == clue.found:
        yield Fix(f"with {clue.wanted} in place of {clue.found} at line {clue.place.line} it fits",
                  (Edit(datum.span, str(clue.wanted)),))
    elif isinstance(datum, Form):
        for atom in _integers(datum):
            number = integer_of(atom)
            for other in _near(number, clue.found, clue.wanted):
                yield Fix(f"with {other} in place of {number} at line {atom.span.line} it fits",
                          (Edit(atom.span, str(other)),))
        for name in _names(datum):
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


def _names(form: Form) -> list[str]:
    found = [name for item in form.items[1:] if (name := name_of(item))]
    return found + [name for item in form.items if isinstance(item, Form) for name in _names(item)]


def _other_names(diagnostic: Diagnostic, places: Places, forms: list[Datum]) -> Iterator[Fix]:
    """A size by another name: where the wrong one is written, that of a `defvar` of the size wanted; in a shape, that
    of a neighbour."""
    wanted = {clue.wanted for clue in diagnostic.clues}
    found = {clue.found for clue in diagnostic.clues}
    named = [name for clue in diagnostic.clues if (name := name_of(places.at(clue.place)))]
    for clue in diagnostic.clues:
        whole = places.at(clue.place)
        if isinstance(whole, Form) and whole.bracket == "(":
            inside = _names(whole)
            for other in sorted(_sizes(places, clue.place.file, {clue.wanted}), key=lambda n: n not in inside):
                yield _renamed(whole, other, places)
            yield from _longer(whole, clue)
            for part in whole.items[1:]:
                if isinstance(part, Form):
                    for other in _names(part):
                        yield _renamed(part, other, places)
        name = name_of(whole)
        if name and isinstance(whole, Atom):
            for use in places.uses(name, clue.place.file)[:6]:
                for other in sorted(_sizes(places, clue.place.file, {clue.wanted}), key=lambda n: n not in named)[:2]:
                    yield _renamed(use, other, places)
    for form in forms:
        for part in _forms(form, 3):
            for item in part.items if part.bracket == "[" else part.items[1:]:
                value = integer_of(item)
                if value is None and (name := name_of(item)):
                    value = integer_of(places.value_of(name, item.span.file))
                if value in found:
                    for other in sorted(_sizes(places, item.span.file, wanted), key=lambda n: n not in named):
                        if other != name_of(item):
                            yield _renamed(item, other, places)
            if part.bracket == "[":
                yield from _siblings(part, places)


def _longer(form: Form, clue: Clue) -> Iterator[Fix]:
    """A `slice` with an end that is further, or nearer."""
    if form.head == "slice" and len(form.items) > 4:
        end, step = form.items[4], clue.wanted - clue.found
        text = f"(+ {brief(end)} {step})" if step > 0 else f"(- {brief(end)} {-step})"
        yield Fix(f"with `{text}` as its end it fits", (Edit(end.span, text),))


def _siblings(vector: Form, places: Places) -> Iterator[Fix]:
    """A shape with one of its sizes written as in another shape of the same function."""
    definition = places.definition(vector.span)
    around = _forms(definition, 8) if definition else ()
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


# -- order ------------------------------------------------------------------------------------------------------------

def _vectors_turned(site: Datum, places: Places) -> Iterator[Fix]:
    """A vector of sizes with two neighbours exchanged."""
    vectors = [form for form in _forms(site, 3) if form.bracket == "["]
    for vector in vectors[:4]:
        for item in vector.items if len(vector.items) > 1 else ():
            if integer_of(item) == 1:
                rest = Form(tuple(i for i in vector.items if i is not item), vector.span, "[")
                yield Fix(f"without the axis of size 1 it fits: `{brief(rest)}`", (Edit(item.span, ""),))
        for one, other in pairwise(vector.items):
            if isinstance(one, Atom) and isinstance(other, Atom) and one.value == other.value:
                continue
            yield _exchange(vector, one, other, places)


def _arguments_exchanged(form: Form, places: Places) -> Iterator[Fix]:
    """A call with two positional arguments exchanged."""
    if len(form.items) == 3:   # also `(field :x batch)`
        yield _exchange(form, form.items[1], form.items[2], places)
    positional: list[Datum] = []
    for item in form.items[1:]:
        if isinstance(item, Atom) and isinstance(item.value, Keyword):
            break
        positional.append(item)
    pairs = list(pairwise(positional))
    if len(positional) == 3:
        pairs.append((positional[0], positional[2]))
    for one, other in pairs:
        if one != other:
            yield _exchange(form, one, other, places)


def _exchange(form: Form, one: Datum, other: Datum, places: Places) -> Fix:
    changed = brief(Form(tuple(other if i is one else one if i is other else i for i in form.items), form.span,
                         form.bracket))
    return Fix(f"in the other order it fits: `{changed}`", (Edit(one.span, places.text(other.span)),
                                                            Edit(other.span, places.text(one.span))))


# -- axes -------------------------------------------------------------------------------------------------------------

def _other_axes(site: Datum) -> Iterator[Fix]:
    """An axis that is written, or left to its default, changed to another."""
    for form in _forms(site, 3):
        if form.bracket != "(":
            continue
        for key, value in pairwise(form.items):
            if isinstance(key, Atom) and isinstance(key.value, Keyword) and key.value.name in _AXES:
                yield from _axes(value, f":{key.value.name} ")
        at = _AXIS_AT.get(form.head or "")
        if at is not None and len(form.items) > at + 1:
            yield from _axes(form.items[at + 1], "axis ")


def _axes(datum: Datum, what: str) -> Iterator[Fix]:
    number = integer_of(datum)
    if number is not None:
        for axis in _OTHER_AXES:
            if axis != number:
                yield Fix(f"with `{what}{axis}` it fits", (Edit(datum.span, str(axis)),))


def _transposes(site: Datum, places: Places) -> Iterator[Fix]:
    for form in _forms(site, 2):
        if form.head == "transpose" and len(form.items) == 2:
            yield Fix("without the `transpose` it fits", (Edit(form.span, places.text(form.items[1].span)),))
    if isinstance(site, Atom) or site.bracket == "(":
        yield Fix("transposed it fits: `(transpose …)`", (Edit(site.span.start, "(transpose "),
                                                          Edit(site.span.end, ")")))


def _ranks(call: Form) -> Iterator[Fix]:
    """An argument with an axis of size 1 less, or more."""
    for item in call.items[1:]:
        if isinstance(item, Atom) and isinstance(item.value, Keyword):
            return
        for before, after in (("(squeeze ", " :axis -1)"), ("(expand-dims ", " -1)")):
            yield Fix(f"with `{before}{brief(item, 30)}{after}` it fits",
                      (Edit(item.span.start, before), Edit(item.span.end, after)))


def _forms(datum: Datum, depth: int) -> Iterator[Form]:
    """The forms in a datum, itself first, down to some depth."""
    if isinstance(datum, Form):
        yield datum
        if depth > 1:
            for item in datum.items:
                yield from _forms(item, depth - 1)
