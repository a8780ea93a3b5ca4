"""The files of an experiment: the one that was named, and those it includes, read before anything is evaluated.

`include` stands at the top level, with its path as a string; a path is relative to the file that includes. A file that
is included twice is read once, where it is first included. A file that includes itself, through others too, is an
error.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from sexpgpu.compiler.frontend.data import Atom, Datum, Form
from sexpgpu.compiler.frontend.reader import read
from sexpgpu.compiler.frontend.reader_files import load_source
from sexpgpu.compiler.frontend.report import Reporter
from sexpgpu.diagnostics import Diagnostic, Edit, Fix, Label, SexpError, SourceFile, SourceMap, did_you_mean


class Files:
    """`forms` are the top-level forms in order, with what is included in the place of its `include`; `names` are the
    files as they are shown, `paths` where they are."""

    def __init__(self, path: Path, sources: SourceMap, reporter: Reporter,
                 texts: Mapping[str, str] = MappingProxyType({})) -> None:
        self._sources, self._reporter, self._texts = sources, reporter, texts
        self._open: list[Path] = []
        self._read: set[Path] = set()
        self.names: list[str] = []
        self.paths: list[Path] = []
        self.forms: list[Datum] = []
        self._take(path, str(path), None)

    def _take(self, path: Path, shown: str, at: Atom | None) -> None:
        real = path.resolve()
        if real in self._open:
            self._reporter.add(Diagnostic("E-READ-014", f"`{shown}` includes itself",
                                          Label(at.span, "leads back to a file that is being read") if at else None))
            return
        if real in self._read:
            return
        self._read.add(real)
        try:
            given = self._texts.get(shown)
            source = load_source(path, shown, self._sources, at.span if at else None,
                                 str(at.value) if at else None) if given is None else \
                self._sources.add(SourceFile(shown, given))
        except SexpError as error:
            for diagnostic in error.diagnostics:
                self._reporter.add(diagnostic)
            return
        self.names.append(shown)
        self.paths.append(path)
        self._open.append(real)
        before = self._reporter.errors
        data = read(source, self._reporter.add)
        readable = self._reporter.errors == before
        for datum in data:
            if isinstance(datum, Form) and datum.head == "include":
                self._include(datum, path, shown, readable)
            elif readable and isinstance(datum, Form) and self._means_include(datum):
                # What the file defines is not missing, too.
                word = datum.items[0].span
                self._reporter.add(Diagnostic("E-NAME-001", f"nothing is called `{datum.head}`",
                                              Label(word, "unknown name"),
                                              fix=Fix("did you mean `include`?", (Edit(word, "include"),), True)))
                self._include(datum, path, shown)
            else:
                self.forms.append(datum)
        self._open.pop()

    @staticmethod
    def _means_include(form: Form) -> bool:
        """A misspelt `include`: nothing else at the top level takes the path of an experiment."""
        given = form.items[1] if len(form.items) == 2 else None
        if not isinstance(given, Atom) or not isinstance(given.value, str) or not given.value.endswith(".sexp"):
            return False
        return form.head is not None and did_you_mean(form.head, ["include"]) is not None

    def _include(self, form: Form, path: Path, shown: str, readable: bool = True) -> None:
        given = form.items[1] if len(form.items) == 2 else None
        if not isinstance(given, Atom) or not isinstance(given.value, str):
            if readable:   # of a text that is not, the forms mean little
                self._reporter.add(Diagnostic(
                    "E-ARITY-006", "`include` takes a path, as a string", Label((given or form).span, "not a path"),
                    fix=Fix('write `(include "path.sexp")`')))
            return
        self._take(path.parent / given.value, str(Path(shown).parent / given.value), given)
