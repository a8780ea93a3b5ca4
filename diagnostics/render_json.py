"""Diagnostics for editors: one Language Server Protocol `Diagnostic` a line.

Lines and columns count from 0 here, columns in code points. Beyond the protocol: `file` beside each range (the name as
it was given), and in `data` what the protocol has no place for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from sexpgpu.diagnostics.diagnostic import Diagnostic
from sexpgpu.diagnostics.span import Span

Json = dict[str, object]


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    return "".join(json.dumps(to_lsp(diagnostic), ensure_ascii=False) + "\n" for diagnostic in diagnostics)


def to_lsp(diagnostic: Diagnostic) -> Json:
    """The object of one diagnostic; a finding without a place has an empty range at the start and no `file`."""
    primary, fix = diagnostic.primary, diagnostic.fix
    data: Json = {}
    if primary and primary.text:
        data["label"] = primary.text
    if diagnostic.notes:
        data["notes"] = list(diagnostic.notes)
    if diagnostic.chain:
        data["chain"] = [{"name": frame.name, **_place(frame.call)} for frame in diagnostic.chain]
    if fix:
        data["fix"] = fix.text
    if fix and fix.edits:
        data["edits"] = [{**_place(edit.span), "newText": edit.text} for edit in fix.edits]
        data["safe"] = fix.safe
    related = [{"location": _place(label.span), "message": label.text} for label in diagnostic.secondary]
    return {
        **({"file": primary.span.file} if primary else {}),
        "range": _range(primary.span if primary else Span("", 1, 1, 1, 1)),
        "severity": int(diagnostic.severity), "code": diagnostic.code, "source": "sexpc", "message": diagnostic.message,
        **({"relatedInformation": related} if related else {}), **({"data": data} if data else {}),
    }


def _place(span: Span) -> Json:
    return {"file": span.file, "range": _range(span)}


def _range(span: Span) -> Json:
    return {"start": {"line": span.line - 1, "character": span.column - 1},
            "end": {"line": span.end_line - 1, "character": span.end_column - 1}}
