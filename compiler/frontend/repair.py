"""The fix of a mistake, found by trying: each change that could repair it is made to the text, and the text is checked.

Only what repairs the mistake and breaks nothing else is offered as a change to apply. A change that an operation
proposed and that does not survive is withdrawn, its advice stays. Runs when there are errors, and only then; how much
is tried is bounded by counts, so that the same program gets the same answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

from sexpgpu.compiler.frontend.experiment import check
from sexpgpu.compiler.frontend.places import Places
from sexpgpu.compiler.frontend.repair_guesses import guesses
from sexpgpu.compiler.frontend.repair_names import regrouped
from sexpgpu.compiler.frontend.repair_reading import openings
from sexpgpu.compiler.frontend.report import Reporter, is_written
from sexpgpu.diagnostics import Diagnostic, Edit, Fix, Severity, SourceMap
from sexpgpu.diagnostics.edits import applied
from sexpgpu.diagnostics.record import replace

#: Of how many errors a fix is searched, and how many changes are tried for one.
MOST_ERRORS = 12
MOST_TRIES = 20
#: What all trials of a program may take together, in calls and turns of its evaluation (about 0.3 ms each): a search
#: takes no longer than a check. One change of a large program is always tried.
MOST_WORK = 1_000
#: What reading the text and beginning the evaluation costs, in the same unit.
_TO_BEGIN = 25

#: The families whose mistakes are worth guessing at; of the others only what was proposed is tried.
_GUESSED = ("SHAPE", "TYPE", "ARITY", "CONTRACT")


class _Refuted(BaseException):
    """The change leaves the mistake there, or makes another."""


class _Watch(Reporter):
    """Ends the check at the first error that is not among the `allowed` ones."""

    def __init__(self, allowed: Counter[tuple[str, str]]) -> None:
        super().__init__()
        self.silent = True
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
        self._texts = {source.name: source.text for source in sources if is_written(source.name)}
        self._places = Places(sources)
        self._errors = Counter(_key(d) for d in found if d.severity is Severity.ERROR)
        self._work = 0

    def run(self) -> list[Diagnostic]:
        errors = 0
        result = []
        for diagnostic in regrouped(self._found, self._places, self._texts):
            errors += diagnostic.severity is Severity.ERROR
            result.append(self._with_fix(diagnostic) if errors <= MOST_ERRORS else diagnostic)
        return result

    def _with_fix(self, diagnostic: Diagnostic) -> Diagnostic:
        fix, second = diagnostic.fix, None
        if diagnostic.severity is Severity.WARNING:
            return diagnostic
        for candidate in islice(self._candidates(diagnostic), MOST_TRIES):
            if self._work > MOST_WORK:
                break
            if self._holds(diagnostic, candidate.edits):
                return replace(diagnostic, fix=candidate)
            if second is None and diagnostic.code.startswith("E-READ") and self._reads(diagnostic, candidate.edits):
                second = candidate
        if second is not None:
            return replace(diagnostic, fix=second)
        if fix is None or not fix.edits:
            return diagnostic
        # A name suggested by a look at the words alone may uncover another mistake: it stays, for eyes to see.
        keeps = diagnostic.code.split("-")[1] in ("NAME", "ARITY", "CONTRACT", "RUN")
        return replace(diagnostic, fix=replace(fix, edits=fix.edits if keeps else (), safe=False))

    def _candidates(self, diagnostic: Diagnostic) -> Iterator[Fix]:
        seen: set[tuple[Edit, ...]] = set()
        proposed = [diagnostic.fix] if diagnostic.fix and diagnostic.fix.edits else []
        guessed: Iterable[Fix] = ()
        if diagnostic.code.split("-")[1] in _GUESSED:
            guessed = guesses(diagnostic, self._places)
        elif diagnostic.code in ("E-READ-003", "E-READ-004") and diagnostic.primary:
            guessed = openings(diagnostic.primary.span, self._texts)
        for fix in chain(proposed, diagnostic.tries, guessed):
            if fix.edits not in seen and all(e.span.file in self._texts for e in fix.edits):
                seen.add(fix.edits)
                yield fix

    def _holds(self, diagnostic: Diagnostic, edits: Sequence[Edit]) -> bool:
        allowed = self._errors.copy()
        del allowed[_key(diagnostic)]
        watch = _Watch(allowed)
        try:
            check(self._path, overrides=self._overrides, sources=SourceMap(), module=False,
                  texts=applied(self._texts, edits), reporter=watch)
        except (_Refuted, Exception):   # a fault of ours in a trial hides nothing of what is known
            return False
        finally:
            self._work += _TO_BEGIN + watch.work
        return True

    def _reads(self, diagnostic: Diagnostic, edits: Sequence[Edit]) -> bool:
        """Whether the text reads, and nothing that this mistake has to do with is wrong then. What is wrong elsewhere
        was hidden: a text that cannot be read is not checked further."""
        allowed = self._errors.copy()
        allowed[_key(diagnostic)] -= 1
        after = Reporter()
        after.silent = True
        try:
            check(self._path, overrides=self._overrides, sources=SourceMap(), module=False,
                  texts=applied(self._texts, edits), reporter=after)
        except Exception:   # as above
            return False
        self._work += _TO_BEGIN + after.work
        errors = [d for d in after.found if d.severity is Severity.ERROR]
        reading = Counter(_key(d) for d in errors if d.code.startswith("E-READ"))
        if reading - allowed:
            return False
        spans = [edit.span for edit in edits] + [label.span for label in (*([diagnostic.primary] if diagnostic.primary
                                                                            else []), *diagnostic.secondary)]
        file, first, last = spans[0].file, min(s.line for s in spans), max(s.end_line for s in spans)
        return not any(d.primary is None or d.code == "E-CONTRACT-001" or self._is_defined(d) or (
            d.primary.span.file == file and first <= d.primary.span.line <= last) for d in errors
            if not d.code.startswith("E-READ"))

    def _is_defined(self, diagnostic: Diagnostic) -> bool:
        """Whether an unknown name has a definition in the text, which another one swallowed then."""
        if diagnostic.code != "E-NAME-001":
            return False
        name = re.escape(diagnostic.message.split("`")[1])
        return any(re.search(rf"\(def\w+\s+{name}[\s()\[\]]", text) for text in self._texts.values())


def _key(diagnostic: Diagnostic) -> tuple[str, str]:
    return diagnostic.code, diagnostic.message
