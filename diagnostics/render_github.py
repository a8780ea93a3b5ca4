"""Diagnostics as GitHub Actions workflow commands, which the service shows beside the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterable

from sexpgpu.diagnostics.diagnostic import Diagnostic


def render_github(diagnostics: Iterable[Diagnostic]) -> str:
    return "".join(_command(diagnostic) + "\n" for diagnostic in diagnostics)


def _command(diagnostic: Diagnostic) -> str:
    properties = {"title": diagnostic.code}
    if diagnostic.primary:
        span = diagnostic.primary.span
        properties |= {"file": span.file, "line": str(span.line), "endLine": str(span.end_line)}
        if span.line == span.end_line:   # columns are refused for several lines
            properties |= {"col": str(span.column), "endColumn": str(span.end_column)}
    lines = [diagnostic.message, *diagnostic.notes, *([f"fix: {diagnostic.fix.text}"] if diagnostic.fix else [])]
    shown = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{diagnostic.severity.name.lower()} {shown}::{_escaped(chr(10).join(lines))}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
