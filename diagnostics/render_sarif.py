"""Diagnostics as one SARIF 2.1.0 document, for code scanning services."""

from __future__ import annotations

import json
from collections.abc import Sequence
from urllib.parse import quote

from sexpgpu.diagnostics.codes import CODES
from sexpgpu.diagnostics.diagnostic import Diagnostic, Label, Severity
from sexpgpu.diagnostics.span import Span

Json = dict[str, object]


def render_sarif(diagnostics: Sequence[Diagnostic]) -> str:
    names = sorted({diagnostic.code for diagnostic in diagnostics})
    run = {
        "tool": {"driver": {"name": "sexpc", "rules": [_rule(name) for name in names]}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(diagnostic, names.index(diagnostic.code)) for diagnostic in diagnostics],
    }
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _rule(name: str) -> Json:
    code = CODES[name]
    return {"id": name, "shortDescription": {"text": code.title}, "fullDescription": {"text": code.meaning}}


def _result(diagnostic: Diagnostic, rule: int) -> Json:
    advice = [f"fix: {diagnostic.fix.text}"] if diagnostic.fix else []
    text = "\n".join([diagnostic.message, *diagnostic.notes, *advice])
    result: Json = {
        "ruleId": diagnostic.code, "ruleIndex": rule,
        "level": "error" if diagnostic.severity is Severity.ERROR else "warning", "message": {"text": text},
    }
    if diagnostic.primary:
        result["locations"] = [_location(diagnostic.primary)]
    if diagnostic.secondary:
        result["relatedLocations"] = [{"id": i, **_location(label)} for i, label in enumerate(diagnostic.secondary)]
    if diagnostic.fix and diagnostic.fix.edits:
        result["fixes"] = [_fix(diagnostic)]
    return result


def _location(label: Label) -> Json:
    file = {"uri": _uri(label.span.file)}
    place: Json = {"physicalLocation": {"artifactLocation": file, "region": _region(label.span)}}
    return {**place, "message": {"text": label.text}} if label.text else place


def _fix(diagnostic: Diagnostic) -> Json:
    assert diagnostic.fix
    changes: dict[str, list[Json]] = {}
    for edit in diagnostic.fix.edits:
        changes.setdefault(edit.span.file, []).append(
            {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}})
    return {"description": {"text": diagnostic.fix.text},
            "artifactChanges": [{"artifactLocation": {"uri": _uri(file)}, "replacements": replacements}
                                for file, replacements in changes.items()]}


def _uri(file: str) -> str:
    """A relative reference: what a URI cannot hold is escaped."""
    return quote(file, safe="/")


def _region(span: Span) -> Json:
    return {"startLine": span.line, "startColumn": span.column, "endLine": span.end_line, "endColumn": span.end_column}
