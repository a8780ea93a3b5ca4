"""The fix of a mistake, found by trying: each change that could repair it is made to the text, and the text is checked.

Only what repairs the mistake and breaks nothing else is offered as a change to apply. A change that an operation
proposed and that does not survive is withdrawn, its advice stays. Runs when there are errors, and only then; how much
is tried is bounded by counts, so that the same program gets the same answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from sexpgpu.compiler.frontend.experiment import check
from sexpgpu.compiler.frontend.places import Places
from sexpgpu.compiler.frontend.repair_guesses import guesses
from sexpgpu.compiler.frontend.report import PRELUDE, Reporter
from sexpgpu.diagnostics import Diagnostic, Edit, Fix, Severity, SourceMap
from sexpgpu.diagnostics.edits import applied

#: Of how many errors a fix is searched, and how many changes are tried for one, and in all.
MOST_ERRORS = 12
MOST_TRIES = 24
MOST_IN_ALL = 60

#: The families whose mistakes are worth guessing at; of the others only what was proposed is tried.
_GUESSED = ("SHAPE", "TYPE", "ARITY", "VALUE", "CONTRACT")


class _Refuted(BaseException):
    """The change leaves the mistake there, or makes another."""


class _Watch(Reporter):
    """Ends the check at the first error that is not among the `allowed` ones."""

    def __init__(self, allowed: Counter[tuple[str, str]]) -> None:
        super().__init__()
        self._allowed = allowed

    def add(self, diagnostic: Diagnostic) -> None:
        before = len(self.found)
        super().add(diagnostic)
        if len(self.found) > before and diagnostic.severity is Severity.ERROR:
            key = _key(diagnostic)
            if not self._allowed[key]:
                raise _Refuted
            self._allowed[key] -= 1


def repaired(path: Path, overrides: Mapping[str, str], sources: SourceMap, found: Sequence[Diagnostic]
             ) -> list[Diagnostic]:
    """`found` with the fixes that were tried. `sources` holds the texts that were checked."""
    return _Repair(path, overrides, sources, found).run()


class _Repair:
    def __init__(self, path: Path, overrides: Mapping[str, str], sources: SourceMap, found: Sequence[Diagnostic]
                 ) -> None:
        self._path, self._overrides, self._found = path, overrides, found
        self._texts = {source.name: source.text for source in sources if _is_file(source.name)}
        self._places = Places(sources)
        self._errors = Counter(_key(d) for d in found if d.severity is Severity.ERROR)
        self._left = MOST_IN_ALL

    def run(self) -> list[Diagnostic]:
        errors = 0
        result = []
        for diagnostic in self._found:
            errors += diagnostic.severity is Severity.ERROR
            result.append(self._with_fix(diagnostic) if errors <= MOST_ERRORS else diagnostic)
        return result

    def _with_fix(self, diagnostic: Diagnostic) -> Diagnostic:
        fix = diagnostic.fix
        if diagnostic.severity is Severity.WARNING:
            return diagnostic
        for candidate in islice(self._candidates(diagnostic), MOST_TRIES):
            if self._left <= 0:
                break
            self._left -= 1
            if self._holds(diagnostic, candidate.edits):
                chosen = candidate if candidate is fix or not (fix and fix.text) else _beside(candidate, fix)
                return replace(diagnostic, fix=chosen)
        if fix is None or not fix.edits:
            return diagnostic
        # What is named after a look at the words alone may uncover another mistake: it stays, for eyes to see.
        keeps = diagnostic.code.split("-")[1] in ("READ", "NAME", "ARITY", "CONTRACT", "RUN")
        return replace(diagnostic, fix=replace(fix, edits=fix.edits if keeps else (), safe=False))

    def _candidates(self, diagnostic: Diagnostic) -> Iterator[Fix]:
        seen: set[tuple[Edit, ...]] = set()
        proposed = [diagnostic.fix] if diagnostic.fix and diagnostic.fix.edits else []
        guessed = guesses(diagnostic, self._places) if diagnostic.code.split("-")[1] in _GUESSED else ()
        for fix in (*proposed, *diagnostic.tries):
            if fix.edits not in seen and all(e.span.file in self._texts for e in fix.edits):
                seen.add(fix.edits)
                yield fix
        for fix in guessed:
            if fix.edits not in seen and all(e.span.file in self._texts for e in fix.edits):
                seen.add(fix.edits)
                yield fix

    def _holds(self, diagnostic: Diagnostic, edits: Sequence[Edit]) -> bool:
        allowed = self._errors.copy()
        allowed[_key(diagnostic)] -= 1
        watch = _Watch(allowed)
        try:
            check(self._path, overrides=self._overrides, sources=SourceMap(), module=False,
                  texts=applied(self._texts, edits), reporter=watch)
        except _Refuted:
            return False
        return True


def _key(diagnostic: Diagnostic) -> tuple[str, str]:
    return diagnostic.code, diagnostic.message


def _beside(candidate: Fix, fix: Fix) -> Fix:
    """A change that was found where the operation's own advice is only words: the change is what repairs it."""
    return candidate if candidate.text else replace(candidate, text=fix.text)


def _is_file(name: str) -> bool:
    return not name.startswith((PRELUDE, "-D "))
