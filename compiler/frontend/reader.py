"""Text to data: the first stage.

    read(source, report) -> [Datum, …]

Every datum has its exact span. An error is reported and reading goes on, so that one run shows every mistake of the
text; the caller stops after this stage if anything was reported, for the data of a wrong text mean little. Nothing is
evaluated here, and no form is known: `(quote x)` is all that `'x` means.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Literal, Symbol
from sexpgpu.compiler.frontend.reader_brackets import CLOSER, OPENER, explain_brackets
from sexpgpu.compiler.frontend.reader_lexemes import Lexeme, UnterminatedComment, advance, is_terminated, lexemes
from sexpgpu.compiler.frontend.reader_words import Bad, string_value, word_value
from sexpgpu.diagnostics import Diagnostic, Edit, Fix, Label, SourceFile, Span

#: How deep brackets and prefixes may nest; the evaluator recurs over data, and this keeps it within Python's stack.
MAX_DEPTH = 200

_PREFIXES = {"'": "quote", "`": "quasiquote", ",": "unquote", ",@": "unquote-splicing"}
_WORDS: dict[str, Literal] = {}

Report = Callable[[Diagnostic], None]


def read(source: SourceFile, report: Report) -> list[Datum]:
    """The data of a text, in order. Mistakes go to `report` (codes `E-READ-…`) in the order of their places."""
    text = source.text
    found: list[Diagnostic] = []
    cut = False
    try:
        # A byte order mark is no character of the program; as a blank it keeps its column.
        pieces = lexemes(" " + text[1:] if text.startswith("\ufeff") else text)
    except UnterminatedComment as error:
        line, column, pieces = error.args
        place = Span(source.name, line, column, line, column + 2)
        found.append(Diagnostic("E-READ-009", "a block comment is never closed", Label(place, "opened here"),
                                fix=Fix("close it with `|#`; comments inside a comment need their own")))
        cut = True
    reader = _Reader(source.name, found)
    data = reader.read(pieces)
    if pieces and pieces[-1][0][0] == '"' and not is_terminated(pieces[-1][0]):
        _unterminated_string(source.name, pieces, found)
        cut = True
    if reader.unbalanced and not cut:
        found += explain_brackets(source.name, pieces)
    for diagnostic in sorted(found, key=lambda d: d.primary.span[1:3] if d.primary else (0, 0)):
        report(diagnostic)
    return data


class _Reader:
    """One pass over the lexemes. `unbalanced` says that brackets did not match: another pass explains how."""

    def __init__(self, file: str, found: list[Diagnostic]) -> None:
        self.file = file
        self.found = found
        self.unbalanced = False

    def read(self, pieces: list[Lexeme]) -> list[Datum]:
        file, words = self.file, _WORDS
        make = tuple.__new__   # a named tuple by the shortest way
        stack: list[tuple[str, int, int, list[Datum], list[Lexeme]]] = []
        items: list[Datum] = []
        prefixes: list[Lexeme] = []
        depth = 0
        for piece, line, column in pieces:
            if piece in words:
                datum: Datum = Atom(words[piece], make(Span, (file, line, column, line, column + len(piece))))
            elif piece in CLOSER:
                depth += 1
                if depth > MAX_DEPTH:
                    self._too_deep(piece, line, column)
                    return []
                stack.append((piece, line, column, items, prefixes))
                items, prefixes = [], []
                continue
            elif piece in OPENER:
                if prefixes:
                    self._prefix_of_nothing(prefixes[-1])
                if not stack:
                    self.unbalanced = True
                    prefixes = []
                    continue
                inner = items
                opener, start_line, start_column, items, prefixes = stack.pop()
                depth = len(stack) + len(prefixes)
                if OPENER[piece] != opener:
                    self.unbalanced = True
                datum = Form(tuple(inner), make(Span, (file, start_line, start_column, line, column + 1)), opener)
            elif piece in _PREFIXES or piece == "#;":
                prefixes.append((piece, line, column))
                depth += 1
                if depth > MAX_DEPTH:
                    self._too_deep(piece, line, column)
                    return []
                continue
            else:
                datum = self._atom(piece, line, column)
            if prefixes:
                wrapped = _wrap(file, prefixes, datum)
                depth = len(stack) + len(prefixes)
                if wrapped is None:
                    continue
                datum = wrapped
            items.append(datum)
        if prefixes:
            self._prefix_of_nothing(prefixes[-1])
        if stack:
            self.unbalanced = True
            # What is open at the end is closed there: the rest of the file still has its definitions.
            while stack:
                opener, line, column, outer, _ = stack.pop()
                end = items[-1].span if items else Span(file, line, column, line, column + 1)
                outer.append(Form(tuple(items), Span(file, line, column, end.end_line, end.end_column), opener))
                items = outer
        return items

    def _atom(self, piece: str, line: int, column: int) -> Atom:
        """A word met for the first time, or a string."""
        end_line, end_column = advance(piece, line, column)
        span = Span(self.file, line, column, end_line, end_column)
        if piece[0] == '"':
            value, wrong = string_value(piece) if is_terminated(piece) else (piece[1:], [])
            for bad in wrong:
                self._bad(bad, piece, span)
            return Atom(value, span)
        try:
            word = _WORDS[piece] = word_value(piece)
        except Bad as bad:
            self._bad(bad, piece, span)
            return Atom(Symbol(piece), span)
        return Atom(word, span)

    def _bad(self, bad: Bad, piece: str, whole: Span) -> None:
        start = advance(piece[:bad.start], whole.line, whole.column)
        end = advance(piece[:bad.end], whole.line, whole.column)
        span = Span(self.file, *start, *end)
        edits = (Edit(span, bad.instead),) if bad.instead is not None else ()
        self.found.append(Diagnostic(bad.code, bad.message, Label(span, bad.label),
                                     fix=Fix(bad.fix, edits) if bad.fix else None))

    def _prefix_of_nothing(self, prefix: Lexeme) -> None:
        piece, line, column = prefix
        label = "leaves out the datum after it" if piece == "#;" else f"{_PREFIXES[piece]}s the datum after it"
        self.found.append(Diagnostic(
            "E-READ-008", f"nothing follows `{piece}`", Label(Span(self.file, line, column, line, column + len(piece)),
                                                              label)))

    def _too_deep(self, piece: str, line: int, column: int) -> None:
        self.found.append(Diagnostic(
            "E-READ-012", f"nesting deeper than {MAX_DEPTH}",
            Label(Span(self.file, line, column, line, column + len(piece)), f"this is level {MAX_DEPTH + 1}"),
            fix=Fix("give the inner part a name of its own with `defvar` or `defun`")))


def _wrap(file: str, prefixes: list[Lexeme], datum: Datum) -> Datum | None:
    """`datum` under the prefixes before it, from the nearest outwards; None where a `#;` swallows it. The prefixes that
    were used up are gone from the list."""
    while prefixes:
        piece, line, column = prefixes.pop()
        if piece == "#;":
            return None
        end = datum.span
        name = Atom(Symbol(_PREFIXES[piece]), Span(file, line, column, line, column + len(piece)))
        datum = Form((name, datum), Span(file, line, column, end.end_line, end.end_column))
    return datum


def _unterminated_string(file: str, pieces: list[Lexeme], found: list[Diagnostic]) -> None:
    """Report the string that runs to the end of the file, or the earlier one that probably lacks its quote.

    A forgotten quote turns strings inside out: from there on each closing quote opens one. The first that spans lines
    and ends right before a word is where that began, and what was reported after it is not true.
    """
    last = suspect = pieces[-1]
    for (piece, line, column), after in pairwise(pieces):
        if piece[0] == '"' and "\n" in piece and after[1:] == advance(piece, line, column) and after[0] not in OPENER:
            suspect = (piece, line, column)
            break
    _, line, column = suspect
    first_line = suspect[0].split("\n", 1)[0].rstrip("\r")
    span = Span(file, line, column, line, column + len(first_line))
    found[:] = [d for d in found if d.primary and d.primary.span[1:3] < (line, column)]
    secondary = () if suspect is last else (
        Label(Span(file, last[1], last[2], last[1], last[2] + 1), "so this quote opens a string that does not end"),)
    found.append(Diagnostic("E-READ-001", "a string is never closed", Label(span, "the string begins here"), secondary,
                            fix=Fix("close it with `\"`; a quote inside a string is written `\\\"`")))
