"""Changing texts as a fix says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sexpgpu.diagnostics.diagnostic import Edit
from sexpgpu.diagnostics.span import Span


def offsets(text: str, span: Span) -> tuple[int, int]:
    """Where a span begins and ends in a text, in code points from 0."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts[span.line - 1] + span.column - 1, starts[span.end_line - 1] + span.end_column - 1


def applied(texts: Mapping[str, str], edits: Iterable[Edit]) -> dict[str, str]:
    """`texts`, by file, after all of `edits`; those of one file do not overlap."""
    changed = dict(texts)
    placed = [(edit.span.file, *offsets(texts[edit.span.file], edit.span), edit.text) for edit in edits]
    for file, start, end, new in sorted(placed, key=lambda p: p[1:3], reverse=True):
        changed[file] = changed[file][:start] + new + changed[file][end:]
    return changed


def overlap(texts: Mapping[str, str], one: Iterable[Edit], other: Iterable[Edit]) -> bool:
    """Whether two fixes touch the same text."""
    mine = [(e.span.file, *offsets(texts[e.span.file], e.span)) for e in one]
    theirs = [(e.span.file, *offsets(texts[e.span.file], e.span)) for e in other]
    return any(a[0] == b[0] and a[1] <= b[2] and b[1] <= a[2] for a in mine for b in theirs)
