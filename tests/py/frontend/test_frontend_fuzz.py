"""A grammar fuzz: whatever the program, there is a staged module that verifies, or diagnostics whose places exist."""

import random
import tempfile
from pathlib import Path

import pytest
from frontend_support import PARTS, experiment
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sexpgpu.compiler.frontend.experiment import check
from sexpgpu.compiler.frontend.ops import OPS
from sexpgpu.compiler.frontend.special import SPECIAL
from sexpgpu.diagnostics import Severity, SourceMap

#: Kept out: they say what the program says.
_OPS = sorted(set(OPS) - {"print"})
_NAMES = ["x", "y", "f", "g", "batch", "model", "training?", "nothing", "softmax", "layer-norm", "adamw", "mse"]
_KEYWORDS = [":axis", ":keep", ":init", ":lr", ":x", ":inputs", ":shape", ":f32", ":i32", ":name"]
_ATOMS = ["0", "1", "-1", "3", "0.5", "nil", "true", "false", '"w"', '"a b"', "inf", "[3]", "[]", "[3 3]", "'(a b)"]

atoms = st.sampled_from([*_ATOMS, *_NAMES, *_KEYWORDS])


def _calls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def call(head: str, args: list[str]) -> str:
        return f"({' '.join([head, *args])})"

    some = st.lists(inner, max_size=4)
    return st.one_of(
        st.builds(call, st.sampled_from(_OPS), some),
        st.builds(call, st.sampled_from(sorted(SPECIAL)), some),
        st.builds(call, st.sampled_from(_NAMES), some),
        st.builds(lambda n, v, b: f"(let (({n} {v})) {b})", st.sampled_from("xyf"), inner, inner),
        st.builds(lambda a, b: f"((fn ({a} &optional y) {b}) {a})", st.sampled_from("xf"), inner),
        st.builds(lambda a: f"`(a ,{a} ,@{a})", inner),
        st.builds(lambda a, b, c: f"(if (> (sum {a}) 0.0) {b} {c})", inner, inner, inner),
        st.builds(lambda n, s: f'(param "{n}" {s})', st.sampled_from("wvu"), inner),
        st.builds(lambda xs: f"[{' '.join(xs)}]", some),
    )


expressions = st.recursive(atoms, _calls, max_leaves=12)

TEMPLATES = (
    lambda e: experiment(model=f"(defun model (x) {e})"),
    lambda e: experiment(model=f'(defun model (x) (sum (* x (param "w" [3]) {e}) :axis 1))'),
    lambda e: experiment(prepare=f"(defun prepare (batch) {e})"),
    lambda e: experiment(prepare=f"(defun prepare (batch) {e} (list :inputs (field batch :x) "
                                 ":targets (field batch :y)))"),
    lambda e: experiment(objective=f"(defun objective (x y) {e})"),
    lambda e: experiment(extra=e),
    lambda e: experiment(extra=f"(defvar f {e}) (defun g (x) {e}) (defmacro m (x) {e}) (m {e})"),
    lambda e: experiment(optimizer=f"(defvar optimizer {e})"),
    lambda e: experiment(optimizer=f"(defvar optimizer (optimizer :hyper (list :lr (fn (ctx) {e})) "
                                   ":update (fn (x g y f) (list :param x :state y))))"),
    lambda e: experiment(optimizer=f"(defvar optimizer (optimizer :init (fn (x) {e}) :update (fn (x g y f) {e})))"),
    lambda e: experiment(train_loader=f"(defvar train-loader {e})"),
    lambda e: experiment(extra=f"(defun curriculum (ctx) {e}) (defvar evaluations [{e}]) (defvar run {e})"),
)


def examine(text: str) -> None:
    sources = SourceMap()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "e.sexp"
        path.write_text(text, encoding="utf-8")
        staged, diagnostics = check(path, overrides={}, sources=sources)
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    assert (staged is None) == bool(errors)
    for d in diagnostics:
        assert d.message and not d.message.endswith(".")
        spans = [label.span for label in (d.primary, *d.secondary) if label] + [frame.call for frame in d.chain]
        for span in spans:
            lines = sources.get(span.file).lines()
            assert 1 <= span.line <= span.end_line <= len(lines), (d, span)
            assert 1 <= span.column <= len(lines[span.line - 1]) + 1, (d, span)
            assert span.end_column <= len(lines[span.end_line - 1]) + 1, (d, span)
    if staged is not None:
        assert staged.module.operation.verify()


FUZZ = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck), derandomize=True)


@FUZZ
@given(st.sampled_from(range(len(TEMPLATES))), expressions)
def test_any_expression_anywhere(template, expression):
    examine(TEMPLATES[template](expression))


@FUZZ
@given(st.data())
def test_a_program_with_a_piece_taken_out_or_doubled(data):
    words = experiment(**{k.replace("-", "_"): v for k, v in PARTS.items()}).split(" ")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(words) - 1))
        other = data.draw(st.integers(0, len(words) - 1))
        match data.draw(st.sampled_from(("drop", "double", "swap", "replace"))):
            case "drop":
                words[at] = ""
            case "double":
                words[at] = f"{words[at]} {words[at]}"
            case "swap":
                words[at], words[other] = words[other], words[at]
            case "replace":
                words[at] = data.draw(atoms)
    examine(" ".join(words))


#: What no argument should be.
AWKWARD = ["inf", "(- inf)", "nan", "1e308", str(10**22), "-1", "0", "1.5", "x", "[inf]", "[nan 1]", "[-1 0]",
           f"[{10**13} {10**13}]", "nil", '"a"', ":f32", "[]", "true"]


def awkward_calls(count: int, seed: int):
    draw = random.Random(seed)
    for i in range(count):
        name = _OPS[i % len(_OPS)]
        words = draw.choices(AWKWARD, k=draw.choice((1, 1, 2, 2, 3, 4)))
        for keyword in draw.sample(OPS[name].signature.key, min(len(OPS[name].signature.key), draw.choice((0, 1, 2)))):
            words += [f":{keyword.name}", draw.choice(AWKWARD)]
        yield f"({name} {' '.join(words)})"


@pytest.mark.parametrize("count", [len(_OPS), pytest.param(50 * len(_OPS), marks=pytest.mark.slow)])
def test_every_operation_on_what_it_does_not_expect(count):
    for call in awkward_calls(count, seed=count):
        try:
            examine(TEMPLATES[0](call))
        except Exception as error:
            raise AssertionError(call) from error


@pytest.mark.slow
@settings(deadline=None, max_examples=5000, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(range(len(TEMPLATES))), expressions)
def test_many_expressions_anywhere(template, expression):
    examine(TEMPLATES[template](expression))
