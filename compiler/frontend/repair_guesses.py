"""Changes that could repair a mistake, from the text around it: constants that are at odds, neighbours in the wrong
order, another axis, a transpose too many or too few. `repair` tries them in this order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Keyword
from sexpgpu.compiler.frontend.places import Places, integer_of, name_of
from sexpgpu.compiler.frontend.printer import brief
from sexpgpu.compiler.frontend.repair_sizes import constants, forms_in, names_in, other_names, siblings
from sexpgpu.compiler.frontend.repair_words import words
from sexpgpu.compiler.frontend.report import in_prelude
from sexpgpu.compiler.frontend.special import SPECIAL
from sexpgpu.diagnostics import Diagnostic, Edit, Fix

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
    written, defined = constants(diagnostic, places, sites)
    near = [fix for fix in written if any(site.span.contains(fix.edits[0].span) for site in sites)]
    yield from near
    for call in calls:
        yield from _arguments_exchanged(call, places)
    if shapes:
        for site in sites:
            if isinstance(site, Form) and site.head == "param":   # its shape, as that of its neighbour
                yield from (fix for form in site.items if isinstance(form, Form) for fix in siblings(form, places))
    yield from (fix for fix in written if fix not in near)
    if shapes:
        yield from other_names(diagnostic, places, [*sites, *calls])
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
        for name in ([name_of(datum)] if isinstance(datum, Atom) else names_in(datum)):
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


# -- order ------------------------------------------------------------------------------------------------------------

def _vectors_turned(site: Datum, places: Places) -> Iterator[Fix]:
    """A vector of sizes with two neighbours exchanged."""
    vectors = [form for form in forms_in(site, 3) if form.bracket == "["]
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
    for form in forms_in(site, 3):
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
    for form in forms_in(site, 2):
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


