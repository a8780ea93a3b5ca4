"""Data as text again: one line where it fits, broken as a program is where not. Quotes are written out."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Keyword, Literal

_WIDTH = 100


def shown(datum: Datum, indent: int = 0) -> str:
    """The text of a datum, broken where it is longer than a line."""
    if isinstance(datum, Atom):
        return _atom(datum.value)
    close = ")" if datum.bracket == "(" else "]"
    flat = datum.bracket + " ".join(shown(item) for item in datum.items) + close
    if len(flat) + indent <= _WIDTH or len(datum.items) < 2:
        return flat
    step = 2 if datum.head else 1
    first, *rows = _rows(datum, indent + step)
    return f"{datum.bracket}{first}\n" + "\n".join(" " * (indent + step) + row for row in rows) + close


def brief(datum: Datum, width: int = 72) -> str:
    """The text of a datum in one line, cut off where it is longer."""
    text = "".join(_pieces(datum, [width + 1]))
    return text if len(text) <= width else f"{text[:width - 2]} …"


def _pieces(datum: Datum, room: list[int]) -> Iterator[str]:
    """The text of a datum in one line, until more than `room[0]` characters have come: a large form costs no more."""
    if isinstance(datum, Atom):
        text = _atom(datum.value)
        room[0] -= len(text) + 1
        yield text
        return
    yield datum.bracket
    for i, item in enumerate(datum.items):
        if room[0] <= 0:
            break
        if i:
            yield " "
        yield from _pieces(item, room)
    room[0] -= 1
    yield ")" if datum.bracket == "(" else "]"


def _rows(form: Form, indent: int) -> Iterator[str]:
    """What a broken form has on its lines: the head with an atom after it, keywords with their values."""
    rest = list(form.items)
    if form.bracket == "(":
        head = shown(rest.pop(0), indent)
        if isinstance(rest[0], Atom) and not isinstance(rest[0].value, Keyword):
            head += f" {shown(rest.pop(0))}"
        yield head
    while rest:
        item = rest.pop(0)
        text = shown(item, indent)
        if isinstance(item, Atom) and isinstance(item.value, Keyword) and rest:
            text += f" {shown(rest.pop(0), indent + len(text) + 1)}"
        yield text


def _atom(value: Literal) -> str:
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)[1:-1]
        return f'"{_escapes(text)}"'
    return str(value)


def _escapes(text: str) -> str:
    """JSON's escapes as ours: `\\u001b` is `\\u{1b}`, `\\r` is `\\u{D}`."""
    simple = {"\\r": "\\u{D}", "\\b": "\\u{8}", "\\f": "\\u{C}"}

    def ours(match: re.Match[str]) -> str:
        escape = match.group()
        return f"\\u{{{escape[2:]}}}" if escape[1] == "u" else simple.get(escape, escape)

    return re.sub(r"\\(?:u[0-9a-f]{4}|.)", ours, text)
