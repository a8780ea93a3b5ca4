"""Compile-time lists, plists, strings, and the functions over them."""

import math

import pytest
from sexpgpu.compiler.frontend.data import Keyword

VALUES = [
    ("(list 1 :a nil)", (1, Keyword("a"), None)), ("(vector)", ()),
    ("(first [1 2])", 1), ("(rest [1 2])", (2,)), ("(rest [])", ()), ("(last [1 2])", 2), ("(nth [5 6 7] 1)", 6),
    ("(nth [5 6 7] -1)", 7), ("(len [1 2 3])", 3), ("(len \"größe\")", 5), ("(len nil)", 0),
    ("(concat-lists [1] nil [2 3])", (1, 2, 3)), ("(reverse [1 2])", (2, 1)),
    ("(get (list :a 1 :b 2) :b)", 2), ("(get (list :a 1) :c 7)", 7), ("(get (list :a nil) :a 7)", None),
    ("(get (list :default 1) :default)", 1), ("(get nil :a 3)", 3),
    ("(assoc (list :a 1) :b 2)", (Keyword("a"), 1, Keyword("b"), 2)), ("(assoc (list :a 1) :a 2)", (Keyword("a"), 2)),
    ("(merge (list :a 1 :b 2) (list :a 3))", (Keyword("a"), 3, Keyword("b"), 2)), ("(merge)", ()),
    ("(keys (list :a 1 :b 2))", (Keyword("a"), Keyword("b"))), ("(vals (list :a 1 :b 2))", (1, 2)),
    ("(range 3)", (0, 1, 2)), ("(range 1 4)", (1, 2, 3)), ("(range 5 0 -2)", (5, 3, 1)), ("(range 0)", ()),
    ("(range 5 :step 2)", (0, 2, 4)), (f"(range {-10**30})", ()),
    ("(range :start 1 :end 3)", (1, 2)),
    ("(map (fn (x) (* x 2)) [1 2])", (2, 4)), ("(map + [1 2] [10 20 30])", (11, 22)),
    ("(filter (fn (x) (> x 1)) [1 2 3])", (2, 3)), ("(reduce + [1 2 3])", 6), ("(reduce (fn (a x) (list a x)) [1] nil)",
                                                                              (None, 1)),
    ("(reduce + [] 5)", 5), ("(apply + [1 2])", 3),
    ("(str \"a\" 1 :k 2.5 nil true [1 \"x\"])", 'a1:k2.5niltrue[1 "x"]'), ("(str)", ""),
    ("(format \"~a-~s-~d-~,2f~%~~\" \"x\" \"y\" 3 1.5)", 'x-"y"-3-1.50\n~'), ("(format \"plain\")", "plain"),
    ("(nil? nil)", True), ("(list? [1])", True), ("(number? 1)", True), ("(number? true)", False),
    ("(string? \"\")", True), ("(keyword? :a)", True), ("(function? map)", True), ("(tensor? 1)", False),
]


@pytest.mark.parametrize(("text", "expected"), VALUES, ids=[text for text, _ in VALUES])
def test_value(value, text, expected):
    assert value(text) == expected


WRONG = [
    ("(first [])", "E-VALUE-001"), ("(nth [1] 1)", "E-VALUE-001"), ("(nth 0 [1])", "E-TYPE-013"),
    ("(first 3)", "E-TYPE-013"), ("(len 3)", "E-TYPE-013"), ("(nth [1] 0.5)", "E-TYPE-006"),
    ("(get (list :a 1) :b)", "E-VALUE-006"), ("(get [1 2] :a)", "E-TYPE-013"),
    ("(get (list :a 1) \"a\")", "E-TYPE-013"),
    ("(merge [1])", "E-TYPE-013"), ("(assoc nil 1 2)", "E-TYPE-013"),
    ("(range 1.5)", "E-TYPE-006"), ("(range 0 5 0)", "E-VALUE-001"), ("(range 100000000)", "E-VALUE-005"),
    (f"(range -1 {10**22})", "E-VALUE-005"),
    ("(reduce + [])", "E-VALUE-001"), ("(map 3 [1])", "E-TYPE-015"), ("(filter (fn () 1) [1])", "E-ARITY-001"),
    ("(format 3)", "E-TYPE-013"), ("(format \"~a\")", "E-ARITY-002"), ("(format \"x\" 1)", "E-ARITY-001"),
    ("(format \"~q\" 1)", "E-TYPE-013"), ("(format \"~d\" 1.5)", "E-TYPE-013"),
    ("(assert (= 1 2))", "E-VALUE-002"), ("(assert false \"no\")", "E-VALUE-002"),
    ("(error \"broken\")", "E-VALUE-003"),
    ("(error \"broken: ~a\" 3)", "E-VALUE-003"),
    ("(first [1] [2])", "E-ARITY-001"), ("(first)", "E-ARITY-002"), ("(range 3 :stop 4)", "E-ARITY-003"),
    ("(range :start)", "E-ARITY-004"), ("(range 1 :start 2)", "E-ARITY-005"),
    ("(apply + 3)", "E-TYPE-013"),
]


@pytest.mark.parametrize(("text", "code"), WRONG, ids=[text for text, _ in WRONG])
def test_wrong(wrong, text, code):
    assert wrong(text) == [code]


def test_one_wrong_element_does_not_silence_the_others(wrong, value):
    assert wrong("(list (first []) (nth [1] 5))") == ["E-VALUE-001", "E-VALUE-001"]
    assert wrong("(+ 1 (first (list 2 (first []))))") == ["E-VALUE-001"]


def test_print_writes_to_stderr_and_gives_its_last_value(value, capsys):
    assert value("(print \"width\" 3)") == 3
    assert capsys.readouterr().err == "width 3\n"


def test_messages_of_the_program_are_shown_whole(tmp_path):
    from frontend_support import evaluate
    _, found = evaluate('(error "~a rows are too few" 3)', tmp_path)
    assert found[0].message == "3 rows are too few"
    _, found = evaluate('(error "100~ of nothing")', tmp_path)
    assert found[0].message == "100~ of nothing"


def test_numbers_remember_where_they_came_from(value):
    width, plain, made = value("(list width 5 (len [1 2]))", "(defvar width 32)")
    assert width == 32
    assert width.origin.text == "the defvar `width`"
    assert plain.origin.text == "the number 5"
    assert made.origin.text == "this `len`"
    assert math.isinf(value("inf"))
