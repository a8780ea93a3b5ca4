"""Every reading rule, and the spans of what was read."""

import math
from pathlib import Path

import pytest
from sexpgpu.compiler.frontend.data import Atom, Form, Keyword, Symbol
from sexpgpu.compiler.frontend.reader import MAX_DEPTH, read
from sexpgpu.compiler.frontend.reader_files import load_source
from sexpgpu.diagnostics import SexpError, SourceFile, SourceMap
from sexpgpu.diagnostics.house_style import check_message


def read_text(text):
    found = []
    data = read(SourceFile("t.sexp", text), found.append)
    for diagnostic in found:
        assert check_message(diagnostic) == []
    return data, found


def plain(datum):
    """A datum as nested Python lists; `[…]` is a tuple with the bracket first."""
    if isinstance(datum, Atom):
        return datum.value
    items = [plain(item) for item in datum.items]
    return items if datum.bracket == "(" else ("[", *items)


def values(text):
    data, found = read_text(text)
    assert not found, found
    return [plain(datum) for datum in data]


def codes(text):
    return [(d.code, str(d.primary.span)[7:]) for d in read_text(text)[1]]


@pytest.mark.parametrize("text, value", [
    ("42", 42), ("-3", -3), ("+7", 7), ("1_000_000", 1000000), ("1.5", 1.5), ("1e-3", 1e-3), ("-2.5E+2", -250.0),
    (".5", 0.5), ("1.", 1.0), ("1_0.2_5", 10.25), ("inf", math.inf), ("-inf", -math.inf), ("true", True),
    ("false", False), ("nil", None), (":name", Keyword("name")), ("->>", Symbol("->>")), ("-", Symbol("-")),
    ("...", Symbol("...")), ("&optional", Symbol("&optional")), ("λ", Symbol("λ")), ("größe", Symbol("größe")),
    ('"a\\n\\t\\"\\\\\\u{1F600}b"', 'a\n\t"\\\U0001f600b'), ('"two\nlines"', "two\nlines"), ('""', ""),
])
def test_atoms(text, value):
    [got] = values(text)
    assert got == value and type(got) is type(value)


def test_nan():
    assert math.isnan(values("nan")[0])


def test_forms_and_prefixes():
    quote, unquote = Symbol("quote"), Symbol("unquote")
    assert values("(f a [1 (g)])") == [[Symbol("f"), Symbol("a"), ("[", 1, [Symbol("g")])]]
    assert values("'x ''y") == [[quote, Symbol("x")], [quote, [quote, Symbol("y")]]]
    assert values("`(a ,b ,@c)") == [[Symbol("quasiquote"), [
        Symbol("a"), [unquote, Symbol("b")], [Symbol("unquote-splicing"), Symbol("c")]]]]


def test_comments():
    assert values("1 ; two (\n3 #| #| 4 |# \" ( |# 5 #;(6 #;7) 8") == [1, 3, 5, 8]
    assert values("#;#;1 2 3") == [3]
    assert values("'#;1 2") == [[Symbol("quote"), 2]]
    assert values('"#| is no comment" ; nor #| here\n1') == ["#| is no comment", 1]
    assert values("a;c") == [Symbol("a")]


def test_spans_count_characters():
    data, _ = read_text('\t(größe "日本"\n  #| x\n |# b)\r\nc')
    form, last = data
    assert form.span[1:] == (1, 2, 3, 7)
    assert [item.span[1:] for item in form.items] == [(1, 3, 1, 8), (1, 9, 1, 13), (3, 5, 3, 6)]
    assert last.span[1:] == (4, 1, 4, 2)
    quoted = read_text("  'ab")[0][0]
    assert quoted.span[1:] == (1, 3, 1, 6) and quoted.items[0].span[1:] == (1, 3, 1, 4)
    assert read_text('"a\n b" c')[0][1].span[1:] == (2, 5, 2, 6)


def test_byte_order_mark_is_a_blank():
    data, found = read_text("\ufeff(a)")
    assert not found and data[0].span.column == 2


@pytest.mark.parametrize("text, expected", [
    ('"abc', [("E-READ-001", "1:1")]),
    ('(a "x\\")', [("E-READ-001", "1:4")]),
    ('(a "b)\n(c "d" 0.0.1)', [("E-READ-001", "1:4")]),
    ("(a", [("E-READ-002", "1:1")]),
    ("(defun f (x)\n  (g x)\n(defun h (x) x)", [("E-READ-002", "1:1")]),
    ("(a (b\n    c)\n  d", [("E-READ-002", "1:1")]),
    ("a))\n)", [("E-READ-003", "1:2"), ("E-READ-003", "2:1")]),
    ("(a]", [("E-READ-004", "1:3")]),
    ("(defvar a [1)\n(defvar b (2])", [("E-READ-004", "1:13"), ("E-READ-004", "2:13")]),
    ('"\\q" "\\u{110000}" "\\u12"', [("E-READ-005", "1:2"), ("E-READ-005", "1:7"), ("E-READ-005", "1:20")]),
    ("0.0.1 1_ 1__0 3d -4x", [("E-READ-006", f"1:{c}") for c in (1, 7, 10, 15, 18)]),
    ("1" * 1001, [("E-READ-006", "1:1")]),
    ("#t { } : a:b ::c . #\\a |x|", [("E-READ-007", f"1:{c}") for c in (1, 4, 6, 8, 10, 14, 18, 20, 24)]),
    ("(a #;)", [("E-READ-008", "1:4")]),
    ("'", [("E-READ-008", "1:1")]),
    ("1 #| #| |#", [("E-READ-009", "1:3")]),
    ("a\0b \u201cx", [("E-READ-013", "1:2"), ("E-READ-013", "1:5")]),
    ('"a\0"', [("E-READ-013", "1:3")]),
])
def test_errors(text, expected):
    assert codes(text) == expected


def test_bad_escapes_are_all_reported_and_reading_goes_on():
    data, found = read_text('(a "\\x" "\\y")\n(b)')
    assert [d.code for d in found] == ["E-READ-005"] * 2
    assert isinstance(data[1], Form)


def test_depth_is_bounded():
    assert codes("(" * MAX_DEPTH + ")" * MAX_DEPTH) == []
    assert codes("(" * 100_000) == [("E-READ-012", f"1:{MAX_DEPTH + 1}")]
    assert codes("'" * 100_000 + "a") == [("E-READ-012", f"1:{MAX_DEPTH + 1}")]


def test_edits_repair():
    """Applying what a fix offers gives a text that reads."""
    for text in ("(a 0x1F)", "(a #t)", "(a [1 2)", '(a "\\d")', "(defun f (x)\n  (g x)\n(defvar y 1)", "(a {)",
                 "(a 1/2)"):
        _, found = read_text(text)
        lines = text.split("\n")
        for edit in (edit for d in found[:1] for edit in d.fix.edits):
            line = lines[edit.span.line - 1]
            lines[edit.span.line - 1] = line[:edit.span.column - 1] + edit.text + line[edit.span.end_column - 1:]
        fixed = "\n".join(lines).replace("[)", "[])")   # the curly bracket's partner
        assert codes(fixed) == [], fixed


@pytest.mark.parametrize("content, code", [
    (None, "E-READ-010"), (b"(a \xff)", "E-READ-011"), (b"\xef\xbb\xbf(a)", None)])
def test_files(tmp_path: Path, content, code):
    path = tmp_path / "a.sexp"
    if content is not None:
        path.write_bytes(content)
    sources = SourceMap()
    if code is None:
        assert load_source(path, "a.sexp", sources).text == "(a)"
        return
    with pytest.raises(SexpError) as caught:
        load_source(path, "a.sexp", sources)
    [diagnostic] = caught.value.diagnostics
    assert diagnostic.code == code and check_message(diagnostic) == []
    if code == "E-READ-011":
        assert diagnostic.primary.span[1:3] == (1, 4)


def test_a_folder_and_a_near_name(tmp_path: Path):
    (tmp_path / "nets.sexp").write_text("")
    for name, words in ((".", "folder"), ("net.sexp", "does not exist")):
        with pytest.raises(SexpError, match=words) as caught:
            load_source(tmp_path / name, name, SourceMap())
    assert "nets.sexp" in caught.value.diagnostics[0].fix.text
