"""Changes to what is written at one place: a number in quotes, a fraction that is whole, a missing colon, a list where
one value stands. `repair` tries them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Keyword, Symbol
from sexpgpu.compiler.frontend.places import Places
from sexpgpu.diagnostics import Diagnostic, Edit, Fix

_NAME = re.compile(r"[a-z][a-z0-9-]*")


def words(site: Datum, diagnostic: Diagnostic, places: Places) -> Iterator[Fix]:
    """The likeliest first. Each is one change; nothing says that it helps."""
    if isinstance(site, Atom) and diagnostic.code == "E-TYPE-015":
        yield Fix("a plist is made by `(list …)`", (Edit(site.span.start, "list "),))
    if isinstance(site, Atom) and diagnostic.code == "E-ARITY-004":
        for value in ("true", "0.1"):
            yield Fix(f"for instance `{places.text(site.span)} {value}`", (Edit(site.span.end, f" {value}"),))
    if isinstance(site, Atom):
        yield from _atom(site)
    else:
        yield from _form(site, diagnostic, places)


def _atom(site: Atom) -> Iterator[Fix]:
    value, span = site.value, site.span
    match value:
        case float() if value.is_integer() and abs(value) < 1e15:
            yield Fix(f"write it without a fraction: `{int(value)}`", (Edit(span, str(int(value))),), True)
        case str():
            if _is_number(value):
                yield Fix(f"write it without quotes: `{value}`", (Edit(span, value),), True)
            yield Fix("write it in a vector: `[…]`", (Edit(span.start, "["), Edit(span.end, "]")), True)
            if _NAME.fullmatch(value):
                yield Fix(f"write it without quotes: `{value}`", (Edit(span, value),))
            if value and value.replace("-", "").isalnum():
                yield Fix(f"write it as a keyword: `:{value}`", (Edit(span, f":{value}"),))
        case Symbol():
            yield Fix(f"write it as a keyword: `:{value.name}`", (Edit(span, f":{value.name}"),))
            yield Fix(f"`(range {value.name})` counts from 0", (Edit(span, f"(range {value.name})"),))
            yield Fix("write it in a vector: `[…]`", (Edit(span.start, "["), Edit(span.end, "]")))
        case Keyword():
            yield Fix(f"write it as a string: `\"{value.name}\"`", (Edit(span, f'"{value.name}"'),))
        case bool():
            return
        case int():
            yield Fix("write it in a vector: `[…]`", (Edit(span.start, "["), Edit(span.end, "]")), True)
            yield Fix(f"`(range {value})` counts from 0", (Edit(span, f"(range {value})"),))


def _form(site: Form, diagnostic: Diagnostic, places: Places) -> Iterator[Fix]:
    span = site.span
    first = site.items[0] if site.items else None
    if site.bracket == "[" and len(site.items) == 1:
        yield Fix("without the brackets it fits", (Edit(span, places.text(site.items[0].span)),))
    if site.bracket == "(" and isinstance(first, Atom) and isinstance(first.value, Keyword):
        yield Fix("a plist is made by `(list …)`", (Edit(first.span.start, "list "),))
    if site.bracket == "(" and diagnostic.code.startswith("E-TYPE-01"):
        yield Fix("write it in a vector: `[…]`", (Edit(span.start, "["), Edit(span.end, "]")))
    for item in site.items[1:] if site.bracket == "(" else site.items:
        if isinstance(item, Atom) and isinstance(item.value, float):
            yield from _atom(item)
        elif isinstance(item, Atom) and isinstance(item.value, str) and _is_number(item.value):
            yield Fix(f"write it without quotes: `{item.value}`", (Edit(item.span, item.value),), True)
    if diagnostic.code == "E-ARITY-002":
        yield from _left_out(site, diagnostic, places)


def _left_out(site: Form, diagnostic: Diagnostic, places: Places) -> Iterator[Fix]:
    """An argument that is missing, where a variable around the place has its name."""
    for name in re.findall(r"`([^`]+)`", diagnostic.message)[1:]:
        if name in places.variables(site.span):
            for text in (f" {name}", f" :{name} {name}"):
                yield Fix(f"`{name}` is bound here: `{text.strip()}`", (Edit(site.span.before_last, text),))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip() == text and text.lower() not in ("inf", "-inf", "nan", "infinity")
