"""Unknown names, seen together: a misspelt definition makes every use of it unknown, and that is one mistake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sexpgpu.compiler.frontend.contract import WANTED
from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Symbol
from sexpgpu.compiler.frontend.places import Places
from sexpgpu.diagnostics import Diagnostic, Edit, Fix, Label, did_you_mean
from sexpgpu.diagnostics.record import replace
from sexpgpu.diagnostics.suggest import distance, is_sure

#: What the compiler itself uses.
_LOOKED_FOR = {wanted.name for wanted in WANTED}
#: How many more uses are pointed at.
_MOST_USES = 3


def regrouped(found: Sequence[Diagnostic], places: Places, texts: Mapping[str, str]) -> list[Diagnostic]:
    """`found`, with one diagnostic for a name whose definition is misspelt, however often it is used."""
    unknown: dict[str, list[Diagnostic]] = {}
    for diagnostic in found:
        if diagnostic.code == "E-NAME-001" and diagnostic.message.startswith("nothing is called "):
            unknown.setdefault(diagnostic.message.split("`")[1], []).append(diagnostic)
    if not unknown:
        return list(found)
    symbols: dict[str, list[Atom]] = {}
    for file in texts:
        for form in places.forms(file):
            for atom in _symbols(form):
                symbols.setdefault(atom.value.name, []).append(atom)
    dropped: set[int] = set()
    changed: dict[int, Diagnostic] = {}
    for name, uses in unknown.items():
        first = uses[0]
        atoms = symbols.get(name, [])
        written = first.primary is not None and places.text(first.primary.span) == name
        origin = id(first)
        if not written and atoms:
            # What passed through a macro has the place of the macro's call.
            inside = [a for a in atoms if first.primary and first.primary.span.contains(a.span)]
            first = changed[origin] = _in_a_macro(first, (inside or atoms)[0])
        alone = [other for other, places_ in symbols.items() if len(places_) == 1 and distance(name, other) <= 2
                 and other not in _LOOKED_FOR and _defines(places_[0], places)]
        near = did_you_mean(name, alone)
        shown = first.fix.edits[0].text if first.fix and first.fix.edits else None
        if near is None or (shown is not None and distance(name, shown) < distance(name, near)):
            continue
        changed[origin] = _misspelt_definition(name, near, symbols[near][0], [first, *uses[1:]], len(atoms), written)
        dropped.update(id(use) for use in uses[1:])
    return [changed.get(id(d), d) for d in found if id(d) not in dropped]


def _symbols(datum: Datum) -> Iterator[Atom]:
    if isinstance(datum, Form):
        for item in datum.items:
            yield from _symbols(item)
    elif isinstance(datum.value, Symbol):
        yield datum


def _defines(atom: Atom, places: Places) -> bool:
    """Whether a name stands where it is bound: by a definition, a parameter list or a `let`."""
    path = places.path(atom.span)
    for depth, form in enumerate(path[:-1]):
        if not isinstance(form, Form):
            continue
        inner = path[depth + 1]
        if (form.head or "").startswith("def") and inner in form.items[1:3]:
            return inner is form.items[1] or form.head != "defvar"
        if form.head in ("let", "let*") and inner is form.items[1]:
            binding = path[depth + 2] if len(path) > depth + 2 else None
            if isinstance(binding, Form) and binding.items and binding.items[0] is path[-1]:
                return True
        if form.head in ("fn", "lambda", "for", "dotimes") and inner is form.items[1] and len(path) <= depth + 3:
            return True
    return False


def _misspelt_definition(name: str, near: str, definition: Atom, uses: Sequence[Diagnostic], count: int,
                         written: bool) -> Diagnostic:
    first = uses[0]
    more = [Label(use.primary.span, "and here") for use in uses[1:_MOST_USES + 1] if use.primary]
    place = Label(definition.span, f"`{near}` is defined here, and never used")
    if count > 1 or len(uses) > 1 or not written:
        fix = Fix(f"did you mean `{name}` by `{near}`?", (Edit(definition.span, name),), is_sure(near, name))
    else:
        fix = Fix(f"did you mean `{near}`?", (Edit(first.primary.span, near),) if first.primary else ())
    return replace(first, secondary=(place, *more, *first.secondary), fix=fix)


def _in_a_macro(diagnostic: Diagnostic, atom: Atom) -> Diagnostic:
    """The name stands in a macro, and the diagnostic at the macro's call."""
    fix = diagnostic.fix
    if fix is not None and fix.edits:
        fix = Fix(fix.text, (Edit(atom.span, fix.edits[0].text),))
    return replace(diagnostic, secondary=(*diagnostic.secondary, Label(atom.span, "written here")), fix=fix)
