"""What a wrong call is told: code, place, notes and fix."""

import numpy as np
import pytest
from language import FILE, diagnose, floats

A, B, IDS, MASK = floats(4, 8), floats(3, 4), np.zeros((4,), np.int32), np.ones((4, 8), bool)
ARGUMENTS = {"a": A, "b": B, "ids": IDS, "mask": MASK, "half": A.astype(np.float16), "cube": floats(2, 4, 8)}

#: The expression, its code, and the text that its one error underlines.
CASES = {
    "(+ a b)": ("E-SHAPE-001", "b"), "(+ a ids)": ("E-TYPE-004", "ids"), "(+ a half)": ("E-TYPE-004", "half"),
    "(+ ids 0.5)": ("E-TYPE-005", "0.5"), "(* ids 2.0)": ("E-TYPE-005", "2.0"), "(+ a \"x\")": ("E-TYPE-003", '"x"'),
    "(+ (cast ids :u8) 300)": ("E-TYPE-010", "300"), "(+ (cast ids :u8) -1)": ("E-TYPE-010", "-1"),
    "(* half 1e6)": ("E-TYPE-010", "1e6"), "(/ ids 2)": ("E-TYPE-011", "ids"), "(exp ids)": ("E-TYPE-007", "ids"),
    "(mean ids)": ("E-TYPE-007", "ids"), "(max mask)": ("E-TYPE-017", "mask"), "(any a)": ("E-TYPE-009", "a"),
    "(where a 1 2)": ("E-TYPE-009", "a"), "(not ids)": ("E-TYPE-009", "ids"),
    "(logical-and a mask)": ("E-TYPE-009", "a"),
    "(cast a :f23)": ("E-TYPE-001", ":f23"), "(zeros [2] :dtype :float)": ("E-TYPE-001", ":float"),
    "(sum a :axis 2)": ("E-SHAPE-003", "2"), "(sum a :axis [0 0])": ("E-SHAPE-003", "[0 0]"),
    "(sum a :axis 1.5)": ("E-TYPE-006", "1.5"), "(sum \"x\")": ("E-TYPE-002", '"x"'),
    "(sum [a b])": ("E-TYPE-002", "[a b]"),
    "(reshape a [5 7])": ("E-SHAPE-005", "[5 7]"), "(reshape a [-1 5])": ("E-SHAPE-005", "[-1 5]"),
    "(reshape a [-1 -1])": ("E-SHAPE-005", "[-1 -1]"), "(reshape a [4 0])": ("E-SHAPE-009", "0"),
    "(zeros [2 -3])": ("E-SHAPE-009", "-3"), "(zeros [2 1.5])": ("E-TYPE-006", "1.5"),
    "(zeros \"2\")": ("E-TYPE-013", '"2"'), "(zeros [(/ 5 2)])": ("E-TYPE-006", "(/ 5 2)"),
    "(transpose a [0])": ("E-SHAPE-007", "[0]"), "(transpose a [0 0])": ("E-SHAPE-007", "[0 0]"),
    "(transpose a [0 2])": ("E-SHAPE-007", "[0 2]"), "(squeeze a :axis 0)": ("E-SHAPE-005", "0"),
    "(broadcast-to a [4 4])": ("E-SHAPE-001", "[4 4]"), "(broadcast-to a [8])": ("E-SHAPE-001", "[8]"),
    "(concat [a b])": ("E-SHAPE-008", None), "(concat [])": ("E-TYPE-013", "[]"),
    "(concat [a 3])": ("E-TYPE-002", "[a 3]"),
    "(stack [a b])": ("E-SHAPE-008", None), "(concat [a half])": ("E-TYPE-004", None),
    "(split a 3)": ("E-SHAPE-011", "3"), "(split a [1 2])": ("E-SHAPE-011", "[1 2]"),
    "(slice a 1 0 9)": ("E-SHAPE-006", "9"), "(slice a 1 3 3)": ("E-SHAPE-006", "3"),
    "(slice a 2 0 1)": ("E-SHAPE-003", "2"), "(slice a 0 0 ids)": ("E-TYPE-006", "ids"),
    "(pad a [[0 0]])": ("E-SHAPE-004", "[[0 0]]"), "(take a 4 :axis 0)": ("E-SHAPE-006", "4"),
    "(take a a)": ("E-TYPE-008", "a"), "(embedding cube ids)": ("E-SHAPE-004", "cube"),
    "(one-hot ids 0)": ("E-SHAPE-009", "0"), "(one-hot a 3)": ("E-TYPE-008", "a"),
    "(take-along a (zeros [3 2] :dtype :i32))": ("E-SHAPE-013", "(zeros [3 2] :dtype :i32)"),
    "(matmul a a)": ("E-SHAPE-002", "a"), "(matmul a 2)": ("E-TYPE-002", "2"),
    "(matmul mask a)": ("E-TYPE-017", "mask"),
    "(matmul cube (zeros [3 8 2]))": ("E-SHAPE-001", "(zeros [3 8 2])"), "(dot a a)": ("E-SHAPE-004", "a"),
    '(einsum "ij,jk->ik" a b)': ("E-SHAPE-002", "b"), '(einsum "ij->k" a)': ("E-SHAPE-014", '"ij->k"'),
    '(einsum "ijk" a)': ("E-SHAPE-014", "a"), '(einsum "i.j" a)': ("E-SHAPE-014", '"i.j"'),
    "(arange 0)": ("E-SHAPE-009", "(arange 0)"), "(tril ids)": ("E-SHAPE-004", "ids"),
    "(random-normal [2] :dtype :i32)": ("E-TYPE-017", ":i32"), "(random-integers 3 3 [2])": ("E-SHAPE-006", "3"),
    # functions of the prelude are told at their call
    "(softmax ids)": ("E-TYPE-007", "(softmax ids)"), "(relu \"x\")": ("E-TYPE-003", '(relu "x")'),
    "(softmax a :axis 2)": ("E-SHAPE-003", "(softmax a :axis 2)"),
    "(cross-entropy a (zeros [4 1] :dtype :i32))": ("E-SHAPE-013", "(cross-entropy a (zeros [4 1] :dtype :i32))"),
    "(cross-entropy ids a)": ("E-TYPE-007", "(cross-entropy ids a)"),
    "(mse a (zeros [8]))": ("E-SHAPE-013", "(mse a (zeros [8]))"),
    "(linear a b)": ("E-SHAPE-002", "(linear a b)"), "(attention a a a)": ("E-SHAPE-004", "(attention a a a)"),
    "(layer-norm a ids nil)": ("E-TYPE-004", "(layer-norm a ids nil)"), "(he-normal [3])": ("E-SHAPE-004",
    "(he-normal [3])"),
    "(adamw)": ("E-VALUE-003", "(adamw)"), "(mse a a :reduce :total)": ("E-VALUE-003", "(mse a a :reduce :total)"),
}


def underlined(source, span):
    """The text of a span of the expression, which stands in the second line of the program."""
    assert (span.file, span.line, span.end_line) == (FILE, 2, 2), span
    return source[span.column - 1:span.end_column - 1]


@pytest.mark.parametrize("source", list(CASES))
def test_code_and_place(source):
    found = diagnose(source, ARGUMENTS)
    code, text = CASES[source]
    assert [d.code for d in found] == [code], [(d.code, d.message) for d in found]
    (d,) = found
    if text is not None:
        assert underlined(source, d.primary.span) == text
    assert d.message[0] in "`\"'" or d.message[0].islower() or d.message[0].isdigit() or d.message[0] in "[-:"
    assert not d.message.endswith(".")
    assert d.primary.text


def only(source):
    (found,) = diagnose(source, ARGUMENTS)
    return found


def applied(source, fix):
    """The source with the fix's edits made."""
    assert fix is not None and fix.edits
    for edit in sorted(fix.edits, key=lambda e: e.span.column, reverse=True):
        assert edit.span.line == 2
        source = source[:edit.span.column - 1] + edit.text + source[edit.span.end_column - 1:]
    return source


def test_shapes_are_drawn_aligned_with_the_axis_marked():
    d = only("(+ cube b)")
    assert d.notes[0] == ("left   [2 4 8]\n"
                          "right    [3 4]\n"
                          "            ^")
    assert d.notes[1] == "the 8 of left comes from axis 2 of the argument `cube` at test.sexp:90:1"
    assert d.notes[2] == "the 4 of right comes from axis 1 of the argument `b` at test.sexp:90:1"
    assert [s.text for s in d.secondary] == ["shape [2 4 8]"]


def test_a_product_marks_both_contracted_axes():
    d = only("(matmul cube b)")
    assert d.notes[0] == ("left   [2 4 8]\n"
                          "            ^\n"
                          "right    [3 4]\n"
                          "          ^")
    assert "rule: `matmul`: [… m k] [… k n] -> [… m n]" in d.notes


#: What the fix makes of the expression.
REPAIRED = {
    "(matmul a (zeros [3 8]))": "(matmul a (transpose (zeros [3 8])))",
    "(matmul cube (zeros [2 3 8]))": "(matmul cube (transpose (zeros [2 3 8]) [0 2 1]))",
    "(matmul (zeros [8 4]) a)": None,
    "(- a (mean a :axis 1))": "(- a (mean a :axis 1 :keep true))",
    "(* (take a 0) (cast ids :i32))": None,
    "(* a (zeros [8] :dtype :i32))": "(* a (cast (zeros [8] :dtype :i32) :f32))",
    "(+ ids 0.5)": "(+ (cast ids :f32) 0.5)",
    "(* ids 2.0)": "(* ids 2)",
    "(exp ids)": "(exp (cast ids :f32))",
    "(slice a 1 0 9)": "(slice a 1 0 8)",
    "(sum a :axis 2)": "(sum a :axis -1)",
    "(concat [a (zeros [4 3])])": None,
    "(concat [a (zeros [4 3])] :axis 0)": "(concat [a (zeros [4 3])] :axis 1)",
    "(where a 1.0 2.0)": "(where (/= a 0) 1.0 2.0)",
    "(reshape cube [(dim cube 0) 31])": "(reshape cube [(dim cube 0) 32])",
    "(* cube (mean cube :axis [1 2]))": "(* cube (mean cube :axis [1 2] :keep true))",
    "(+ (zeros [4 8]) (zeros [8 4]))": "(+ (transpose (zeros [4 8])) (zeros [8 4]))",
    "(* a (zeros [4]))": "(* a (expand-dims (zeros [4]) -1))",
}


@pytest.mark.parametrize("source", [s for s, r in REPAIRED.items() if r])
def test_the_fix_repairs(source):
    repaired = applied(source, only(source).fix)
    assert repaired == REPAIRED[source]
    assert diagnose(repaired, ARGUMENTS) == []


def test_dtypes_are_listed_with_the_nearest():
    fix = only("(cast a :f23)").fix.text
    for name in ("f32", "bf16", "i64", "u8", "bool"):
        assert f":{name}" in fix
    assert "did you mean `:f32`?" in fix


def test_targets_of_one_axis_too_many():
    d = only("(cross-entropy a (expand-dims ids -1))")
    assert d.message == "`cross-entropy` of logits [4 8] and targets [4 1]"
    assert "squeeze" in d.fix.text
    assert any("class numbers have the shape of the logits without the last axis" in n for n in d.notes)


def test_an_error_in_the_prelude_shows_the_users_tensors():
    d = only("(linear a (zeros [3 5]))")
    assert underlined("(linear a (zeros [3 5]))", d.primary.span) == "(linear a (zeros [3 5]))"
    texts = [s.text for s in d.secondary]
    assert "shape [4 8]" in texts and "shape [3 5]" in texts


def test_the_origin_of_a_size_inside_the_prelude_is_the_users_call():
    d = only("(+ (gelu (linear a (zeros [8 5]))) b)")
    assert not any("<prelude>" in note for note in d.notes)
