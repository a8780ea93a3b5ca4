"""Texts that nobody wrote: no traceback, every place within its file, every fix applicable, the same output twice."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mistakes import EXAMPLES
from sexpgpu.compiler.frontend.experiment import check
from sexpgpu.compiler.frontend.repair import repaired
from sexpgpu.diagnostics import SourceMap
from sexpgpu.diagnostics.edits import applied
from sexpgpu.diagnostics.emit import FORMATS
from sexpgpu.diagnostics.house_style import check_message
from sexpgpu.diagnostics.render_github import render_github
from sexpgpu.diagnostics.render_json import render_json
from sexpgpu.diagnostics.render_sarif import render_sarif
from sexpgpu.diagnostics.render_text import render_short, render_text

PATH = EXAMPLES / "linear/experiment.sexp"
TEXT = PATH.read_text(encoding="utf-8")
PIECES = ["(", ")", "[", "]", '"', ";", "'", "`", ",", ",@", "#|", "|#", "#;", ":", "1", "-", "0.5", "x", "nil", "\n",
          "\t", "日本", "\u200b", "\x00", "\r", "é", "(param", "(field", "(defun", "(loader", ":shape",
          "model", "matmul"]

changes = st.lists(st.tuples(st.integers(0, len(TEXT)), st.integers(0, 12), st.sampled_from(["", *PIECES])
                             | st.text(max_size=4)), min_size=1, max_size=4)


def changed(edits):
    text = TEXT
    for start, length, new in edits:
        text = text[:start] + new + text[start + length:]
    return text.encode("utf-8", "replace").decode()


def spoken(text):
    sources = SourceMap()
    _, found = check(PATH, overrides={}, sources=sources, module=False, texts={str(PATH): text})
    return repaired(PATH, {}, sources, found), sources


def renderings(found, sources):
    for width in (40, 110):
        yield render_text(found, sources, width=width)
    yield from (render_short(found), render_json(found), render_sarif(found), render_github(found))


def hold(text):
    found, sources = spoken(text)
    texts = {s.name: s.text for s in sources}
    for d in found:
        assert check_message(d) == []
        labels = [*([d.primary] if d.primary else []), *d.secondary]
        edits = d.fix.edits if d.fix else ()
        for span in (*(label.span for label in labels), *(edit.span for edit in edits), *(f.call for f in d.chain)):
            lines = texts[span.file].split("\n")
            assert (1, 1) <= (span.line, span.column) <= (span.end_line, span.end_column)
            assert span.end_line <= len(lines) and span.end_column <= len(lines[span.end_line - 1]) + 1
        if edits:
            applied(texts, edits)
    shown = list(renderings(found, sources))
    assert len(shown) == len(FORMATS) + 1
    again, sources = spoken(text)
    assert list(renderings(again, sources)) == shown


@given(changes)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_changed_bytes(edits):
    hold(changed(edits))


@pytest.mark.slow
@given(changes)
@settings(max_examples=2_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_changed_bytes_for_long(edits):
    hold(changed(edits))
