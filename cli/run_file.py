"""`run.sexp`: one `(run …)` form whose keywords are the options of `sexpgpu-run`.

Values are data, not programs: numbers, texts, keywords (`:auto` is the text `auto`), vectors of these. The reader is
the compiler's, which needs nothing of IREE; the runtime gets plain values with the places of their names.
"""

from __future__ import annotations

from pathlib import Path

from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Keyword, Symbol
from sexpgpu.compiler.frontend.reader import read
from sexpgpu.compiler.frontend.reader_files import load_source
from sexpgpu.diagnostics import Diagnostic, Fix, Label, SexpError, SourceMap, Span
from sexpgpu.diagnostics.record import fresh, record
from sexpgpu.runtime.dataio.spec import Json


@record
class RunFile:
    """`values` by option name, not yet checked; `places` are those of the keywords."""

    values: dict[str, Json] = fresh(factory=dict)
    places: dict[str, Span] = fresh(factory=dict)
    problems: list[Diagnostic] = fresh(factory=list)


def read_run_file(path: str, sources: SourceMap) -> RunFile:
    """Whatever is wrong is in `problems`: E-READ for the text, E-RUN-016 for what is no `(run …)`."""
    found = RunFile()
    try:
        source = load_source(Path(path), path, sources)
    except SexpError as error:
        found.problems += error.diagnostics
        return found
    data = read(source, found.problems.append)
    if found.problems:
        return found
    runs = [datum for datum in data if isinstance(datum, Form) and datum.head == "run"]
    for datum in data:
        if datum not in runs:
            found.problems.append(_wrong("the run file holds something else than `(run …)`", datum.span,
                                         "not a `(run …)`"))
    for datum in runs[1:]:
        found.problems.append(_wrong("the run file holds two `(run …)`", datum.span, "the second one"))
    if not data:
        found.problems.append(Diagnostic("E-RUN-016", f"`{path}` holds no `(run …)`",
                                         fix=Fix("for instance `(run :steps 1000)`")))
    if runs:
        _settings(runs[0], found)
    return found


def _settings(form: Form, found: RunFile) -> None:
    items = list(form.items[1:])
    while items:
        key = items.pop(0)
        if not isinstance(key, Atom) or not isinstance(key.value, Keyword):
            found.problems.append(_wrong("`(run …)` holds keywords with their values", key.span,
                                         "no keyword before it"))
            continue
        name = key.value.name
        if not items:
            found.problems.append(_wrong(f"`:{name}` has no value after it", key.span, "a value is missing"))
            return
        value = items.pop(0)
        if name in found.values:
            found.problems.append(Diagnostic(
                "E-RUN-016", f"`:{name}` is given twice", Label(key.span, "the second time"),
                (Label(found.places[name], "the first time"),)))
            continue
        plain = _plain(value)
        if plain is NO_VALUE:
            found.problems.append(_wrong(f"`:{name}` is given no value but a program", value.span, "not a value",
                                         "a run file is not evaluated: write the number or the text itself"))
            continue
        found.values[name], found.places[name] = plain, key.span  # type: ignore[assignment]


NO_VALUE = object()


def _plain(datum: Datum) -> object:
    match datum:
        case Atom(Symbol(), _):
            return NO_VALUE
        case Atom(Keyword(name), _):
            return name
        case Atom(value, _):
            return value
        case Form(items, _, "["):
            values = [_plain(item) for item in items]
            return NO_VALUE if NO_VALUE in values else values
    return NO_VALUE


def _wrong(message: str, place: Span, label: str, fix: str | None = None) -> Diagnostic:
    return Diagnostic("E-RUN-016", message, Label(place, label), fix=Fix(fix) if fix else None)
