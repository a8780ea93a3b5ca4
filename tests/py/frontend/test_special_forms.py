"""Every special form: what it gives, and what a malformed one reports."""

import pytest
from sexpgpu.compiler.frontend.data import Keyword, Symbol
from sexpgpu.compiler.frontend.special import SPECIAL
from sexpgpu.compiler.frontend.values import Closure

VALUES = [
    # let, let*
    ("(let ((a 1) (b 2)) (+ a b))", 3),
    ("(let ((a 1)) (let ((a 2) (b a)) b))", 1),
    ("(let* ((a 1) (b (+ a 1)) (a (* b 10))) (+ a b))", 22),
    ("(let () 5)", 5),
    # functions
    ("((fn (x) (* x x)) 7)", 49),
    ("((lambda (x &optional (y (+ x 1))) (list x y)) 1)", (1, 2)),
    ("((lambda (x &key (k 3) j) (list x k j)) 1 :j 9)", (1, 3, 9)),
    ("((fn (&rest xs) xs) 1 :a 2)", (1, Keyword("a"), 2)),
    ("(let ((make (fn (n) (fn (x) (+ x n))))) ((make 3) 4))", 7),
    # choice
    ("(if true 1 2)", 1), ("(if nil 1 2)", 2), ("(if 0 1 2)", 1), ("(if false 1)", None),
    ("(cond (false 1) ((= 1 1) 2) (else 3))", 2), ("(cond (nil 1) (else 2 3))", 3), ("(cond (5))", 5),
    ("(cond (false 1) (true 4))", 4), ("(cond)", None),
    ("(when true 1 2)", 2), ("(when nil 1)", None), ("(unless nil 1 2)", 2), ("(unless 1 2)", None),
    ("(case :b (:a 1) (:b 2) (else 3))", 2), ("(case 3 ((1 2) 10) ((3 4) 20))", 20), ("(case \"z\" (\"y\" 1))", None),
    ("(case 'x (x 1) (else 2))", 1), ("(case 1 (true 5))", 5),
    ("(and)", True), ("(and 1 2)", 2), ("(and 1 nil 2)", None), ("(or)", False), ("(or nil 3 4)", 3),
    ("(or false nil)", None), ("(not 3)", False), ("(not nil)", True),
    # sequence
    ("(progn 1 2)", 2), ("(do)", None), ("()", None),
    ("(-> 5 (- 2) neg)", -3), ("(->> 5 (- 2))", -3), ("(-> [1 2 3] rest first)", 2),
    # loops
    ("(for [i (range 3)] (* i i))", (0, 1, 4)),
    ("(for [i (range 2) j [:a :b]] (list i j))", ((0, Keyword("a")), (0, Keyword("b")), (1, Keyword("a")),
                                                  (1, Keyword("b")))),
    ("(map (fn (f) (f)) (for [i (range 3)] (fn () i)))", (0, 1, 2)),
    ("(dotimes (i 3) i)", None),
    ("(remat 1 2)", 2), ("(remat [1 :a])", (1, Keyword("a"))),
    # quotes
    ("'(a 1 \"s\" :k)", (Symbol("a"), 1, "s", Keyword("k"))),
    ("`(a ,(+ 1 2) ,@(list 4 5) [b ,7])", (Symbol("a"), 3, 4, 5, (Symbol("b"), 7))),
    ("`(1 ,@nil 2)", (1, 2)),
    ("(nth `(a `(b ,(c ,(+ 1 2)))) 0)", Symbol("a")),
    ("(scope \"a\" 5)", 5),
    ("[1 (+ 1 1) [3]]", (1, 2, (3,))),
]


@pytest.mark.parametrize(("text", "expected"), VALUES, ids=[text for text, _ in VALUES])
def test_value(value, text, expected):
    assert value(text) == expected


MALFORMED = [
    ("(let (x 1) x)", "E-ARITY-006"), ("(let ((x 1)))", "E-ARITY-006"), ("(let ((1 x)) x)", "E-ARITY-006"),
    ("(let)", "E-ARITY-006"), ("(let ((x 1) (x 2)) x)", "E-NAME-003"), ("(let* ((x)) x)", "E-ARITY-006"),
    ("(if)", "E-ARITY-006"), ("(if 1 2 3 4)", "E-ARITY-006"), ("(when)", "E-ARITY-006"),
    ("(cond 1)", "E-ARITY-006"), ("(cond ())", "E-ARITY-006"), ("(case)", "E-ARITY-006"), ("(case 1 2)", "E-ARITY-006"),
    ("(fn (x))", "E-ARITY-006"), ("(fn x x)", "E-ARITY-007"), ("(fn (1) 1)", "E-ARITY-007"),
    ("(fn (&optional a &key b) a)", "E-ARITY-007"), ("(fn (&rest) 1)", "E-ARITY-007"),
    ("(fn (&foo a) 1)", "E-ARITY-007"),
    ("(fn (a a) 1)", "E-NAME-003"), ("(fn (&rest a b) 1)", "E-ARITY-007"),
    ("(for [i] 1)", "E-ARITY-006"), ("(for i 1)", "E-ARITY-006"), ("(for [1 (range 2)] 1)", "E-ARITY-006"),
    ("(for [i 5] i)", "E-TYPE-013"), ("(dotimes (i) 1)", "E-ARITY-006"), ("(dotimes (i 1.5) 1)", "E-TYPE-006"),
    ("(dotimes (i 10000000) 1)", "E-VALUE-005"),
    ("(quote)", "E-ARITY-006"), ("(quote 1 2)", "E-ARITY-006"), (",x", "E-ARITY-006"), ("`(1 ,@2)", "E-TYPE-013"),
    ("(->)", "E-ARITY-006"), ("(-> 1 2)", "E-ARITY-006"), ("(scope \"a\")", "E-ARITY-006"),
    ("(scope 1.5 2)", "E-TYPE-013"),
    ("(defun f (x) x)", "E-ARITY-006"), ("if", "E-NAME-001"), ("(f 1)", "E-NAME-001"), ("(1 2)", "E-TYPE-015"),
    ("(\"a\")", "E-TYPE-015"),
]


@pytest.mark.parametrize(("text", "code"), MALFORMED, ids=[text for text, _ in MALFORMED])
def test_malformed(wrong, text, code):
    assert wrong(text) == [code]


def test_every_special_form_is_tried():
    text = " ".join(t for t, _ in (*VALUES, *MALFORMED)) + " quasiquote unquote unquote-splicing quote"
    assert [name for name in SPECIAL if f"({name}" not in text and name not in text] == []


def test_docstring_is_no_part_of_the_body(value):
    closure = value("f", '(defun f (x) "Gives x." x)')
    assert isinstance(closure, Closure)
    assert closure.code.doc == "Gives x."
    assert value("(f 3)", '(defun f (x) "Gives x." x)') == 3
    assert value("(f 3)", '(defun f (x) "only a string")') == "only a string"


def test_branches_that_are_not_taken_are_not_run(value):
    assert value('(if true 1 (error "never"))') == 1
    assert value('(or 1 (error "never"))') == 1


def test_names_in_branches_that_are_not_taken_are_checked(wrong):
    assert wrong("(if true 1 (nothing-such 2))") == ["E-NAME-001"]
