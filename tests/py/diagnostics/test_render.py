"""The faces of a diagnostic: the text layout, its hard cases, and the formats that programs read."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sexpgpu.diagnostics import CODES, Diagnostic, Edit, Fix, Frame, Label, SourceFile, SourceMap, Span
from sexpgpu.diagnostics.emit import FORMATS, emit, exit_status, terminal_width, use_color
from sexpgpu.diagnostics.house_style import check_message
from sexpgpu.diagnostics.render_json import to_lsp
from sexpgpu.diagnostics.render_text import render_short, render_text

TEXT = """(defun f (x)
  (g x
     (h x)))
\t(wide "日本" y) ; tab and wide
(long """ + "a" * 300 + """ z)
"""


def sources():
    found = SourceMap()
    found.add(SourceFile("a.sexp", TEXT))
    found.add(SourceFile("b.sexp", "(one)\n(two)\n"))
    return found


def span(line, column, end_line, end_column, file="a.sexp"):
    return Span(file, line, column, end_line, end_column)


def text_of(*labels, width=80, **rest):
    primary, *secondary = labels
    diagnostic = Diagnostic("E-READ-001", "something is wrong", primary, tuple(secondary), **rest)
    return render_text([diagnostic], sources(), width=width).split("\n", 1)[1].rsplit("\n\n", 1)[0]


def test_the_documented_layout():
    assert text_of(Label(span(4, 2, 4, 6), "here"), Label(span(1, 2, 1, 7), "there"), notes=("one\ntwo",),
                   chain=(Frame("model", span(1, 8, 1, 9)), Frame("g", span(2, 1, 2, 2, "b.sexp"))),
                   fix=Fix("do it")) == """\
  --> a.sexp:4:2
   |
 1 | (defun f (x)
   |  ----- there
...
 4 |     (wide "日本" y) ; tab and wide
   |     ^^^^ here
   |
  note: one
        two
  call chain: model → g (b.sexp:2)
  fix: do it"""


def test_wide_characters_and_tabs_align():
    assert text_of(Label(span(4, 13, 4, 14), "y")).splitlines()[-1] == "   |                  ^ y"


def test_labels_of_one_line_are_stacked():
    assert text_of(Label(span(2, 3, 2, 7), "all"), Label(span(2, 4, 2, 5), "g"), Label(span(2, 6, 2, 7), "x")) == """\
  --> a.sexp:2:3
   |
 2 |   (g x
   |   ^^^^ all
   |    - g
   |      - x"""


def test_several_lines_and_nesting():
    assert text_of(Label(span(1, 1, 3, 13), "whole"), Label(span(2, 3, 3, 12), "part")) == """\
  --> a.sexp:1:1
   |
 1 | /  (defun f (x)
 2 | |/   (g x
 3 | ||      (h x)))
   | ||____________^ whole
   |  |___________- part"""


def test_other_files_follow():
    assert text_of(Label(span(1, 2, 1, 7), "here"), Label(span(2, 1, 2, 6, "b.sexp"), "there")).splitlines()[3:] == [
        "   |  ^^^^^ here", "  ::: b.sexp:2:1", "   |", " 2 | (two)", "   | ----- there"]


def test_a_long_line_is_cut_around_its_label():
    rows = text_of(Label(span(5, 308, 5, 309), "the end"), width=60).splitlines()
    assert len(rows[2]) <= 60 and rows[2].startswith(" 5 | …aaa") and rows[2].endswith("z)")
    assert rows[3].index("^") == rows[2].index("z")


def test_a_label_that_does_not_fit_goes_below():
    rows = text_of(Label(span(1, 8, 1, 13), "a label that is rather long for a narrow terminal"), width=50).splitlines()
    assert rows[3].rstrip().endswith("^^^^^") and all(len(row) <= 50 for row in rows)


def test_control_characters_are_shown_not_sent():
    found = SourceMap()
    found.add(SourceFile("a.sexp", "a \x1b[31m \u202e b"))
    diagnostic = Diagnostic("E-READ-013", "x", Label(span(1, 3, 1, 4), ""))
    assert not set("\x1b\u202e") & set(render_text([diagnostic], found))


def test_summary_and_short():
    error, warning = Diagnostic("E-READ-001", "a", Label(span(1, 2, 1, 3))), Diagnostic("W-CONTRACT-019", "b")
    assert render_text([error, error, warning], sources()).endswith("\n\n2 errors, 1 warning\n")
    assert render_text([], sources()) == ""
    assert render_short([error, warning]) == "a.sexp:1:2: error[E-READ-001]: a\nwarning[W-CONTRACT-019]: b\n"
    assert exit_status([warning]) == 0 and exit_status([warning, error]) == 1


def test_json_is_an_lsp_diagnostic():
    diagnostic = Diagnostic("E-READ-005", "m", Label(span(2, 3, 2, 7), "l"), (Label(span(1, 1, 1, 2), "s"),), ("n",),
                            (Frame("f", span(1, 1, 1, 2)),), Fix("x", (Edit(span(2, 3, 2, 4), "y"),), safe=True))
    assert to_lsp(diagnostic) == {
        "file": "a.sexp", "range": {"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 6}},
        "severity": 1, "code": "E-READ-005", "source": "sexpc", "message": "m",
        "relatedInformation": [{"location": {"file": "a.sexp", "range": {
            "start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}}, "message": "s"}],
        "data": {"label": "l", "notes": ["n"], "fix": "x", "safe": True,
                 "chain": [{"name": "f", "file": "a.sexp", "range": {
                     "start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}}],
                 "edits": [{"file": "a.sexp", "range": {"start": {"line": 1, "character": 2},
                                                        "end": {"line": 1, "character": 3}}, "newText": "y"}]}}


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_goes_to_its_stream(format, capsys):
    emit([Diagnostic("E-READ-001", "a, 100%: b", Label(span(1, 2, 1, 3), "here"), fix=Fix("c"))], sources(), format)
    out, err = capsys.readouterr()
    assert bool(out) == (format in ("json", "sarif", "github")) and bool(err) != bool(out)
    if format == "sarif":
        document = json.loads(out)
        [result] = document["runs"][0]["results"]
        assert document["version"] == "2.1.0"
        assert result["locations"][0]["physicalLocation"]["region"]["startColumn"] == 2
    if format == "github":
        assert out == "::error title=E-READ-001,file=a.sexp,line=1,endLine=1,col=2,endColumn=3::a, 100%25: b%0Afix: c\n"


def test_colour_and_width(monkeypatch, capsys):
    import sys
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    assert not use_color(sys.stderr) and terminal_width(sys.stderr) == 120
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "77")
    assert use_color(sys.stderr) and terminal_width(sys.stderr) == 77
    emit([Diagnostic("E-READ-001", "a", Label(span(1, 2, 1, 3), "here"))], sources())
    assert "\x1b[1;31m" in capsys.readouterr().err
    monkeypatch.setenv("NO_COLOR", "1")
    assert not use_color(sys.stderr)


def test_house_style_finds_what_it_is_for():
    bad = Diagnostic("E-READ-001", "You should not.", Label(span(1, 1, 1, 2), "Here"), fix=Fix("Do it."))
    assert len(check_message(bad)) == 5
    good = Diagnostic("E-READ-001", "`Should.` is a name", fix=Fix("did you mean `x`?"))
    assert check_message(good) == []


def test_the_registry_is_in_order():
    for name, code in CODES.items():
        severity, family, number = name.split("-")
        assert severity in "EW" and family.isupper() and len(number) == 3 and int(number) > 0
        assert code.title[0].islower() or code.title.split()[0].isupper(), f"{name}: {code.title}"
        assert not code.title.endswith(".") and code.meaning.endswith("."), name


coordinates = st.integers(-2, 400)


any_span = st.builds(Span, st.sampled_from(["a.sexp", "b.sexp", "gone"]), *[coordinates] * 4)


@given(st.lists(any_span, min_size=1, max_size=5), st.integers(10, 200))
@settings(max_examples=300, deadline=None)
def test_any_spans_render(spans, width):
    """Even spans that are wrong: a renderer is the last thing that may fail."""
    labels = [Label(s, f"label {i}") for i, s in enumerate(spans)]
    text = render_text([Diagnostic("E-READ-001", "m", labels[0], tuple(labels[1:]))], sources(), width=width)
    assert all(f"label {i}" in " ".join(text.split()).replace(" | ", " ") for i in range(len(labels)) if width > 60)
