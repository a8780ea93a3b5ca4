"""Where diagnostics are collected, with the calls that led to them.

An error inside a function of the prelude is the user's call, so it is shown there, with the place in the prelude as a
second label. One mistake is reported once, however often its place is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from sexpgpu.compiler.frontend.values import Origin
from sexpgpu.diagnostics import Clue, Diagnostic, Fix, Frame, Label, Severity, Span
from sexpgpu.diagnostics.record import record, replace

#: The folder that the prelude's files are shown in.
PRELUDE = "<prelude>/"


@record
class Activation:
    """One call in progress: the function's name and the span of the call. `location` is its MLIR location, made when
    an operation is first staged below it."""

    name: str
    call: Span
    location: object = None


def is_written(name: str) -> bool:
    """Whether a source of this name is the user's text: no part of the prelude, and no value of `-D`."""
    return not name.startswith((PRELUDE, "-D "))


def in_prelude(span: Span) -> bool:
    return span.file.startswith(PRELUDE)


class Reporter:
    """Collects diagnostics. `calls` is the stack of calls in progress, the outermost first; `expansions` says of each
    macro whose expansion is being analysed or run what it stands for."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self.calls: list[Activation] = []
        self.expansions: list[Callable[[], str]] = []
        self.silent = False   # whether `print` prints nothing: the check is a trial
        self.work = 0   # calls and turns that the evaluation took, once it has ended
        self._held: list[Diagnostic] = []
        self._seen: set[tuple] = set()

    @property
    def errors(self) -> int:
        return sum(d.severity is Severity.ERROR for d in self.found)

    def error(self, code: str, message: str, at: Span | None, label: str = "", *, secondary: Sequence[Label] = (),
              notes: Sequence[str] = (), fix: Fix | str | None = None, tries: Sequence[Fix] = (),
              clues: Sequence[Clue] = (), around: Sequence[Span] = ()) -> None:
        """Report, with the calls in progress as the chain."""
        self.add(Diagnostic(code, message, Label(at, label) if at else None, tuple(secondary),
                            (*notes, *self._expanded()),
                            tuple(Frame(c.name, c.call) for c in self.calls),
                            Fix(fix) if isinstance(fix, str) else fix, tuple(tries), tuple(clues), tuple(around)))

    def users_place(self, span: Span) -> Span:
        """`span`, or where it lies in the prelude, the user's call that led there."""
        if not in_prelude(span):
            return span
        return next((c.call for c in reversed(self.calls) if not in_prelude(c.call)), span)

    def maker(self, name: str, span: Span) -> Origin:
        """Who makes a value, as a note says it: the operation `name` at `span`, or where that lies in the prelude, the
        user's call that led there."""
        if in_prelude(span):
            for c in reversed(self.calls):
                if not in_prelude(c.call):
                    return Origin(f"this `{c.name}`", c.call)
        return Origin(f"this `{name}`", span)

    def add(self, diagnostic: Diagnostic) -> None:
        """Report a finished diagnostic, once for each code and place."""
        key = _key(diagnostic)
        if key not in self._seen:
            self._seen.add(key)
            self.found.append(_at_the_user(diagnostic))

    def hold(self, diagnostic: Diagnostic) -> None:
        """A mistake seen without running the code. It is kept back: when the place is run, it is reported with the
        calls that led there."""
        self._held.append(replace(diagnostic, notes=(*diagnostic.notes, *self._expanded())))

    def _expanded(self) -> list[str]:
        """The expansions around the place, the innermost first; of many, the two ends."""
        notes = self.expansions[::-1]
        if len(notes) > 4:
            return [notes[0](), notes[1](), f"{len(notes) - 3} more expansions lie between", notes[-1]()]
        return [note() for note in notes]

    @contextmanager
    def expanding(self, note: Callable[[], str]) -> Iterator[None]:
        """While this lasts, what is wrong is wrong in a macro's expansion, which `note` says."""
        self.expansions.append(note)
        try:
            yield
        finally:
            self.expansions.pop()

    def release(self) -> None:
        """Report what was held back and has not been reported since."""
        for diagnostic in self._held:
            self.add(diagnostic)
        self._held.clear()

    def ordered(self, files: Iterable[str]) -> list[Diagnostic]:
        """Everything found, by file (in the order given) and place."""
        rank = {name: i for i, name in enumerate(files)}

        def place(d: Diagnostic) -> tuple:
            span = d.primary.span if d.primary else None
            return (rank.get(span.file, len(rank)), span.line, span.column) if span else (-1, 0, 0)

        # An unknown name that is one argument too many is one mistake: a colon is missing.
        extra = {d.primary.span for d in self.found if d.code == "E-ARITY-001" and d.primary}
        found = [d for d in self.found if d.code != "E-NAME-001" or not d.primary or d.primary.span not in extra]
        return sorted(found, key=place)


def _key(diagnostic: Diagnostic) -> tuple:
    span = diagnostic.primary.span if diagnostic.primary else None
    # At the first line of a file stand the findings that have no place of their own.
    return (diagnostic.code, span, diagnostic.message if span is None or span.line == 1 else "",
            diagnostic.chain[-1].call if span and in_prelude(span) and diagnostic.chain else None)


def _at_the_user(diagnostic: Diagnostic) -> Diagnostic:
    """The same diagnostic with a primary span in the user's text, when a call there led to it."""
    primary = diagnostic.primary
    if primary is None or not in_prelude(primary.span):
        return diagnostic
    depth = next((i for i in reversed(range(len(diagnostic.chain))) if not in_prelude(diagnostic.chain[i].call)), None)
    if depth is None:
        return diagnostic
    frame = diagnostic.chain[depth]
    inside = Label(primary.span, f"inside `{frame.name}`: {primary.text}" if primary.text else f"inside `{frame.name}`")
    fix = diagnostic.fix
    if fix and any(in_prelude(edit.span) for edit in fix.edits):
        fix = None
    return replace(diagnostic, primary=Label(frame.call, f"in this call of `{frame.name}`"),
                   secondary=(inside, *diagnostic.secondary), chain=diagnostic.chain[:depth], fix=fix)
