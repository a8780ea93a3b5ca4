"""The two namespaces: the user's definitions and the prelude, each a module that finds names.

The user's module sees its own definitions, then the prelude, then the built-ins. The prelude sees itself and the
built-ins, so that no user's name changes what a function of the language does.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from sexpgpu.compiler.frontend.data import Datum, Form
from sexpgpu.compiler.frontend.ops import OPS
from sexpgpu.compiler.frontend.ops.registry import Op
from sexpgpu.compiler.frontend.reader import read
from sexpgpu.compiler.frontend.report import PRELUDE
from sexpgpu.diagnostics import Diagnostic, SourceFile, SourceMap, Span

Kind = Literal["function", "variable", "macro"]


class State(Enum):
    """Of a definition's value. `STAGED`: it holds tensors, and is evaluated anew wherever it is used."""

    BELOW = "not reached yet"
    BUSY = "being evaluated"
    READY = "known"
    STAGED = "staged at each use"


class Global:
    """One top-level definition."""

    __slots__ = ("form", "kind", "module", "name", "span", "state", "used", "value")

    def __init__(self, name: str, kind: Kind, form: Form, module: Module) -> None:
        self.name, self.kind, self.form, self.module = name, kind, form, module
        self.span: Span = form.items[1].span if len(form.items) > 1 else form.span
        self.state = State.BELOW
        self.value: object = None
        self.used = False

    @property
    def is_known(self) -> bool:
        return self.state in (State.READY, State.STAGED)


class Module(Protocol):
    """Finds names. `is_prelude` says whose code it is."""

    is_prelude: bool

    def find(self, name: str) -> Global | Op | None:
        """What has the name, for code of this module."""

    def find_beyond(self, name: str) -> Global | Op | None:
        """What has the name outside of this module's own definitions."""

    def visible(self) -> set[str]:
        """Every name that code of this module may use."""


class UserModule:
    """The definitions of the experiment's files."""

    is_prelude = False

    def __init__(self, prelude: PreludeModule) -> None:
        self.prelude = prelude
        self.table: dict[str, Global] = {}

    def find(self, name: str) -> Global | Op | None:
        found = self.table.get(name)
        if found is not None:
            found.used = True
            return found
        return self.prelude.find(name)

    def find_beyond(self, name: str) -> Global | Op | None:
        return self.prelude.find(name)

    def visible(self) -> set[str]:
        return set(self.table) | {name for name in self.prelude.visible() if not name.startswith("%")}


#: A definition of the prelude begins a line; names beginning with `%` are its own affair.
_DEFINITION = re.compile(r"^\((defun|defmacro|defvar)\s+([^\s()]+)", re.MULTILINE)
_FORM = re.compile(r"^\(", re.MULTILINE)


def prelude_names() -> set[str]:
    """What the prelude defines for everyone."""
    texts = [path.read_text(encoding="utf-8") for path in (Path(__file__).parent / "prelude").glob("*.sexp")]
    return {match[2] for text in texts for match in _DEFINITION.finditer(text) if not match[2].startswith("%")}


#: A definition of the prelude: its kind, its file, and where it begins and ends there, as indices into the text.
_Place: TypeAlias = "tuple[Kind, SourceFile, int, int]"


# Kept for the next check in this process: a search for a fix checks dozens of texts, and all use the same prelude.

@cache
def _definitions(folder: Path) -> dict[str, _Place]:
    kinds: dict[str, Kind] = {"defun": "function", "defmacro": "macro", "defvar": "variable"}
    places: dict[str, _Place] = {}
    for path in sorted(folder.glob("*.sexp")):
        source = SourceFile(PRELUDE + path.name, path.read_text(encoding="utf-8"))
        for match in _DEFINITION.finditer(source.text):
            following = _FORM.search(source.text, match.start() + 1)
            end = following.start() if following else len(source.text)
            places[match[2]] = kinds[match[1]], source, match.start(), end
    return places


@cache
def _form(place: _Place) -> Form:
    _, source, start, end = place
    wrong: list[Diagnostic] = []
    # Newlines before the definition keep its lines where they are in the file.
    lines = "\n" * source.text.count("\n", 0, start)
    data: list[Datum] = read(SourceFile(source.name, lines + source.text[start:end]), wrong.append)
    assert not wrong and isinstance(data[0], Form), f"{source.name}: {source.text[start:end]}"
    return data[0]


class PreludeModule:
    """The part of the language that is written in the language. Definitions are found by a scan of the text, and read
    when they are first used: an experiment pays for what it uses."""

    is_prelude = True

    def __init__(self, folder: Path, sources: SourceMap) -> None:
        self._sources = sources
        self._table: dict[str, Global] = {}
        self._places = _definitions(folder)

    def find(self, name: str) -> Global | Op | None:
        found = self._table.get(name)
        if found is not None:
            return found
        place = self._places.get(name)
        return OPS.get(name) if place is None else self._load(name, place)

    def find_beyond(self, name: str) -> Op | None:
        return OPS.get(name)

    def visible(self) -> set[str]:
        return set(self._places) | set(OPS)

    def _load(self, name: str, place: _Place) -> Global:
        kind, source, _, _ = place
        self._sources.add(source)
        found = self._table[name] = Global(name, kind, _form(place), self)
        return found
