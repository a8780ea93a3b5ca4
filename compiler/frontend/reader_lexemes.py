"""Text to lexemes: brackets, words, strings and prefixes, each with its line and column.

Blanks and comments are left out. Nothing is refused here: what is no token comes out as a lexeme of its own, and the
reader says so. Time is what this file is about: the prelude is read by every `sexpc check`, so one regular
expression cuts the text and the loop does as little as it can for each piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: A lexeme, its line and its column (both from 1).
Lexeme = tuple[str, int, int]

#: One piece of text. A string without its closing quote matches to the end. `#` and what follows is one piece, so that
#: `#t` is reported whole. The last alternatives are single characters that begin nothing.
_PIECE = re.compile(r"""
      [+-]?[0-9]++(?:,[0-9]++)++\.?[0-9]*+     # digits with commas between them are reported whole
    | [^\s()\[\]{}"';`,\#|\\]++              # a word: a name, a keyword or a number
    | [ \t\r\f\v]++                          # blanks
    | [()\[\]]
    | \n
    | "(?:[^"\\]++|\\.)*+\\?"?               # a string
    | ;[^\n]*+
    | ['`] | ,@?
    | \#; | \#'? [^\s()\[\]{}"';`,]*+
    | [|\\][^\s()\[\]{}"';`,]*+
    | .
""", re.X | re.S)

#: From here to the next `#|` that is in no string and in no line comment.
_CODE = re.compile(r"""(?:[^"\#;]++|"(?:[^"\\]++|\\.)*+\\?"?|;[^\n]*+|\#(?!\|))*+""", re.S)
_COMMENT_EDGE = re.compile(r"#\||\|#")


class UnterminatedComment(Exception):
    """A `#|` without its `|#`; `args` are its line and column, and the lexemes before it."""


def lexemes(text: str) -> list[Lexeme]:
    """All lexemes of `text`; an `UnterminatedComment` holds those that stand before one."""
    found: list[Lexeme] = []
    append = found.append
    line, column = 1, 1
    for start, end, comment in _sections(text):
        if comment:
            if end < 0:
                raise UnterminatedComment(line, column, found)
            line, column = advance(text[start:end], line, column)
            continue
        for piece in _PIECE.findall(text, start, end):
            first = piece[0]
            if first == "\n":
                line += 1
                column = 1
            elif first == '"':
                append((piece, line, column))
                line, column = advance(piece, line, column)
            else:
                if first not in " ;\t\r\f\v":
                    append((piece, line, column))
                column += len(piece)
    return found


def advance(text: str, line: int, column: int) -> tuple[int, int]:
    """The place after `text` that stands at `line`:`column`."""
    newlines = text.count("\n")
    if newlines:
        return line + newlines, len(text) - text.rindex("\n")
    return line, column + len(text)


def _sections(text: str) -> Iterator[tuple[int, int, bool]]:
    """The text as code and block comments in turn: start, end and whether it is a comment. A comment that does not end
    has the end -1 and is the last."""
    if "#|" not in text:
        yield 0, len(text), False
        return
    at = 0
    while at < len(text):
        match = _CODE.match(text, at)
        assert match is not None
        if match.end() > at:
            yield at, match.end(), False
        at = match.end()
        if at < len(text):
            end = _comment_end(text, at)
            yield at, end, True
            if end < 0:
                return
            at = end


def _comment_end(text: str, start: int) -> int:
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge.group() == "#|" else -1
        if not depth:
            return edge.end()
    return -1


def is_terminated(string: str) -> bool:
    """Whether a string's piece has its closing quote."""
    if len(string) < 2 or not string.endswith('"'):
        return False
    body = string[1:-1]
    return (len(body) - len(body.rstrip("\\"))) % 2 == 0
