"""Opening brackets that could be missing, by the words that stand where one begins elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sexpgpu.compiler.frontend.environment import prelude_names
from sexpgpu.compiler.frontend.ops import OPS
from sexpgpu.compiler.frontend.reader_lexemes import UnterminatedComment, lexemes
from sexpgpu.compiler.frontend.special import SPECIAL
from sexpgpu.diagnostics import Edit, Fix, Span

_HEAD = re.compile(r"\(([^\s()\[\]]+)")


def openings(span: Span, texts: Mapping[str, str]) -> Iterator[Fix]:
    """A `(` before each word of the definition around `span` that is the head of a call elsewhere, the last first."""
    text = texts.get(span.file)
    if text is None:
        return
    try:
        pieces = lexemes(text)
    except UnterminatedComment:
        return
    heads = set(_HEAD.findall(text)) | set(OPS) | set(SPECIAL) | prelude_names()
    found: list[tuple[str, Span]] = []
    before = beyond = ""
    for piece, line, column in pieces:
        if (line, column) > (span.line, span.column):
            break
        if column == 1 and piece == "(":
            found.clear()
        elif (before not in ("(", "'", "`") and piece in heads) or beyond in ("defun", "defmacro", "fn", "lambda"):
            found.append((piece, Span(span.file, line, column, line, column)))
        beyond = before if before != "(" else ""
        before = piece
    for word, place in reversed(found):
        yield Fix(f"write `(` before `{word}`", (Edit(place, "("),), True)
