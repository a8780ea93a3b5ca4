"""What is wrong with the brackets of a text, and where it was probably meant otherwise.

Counting brackets finds that one is missing only at the end of the file. The indentation knows more: a line that
begins at or left of an open bracket was written as standing outside it. So the first such line tells which bracket
was forgotten and where. A definition at the left margin ends every form that is open, so that each unbalanced
definition is reported once and alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from sexpgpu.compiler.frontend.reader_lexemes import Lexeme, advance
from sexpgpu.diagnostics import Diagnostic, Edit, Fix, Label, Span
from sexpgpu.diagnostics.record import record, replace

CLOSER = {"(": ")", "[": "]"}
OPENER = {")": "(", "]": "["}
_DEFINERS = ("defvar", "defun", "defmacro", "include")


@record
class _Suspect:
    """An open bracket, the lexeme that by its indentation is outside it, and where the text before that lexeme ends."""

    opener: Lexeme
    outside: Lexeme
    before: tuple[int, int]


class _Walk:
    """One pass over the lexemes of a file whose brackets do not balance."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Diagnostic] = []
        self.open: list[Lexeme] = []
        self.suspect: _Suspect | None = None
        self.closed_at: Lexeme | None = None
        self.opened_at: Lexeme | None = None
        self.bare: Lexeme | None = None
        self.closed: tuple[Lexeme, Lexeme] | None = None
        self.early: tuple[Lexeme, Lexeme] | None = None
        self.silent = False
        self.end = (1, 1)

    def run(self, lexemes: Sequence[Lexeme]) -> list[Diagnostic]:
        line = 0
        for index, lexeme in enumerate(lexemes):
            if lexeme[1] != line:
                self._new_line(lexeme, lexemes[index + 1][0] if index + 1 < len(lexemes) else "")
            text, line, _ = lexeme
            if text in CLOSER:
                if not self.open:
                    self.opened_at = lexeme
                    if lexeme[2] == 1:
                        self.bare = None
                self.open.append(lexeme)
            elif text in OPENER:
                self._close(lexeme)
            elif not self.open and self.bare is None and lexeme[2] == 1 and text in _DEFINERS:
                self.bare = lexeme
            self.end = advance(text, lexeme[1], lexeme[2])
            line = self.end[0]
        if self.open:
            self._unclosed()
        return self.found

    def _new_line(self, lexeme: Lexeme, following: str) -> None:
        text, _, column = lexeme
        if self.open and self.suspect is None and text not in OPENER and column <= self.open[-1][2]:
            self.suspect = _Suspect(self.open[-1], lexeme, self.end)
        if self.closed and self.early is None and text not in OPENER and column > self.closed[0][2] \
                and advance(self.closed[1][0], *self.closed[1][1:]) == self.end:
            self.early = (self.closed[1], lexeme)
        if column == 1 and text == "(" and following in _DEFINERS:
            if self.open:
                self._unclosed()
            self.open, self.suspect, self.silent, self.closed, self.early = [], None, False, None, None

    def _close(self, lexeme: Lexeme) -> None:
        text = lexeme[0]
        if not self.open:
            if not self.silent and not (self.found and self._touches_last(lexeme)):
                self._stray(lexeme)
            return
        opener = self.open.pop()
        self.closed = (opener, lexeme)
        if opener[0] != OPENER[text] and not self.silent and self.suspect and self.suspect.opener is opener \
                and self.open and self.open[-1][0] == OPENER[text]:
            # The indentation tells where this one ends, and then the bracket at hand is right.
            self._forgotten(self.suspect)
            self.suspect = None
            self._close(lexeme)
            return
        if opener[0] != OPENER[text] and not self.silent:
            # One report for a form: whatever else does not balance in it follows from this.
            self.silent = True
            right = CLOSER[opener[0]]
            self.found.append(Diagnostic(
                "E-READ-004", f"a `{opener[0]}` is closed by `{text}`",
                Label(self._span(lexeme), f"closes the `{opener[0]}` of line {opener[1]}"),
                (Label(self._span(opener), "opened here"),),
                fix=Fix(f"write `{right}` here", (Edit(self._span(lexeme), right),), True)))
        if not self.open:
            self.suspect, self.closed_at = None, lexeme

    def _forgotten(self, suspect: _Suspect) -> None:
        closer = CLOSER[suspect.opener[0]]
        place = Span(self.file, *suspect.before, *suspect.before)
        self.found.append(Diagnostic(
            "E-READ-002", f"a `{suspect.opener[0]}` is never closed", Label(self._span(suspect.opener), "opened here"),
            (Label(self._span(suspect.outside), "by its indentation this is outside of it"),),
            fix=Fix(f"close it with `{closer}` at the end of line {place.line}", (Edit(place, closer),), True)))

    def _touches_last(self, lexeme: Lexeme) -> bool:
        """Whether a stray bracket continues the run that was reported last."""
        last = self.found[-1]
        return last.code == "E-READ-003" and self.end == (lexeme[1], lexeme[2])

    def _stray(self, lexeme: Lexeme) -> None:
        secondary = ()
        if self.bare is not None and lexeme[0] == ")":
            word, self.bare = self.bare, None
            self.found.append(Diagnostic(
                "E-READ-003", f"a `)` closes nothing: no bracket is open before `{word[0]}`",
                Label(self._span(word), "no `(` before it"), (Label(self._span(lexeme), "no bracket is open here"),),
                fix=Fix(f"write `(` before `{word[0]}`", (Edit(self._span(word).start, "("),), True)))
            return
        if self.early is not None:
            (closer, inside), self.early = self.early, None
            self.found.append(Diagnostic(
                "E-READ-003", f"a `{lexeme[0]}` closes nothing", Label(self._span(closer), "closes a form too early"),
                (Label(self._span(inside), "by its indentation this is inside of the form"),
                 Label(self._span(lexeme), "so no bracket is open here")),
                fix=Fix(f"delete the `{closer[0]}` at the end of line {closer[1]}",
                        (Edit(self._span(closer), ""),), True)))
            return
        if self.closed_at is not None and self.opened_at is not None:
            secondary = (Label(self._span(self.closed_at),
                               f"the form that begins on line {self.opened_at[1]} is closed here"),)
        self.found.append(Diagnostic(
            "E-READ-003", f"a `{lexeme[0]}` closes nothing", Label(self._span(lexeme), "no bracket is open here"),
            secondary, fix=Fix("delete it, or one of those before it that closes too early",
                               (Edit(self._span(lexeme), ""),), True)))

    def _unclosed(self) -> None:
        """Report the forms that are open where a new definition begins, or at the end of the file."""
        if self.silent:
            # So the bracket that did not match is right, and the one before it is missing.
            wrong = self.found[-1]
            assert wrong.primary and wrong.fix
            place = wrong.primary.span.start
            closer = wrong.fix.edits[0].text
            self.found[-1] = replace(wrong, fix=Fix(f"write `{closer}` before it", (Edit(place, closer),), True))
            return
        opener = self.suspect.opener if self.suspect else self.open[0]
        missing = "".join(CLOSER[text] for text, _, _ in reversed(self.open))
        if self.suspect:
            line, column = self.suspect.before
            secondary = (Label(self._span(self.suspect.outside), "by its indentation this is outside of it"),)
        else:
            line, column = self.end
            end = Span(self.file, line, column, line, column)
            secondary = (Label(end, "the file ends here"),)
        notes = () if len(self.open) == 1 or self.suspect else (
            f"{len(self.open)} brackets are open at the end of the file",)
        place = Span(self.file, line, column, line, column)
        edits = (Edit(place, missing),) if len(self.open) == 1 or not self.suspect else ()
        closer = CLOSER[opener[0]] if self.suspect else missing
        self.found.append(Diagnostic(
            "E-READ-002", f"a `{opener[0]}` is never closed", Label(self._span(opener), "opened here"), secondary,
            notes, fix=Fix(f"close it with `{closer}` at the end of line {line}", edits, bool(edits))))

    def _span(self, lexeme: Lexeme) -> Span:
        text, line, column = lexeme
        end_line, end_column = advance(text, line, column)
        return Span(self.file, line, column, end_line, end_column)


def explain_brackets(file: str, lexemes: Sequence[Lexeme]) -> list[Diagnostic]:
    """The diagnostics of a text whose brackets do not balance, in the order of their places."""
    return _Walk(file).run(lexemes)
