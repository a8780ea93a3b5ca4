"""Top-level definitions: order, names, includes, overrides, macros, recursion, and the prelude's own namespace."""

import pytest
from frontend_support import check_text, evaluate, experiment
from sexpgpu.compiler.frontend import budget
from sexpgpu.compiler.frontend.data import Keyword


def test_functions_may_stand_in_any_order(value):
    assert value("(f 3)", "(defun f (x) (g x)) (defun g (x) (* x k)) (defvar k 2)") == 6


def test_a_defvar_uses_what_stands_above(wrong):
    assert wrong("a", "(defvar a (+ b 1)) (defvar b 2)") == ["E-NAME-002"]
    assert wrong("a", "(defvar a (f)) (defun f () b) (defvar b 2)") == ["E-NAME-002"]
    assert wrong("a", "(defvar a (+ a 1))") == ["E-NAME-002"]
    # staged at each use, and used while it is expanded
    assert set(wrong("(m)", "(defvar a [a training?]) (defmacro m () a)")) == {"E-NAME-002"}
    assert set(wrong("a", "(defvar a [b training?]) (defvar b [a training?])")) == {"E-NAME-002"}


@pytest.mark.parametrize(("text", "code"), [
    ("(defvar a 1) (defvar a 2)", "E-NAME-003"), ("(defun a () 1) (defvar a 2)", "E-NAME-003"),
    ("(defvar)", "E-ARITY-006"), ("(defvar a)", "E-ARITY-006"), ("(defvar a 1 2)", "E-ARITY-006"),
    ("(defvar 3 1)", "E-ARITY-006"), ("(defun f)", "E-ARITY-006"), ("(defun f (x))", "E-ARITY-006"),
    ("(defun f x 1)", "E-ARITY-007"), ("(defun if (x) 1)", "E-NAME-005"), ("(defvar training? 1)", "E-NAME-005"),
    ("(include 3)", "E-ARITY-006"), ("(include \"nowhere.sexp\")", "E-READ-010"),
])
def test_wrong_definition(tmp_path, text, code):
    assert [d.code for d in evaluate(text, tmp_path)[1]] == [code]


def test_unknown_names_are_reported_once_each_and_with_a_suggestion(tmp_path):
    _, found = evaluate("(defun f (x) (matmull x (g y))) (defun g (x) (maen x))", tmp_path)
    assert [(d.code, d.primary.span.column) for d in found] == [("E-NAME-001", 15), ("E-NAME-001", 28),
                                                               ("E-NAME-001", 47)]
    assert found[0].fix.text == "did you mean `matmul`?"


def test_arguments_are_checked_in_functions_that_nothing_calls(tmp_path):
    _, found = evaluate("(defun f (x) (g x 2)) (defun g (x) (relu x :slope 1))", tmp_path)
    assert [d.code for d in found] == ["E-ARITY-001", "E-ARITY-003"]
    assert found[0].secondary[0].text == "`g` is defined here"


def test_a_variable_that_is_no_function_hides_no_function(value):
    assert value("(let ((first 3)) (first [first 4]))") == 3
    assert value("(len (range len))", "(defvar len 2)") == 2


def test_the_prelude_does_not_see_the_users_names(value, wrong):
    before = "(defun exp (x) (error \"the user's\")) (defun relu (x) :mine)"
    assert value("(relu 1)", before) == Keyword("mine")
    assert value("(softplus 0)", before) == pytest.approx(0.6931, abs=1e-4)


def test_includes_are_relative_and_read_once(tmp_path):
    lib = tmp_path / "lib"
    lib.mkdir()
    (lib / "a.sexp").write_text('(include "b.sexp") (defun double (x) (* x base))')
    (lib / "b.sexp").write_text("(defvar base 2)")
    value, found = evaluate('(include "lib/a.sexp") (include "lib/b.sexp") (defvar result (double 4))', tmp_path)
    assert (value, found) == (8, [])


def test_a_file_that_includes_itself(tmp_path):
    (tmp_path / "a.sexp").write_text('(include "expression.sexp")')
    _, found = evaluate('(include "a.sexp")', tmp_path)
    assert [(d.code, d.primary.span.file) for d in found] == [("E-READ-014", str(tmp_path / "a.sexp"))]


def test_overrides(tmp_path):
    text = experiment(extra="(defvar width 3) (defvar wide (* width 2)) (assert (= wide 10))")
    assert check_text(text, tmp_path, {"width": "5"})[1] == []
    _, found = check_text(text, tmp_path, {"widht": "5"})
    assert [d.code for d in found if d.code == "E-NAME-004"] == ["E-NAME-004"]
    assert "`width`" in next(d for d in found if d.code == "E-NAME-004").fix.text
    assert [d.code for d in check_text(text, tmp_path, {"width": "(+ 2 3)"})[1]] == []
    assert "E-NAME-001" in [d.code for d in check_text(text, tmp_path, {"width": "five"})[1]]
    assert [d.code for d in check_text(text, tmp_path, {"width": "(5"})[1]] == ["E-READ-002"]


def test_endless_recursion_is_an_error_with_its_calls(tmp_path):
    _, found = evaluate("(defun f (x) (+ 1 (f x))) (defun g (x) (+ (g (f x)) (f x))) (defvar result (g 1))", tmp_path)
    assert [d.code for d in found] == ["E-VALUE-004"]
    assert [frame.name for frame in found[0].chain][:2] == ["g", "f"]
    assert len(found[0].chain) <= 8


def test_deep_recursion_that_ends_is_fine(value):
    assert value("(sum-to 900)", "(defun sum-to (n) (if (= n 0) 0 (+ n (sum-to (- n 1)))))") == 405450


class TestMacros:
    def test_expansion(self, value):
        assert value("(twice (+ 1 2))", "(defmacro twice (x) `(* 2 ,x))") == 6
        assert value("(my-if :then 1 :test nil :else 2)",
                     "(defmacro my-if (&key test then else) `(if ,test ,then ,else))") == 2
        assert value("(unpack [1 2])", "(defmacro unpack (v) `(list ,@v))") == (1, 2)

    def test_macros_that_define(self, value):
        before = "(defmacro constant-of (name v) `(defvar ,name ,v)) (constant-of seven 7) (defun f () seven)"
        assert value("(f)", before) == 7

    def test_macros_use_functions_and_values(self, value):
        before = "(defvar n 3) (defun copies (x n) (for [_ (range n)] x)) (defmacro adds (x) `(+ ,@(copies x n)))"
        assert value("(adds 5)", before) == 15

    def test_gensym_is_seen_by_nobody(self, value):
        before = "(defmacro swapped (a b) (let ((t (gensym))) `(let* ((,t ,a)) (list ,b ,t))))"
        assert value("(let ((t 1)) (swapped t 2))", before) == (2, 1)

    def test_a_mistake_in_an_argument_is_shown_there(self, tmp_path):
        _, found = evaluate("(defmacro twice (x) `(* 2 ,x))\n(defvar result (twice (nothing 1)))", tmp_path)
        assert [(d.code, d.primary.span.line, d.primary.span.column) for d in found] == [("E-NAME-001", 2, 24)]

    def test_a_mistake_of_the_macro_is_shown_at_its_call(self, tmp_path):
        _, found = evaluate("(defmacro bad (x) `(nothing ,x))\n(defvar result (bad 1))", tmp_path)
        assert [(d.code, d.primary.span.line, d.primary.span.column) for d in found] == [("E-NAME-001", 2, 16)]

    def test_a_mistake_says_what_the_macro_stands_for(self, tmp_path):
        macros = "(defmacro inner (x) `(nothing ,x))\n(defmacro outer (x) `(+ 1 (inner ,x)))\n"
        _, found = evaluate(f"{macros}(defvar result (outer 1))", tmp_path)
        assert [note.replace(str(tmp_path), "") for d in found for note in d.notes] == [
            f"`inner` at {found[0].primary.span.file}:3:16 expands to `(nothing 1)`".replace(str(tmp_path), ""),
            f"`outer` at {found[0].primary.span.file}:3:16 expands to `(+ 1 (inner 1))`".replace(str(tmp_path), "")]

    def test_wrong_macros(self, wrong):
        assert wrong("(f)", "(defmacro f () `(f))") == ["E-VALUE-009"]
        assert wrong("(f)", "(defmacro f () (fn () 1))") == ["E-VALUE-010"]
        assert wrong("(f 1)", "(defmacro f () 1)") == ["E-ARITY-001"]
        assert wrong("(f)", "(defmacro f () (first []))") == ["E-VALUE-001"]


def test_a_program_that_would_take_hours_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "MAX_STEPS", 1000)
    fib = "(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (defvar result (fib 40))"
    assert [d.code for d in evaluate(fib, tmp_path)[1]] == ["E-VALUE-005"]
    loops = "(defvar result (for [i (range 100) j (range 100)] j))"
    assert [d.code for d in evaluate(loops, tmp_path)[1]] == ["E-VALUE-005"]


def test_what_training_printed_is_not_printed_for_each_evaluation(tmp_path, capsys):
    val = ('(defvar val (loader :sources [(files ["v.parquet"])] '
           ":fields [(field :x :shape [3]) (field :y)] :batch-size 5))")
    text = experiment(
        model='(defun model (x) (print (shape x)) (sum (* x (param "w" [3])) :axis 1))',
        extra=f'{val} (defvar evaluations [(evaluation :name "v" :loader val)])'
              "(defun evaluate (o t) (print :judged) (mean (square (- o t))))")
    assert check_text(text, tmp_path)[1] == []
    assert capsys.readouterr().err == "[4 3]\n:judged\n"
