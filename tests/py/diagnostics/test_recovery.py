"""One run shows every independent mistake, in order, and nothing that follows from another; always the same."""

from mistakes import EXAMPLES
from sexpgpu.compiler.frontend.experiment import check
from sexpgpu.compiler.frontend.repair import repaired
from sexpgpu.diagnostics import SourceMap

#: Ten mistakes of the spirals, each with the code it must give; none touches what another is about.
TEN = (
    ('(files ["data/train.parquet"])', '(files ["data/train.csv"])', "E-CONTRACT-009"),
    (":shuffle 3_000", ":shufle 3_000", "E-CONTRACT-003"),
    ('"data/test.parquet"', '"data/test.parquet" 7', "E-TYPE-013"),
    ("(dense \"first\" width)", "(dense \"first\" widht)", "E-NAME-001"),
    ("(dropout rate)", "(dropout)", "E-ARITY-002"),
    ("(argmax outputs :axis -1)", "(argmax outputs :dim -1)", "E-ARITY-003"),
    ("(cross-entropy outputs targets)", "(crossentropy outputs targets)", "E-NAME-001"),
    (":weight-decay 1e-3", ":weight-decay \"1e-3\"", "E-CONTRACT-022"),
    (":every 100", ":every 0", "E-CONTRACT-021"),
    (":log-every 50", ":log-evry 50", "E-RUN-001"),
)


def findings(text):
    path, sources = EXAMPLES / "spirals/experiment.sexp", SourceMap()
    _, found = check(path, overrides={}, sources=sources, module=False, texts={str(path): text})
    return repaired(path, {}, sources, found)


def test_ten_mistakes_are_ten_diagnostics_in_order():
    text = (EXAMPLES / "spirals/experiment.sexp").read_text(encoding="utf-8")
    for old, new, _ in TEN:
        assert text.count(old) == 1
        text = text.replace(old, new)
    found = findings(text)
    assert [d.code for d in found] == [code for _, _, code in TEN]
    assert [d.primary.span.line for d in found] == sorted(d.primary.span.line for d in found)
    assert found == findings(text)


def test_reading_goes_on_at_the_next_definition():
    text = """(defvar a (+ 1 2)
(defvar b "x\\y")
(defvar c 1.2.3)
(defvar d [1 2)
(defvar e {})
"""
    assert [(d.code, d.primary.span.line) for d in findings(text)] == [
        ("E-READ-002", 1), ("E-READ-005", 2), ("E-READ-006", 3), ("E-READ-004", 4), ("E-READ-007", 5),
        ("E-READ-007", 5)]


def test_a_wrong_definition_silences_what_depends_on_it():
    text = (EXAMPLES / "spirals/experiment.sexp").read_text(encoding="utf-8")
    assert [d.code for d in findings(text.replace("(defvar width 64)", "(defvar width (/ 64 0))"))] == ["E-VALUE-014"]
    assert [d.code for d in findings(text.replace("(field batch :point)", "(field batch :pt)"))] == ["E-CONTRACT-005"]


def generated(lines):
    """A program of so many lines: functions that call each other in layers, and values."""
    functions = [f"(defun layer-{i} (x)\n  (let ((w {i}) (b (+ {i} 1)))\n    (+ (* x w)\n       (- b x))))\n"
                 f"(defvar value-{i} (layer-{i} {i}))" for i in range(lines // 5)]
    return (EXAMPLES / "linear/experiment.sexp").read_text(encoding="utf-8") + "\n".join(functions)


def test_time_grows_as_the_program():
    """Counted in calls of Python functions, not in seconds: twice the lines, about twice the work."""
    import sys

    from sexpgpu.compiler.frontend import experiment

    def calls(lines):
        count = 0

        def profile(_frame, event, _argument):
            nonlocal count
            count += event == "call"

        text = generated(lines)
        original, experiment.with_deep_stack = experiment.with_deep_stack, lambda work: work()
        sys.setprofile(profile)
        try:
            findings(text)
        finally:
            sys.setprofile(None)
            experiment.with_deep_stack = original
        return count

    base, once, twice = calls(0), calls(1_000), calls(2_000)
    assert twice - base < 2.2 * (once - base)


def test_ten_thousand_lines_are_clean():
    text = generated(10_000)
    assert text.count("\n") > 10_000 and findings(text) == []
