"""No text makes a traceback, and every span lies in its text."""

from hypothesis import given, settings
from hypothesis import strategies as st
from sexpgpu.compiler.frontend.data import Form
from sexpgpu.compiler.frontend.reader import read
from sexpgpu.diagnostics import SourceFile, SourceMap
from sexpgpu.diagnostics.house_style import check_message
from sexpgpu.diagnostics.render_json import render_json
from sexpgpu.diagnostics.render_sarif import render_sarif
from sexpgpu.diagnostics.render_text import render_text

#: Pieces whose neighbourhoods are where readers go wrong.
PIECES = [
    "(", ")", "[", "]", "{", "}", "'", "`", ",", ",@", "#;", "#|", "|#", ";", '"', "\\", "\\u{", "\n", "\r\n", "\t",
    " ", "#t", ":", ":a", "a", "1", "0.0.1", "-", "(defun f", "(defvar", "日", "\0", "\u00a0", "\ufeff", "“", "e\u0301",
]

texts = st.one_of(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.text(max_size=80))


def in_file(span, lines):
    assert 1 <= span.line <= span.end_line <= len(lines)
    assert 1 <= span.column <= len(lines[span.line - 1]) + 1
    assert 1 <= span.end_column <= len(lines[span.end_line - 1]) + 1
    assert (span.line, span.column) <= (span.end_line, span.end_column)


def spans_of(datum):
    yield datum.span
    if isinstance(datum, Form):
        for item in datum.items:
            yield from spans_of(item)


@given(texts)
@settings(max_examples=400, deadline=None)
def test_any_text_reads(text):
    source, found, sources = SourceFile("t", text), [], SourceMap()
    sources.add(source)
    data = read(source, found.append)
    lines = text.split("\n")
    for datum in data:
        for span in spans_of(datum):
            in_file(span, lines)
    for diagnostic in found:
        assert check_message(diagnostic) == []
        for span in [diagnostic.primary.span, *(label.span for label in diagnostic.secondary),
                     *(edit.span for edit in (diagnostic.fix.edits if diagnostic.fix else ()))]:
            in_file(span, lines)
    assert found == sorted(found, key=lambda d: d.primary.span[1:3])
    for width in (40, 120):
        render_text(found, sources, width=width, color=width == 40)
    render_json(found)
    render_sarif(found)
