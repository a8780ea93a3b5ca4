"""The house style of messages, as a check that tests run over every diagnostic they raise.

Messages and labels state facts: lower case, no full stop, no advice. Only `fix` advises.
"""

from __future__ import annotations

import re

from sexpgpu.diagnostics.diagnostic import Diagnostic

_ADVICE = re.compile(r"\b(please|should|must|try|consider|did you mean|you can|make sure|need to|use)\b", re.I)


def check_message(diagnostic: Diagnostic) -> list[str]:
    """What is wrong with the wording of a diagnostic; nothing is how it should be."""
    wrong = _check("message", diagnostic.message, empty=False)
    if "\n" in diagnostic.message:
        wrong.append("message has more than one line")
    labels = ([diagnostic.primary] if diagnostic.primary else []) + list(diagnostic.secondary)
    for label in labels:
        wrong += _check("label", label.text, empty=True)
    for note in diagnostic.notes:
        wrong += _check("note", note, empty=False)
    if diagnostic.fix:
        text = diagnostic.fix.text
        if not text or text.endswith((".", "!")) or _starts_upper(text):
            wrong.append(f"fix {text!r}: empty, begins with a capital or ends with a full stop")
    return [f"{diagnostic.code}: {problem}" for problem in wrong]


def _check(what: str, text: str, *, empty: bool) -> list[str]:
    wrong = []
    if not text:
        return [] if empty else [f"{what} is empty"]
    if _starts_upper(text):
        wrong.append(f"{what} {text!r} begins with a capital")
    if text.endswith((".", "!")) and not text.endswith("…") and not text.endswith("..."):
        wrong.append(f"{what} {text!r} ends with a full stop")
    # What stands in backticks is the user's text, and a word with a slash is a path.
    if match := _ADVICE.search(re.sub(r"`[^`]*`|\S*/\S*", "", text)):
        wrong.append(f"{what} {text!r} advises ({match.group()})")
    return wrong


def _starts_upper(text: str) -> bool:
    """A capital that begins a word of prose; names and abbreviations (`IREE`, `E-READ-001`, `x[0]`) are fine."""
    word = re.match(r"[A-Za-z]+", text)
    return bool(word) and word.group()[0].isupper() and word.group()[1:].islower()
