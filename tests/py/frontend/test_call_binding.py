"""Arguments to parameters, from the text of a call alone."""

import pytest
from sexpgpu.compiler.frontend.call_binding import Callee, CallShape, bind
from sexpgpu.compiler.frontend.lambda_list import parse_signature
from sexpgpu.diagnostics import Span


def shape(call: str) -> CallShape:
    """A call of words: `:name` is a keyword, anything else an expression."""
    words = call.split()
    spans = tuple(Span("f", 1, i + 2, 1, i + 3) for i in range(len(words)))
    return CallShape(Span("f", 1, 1, 1, 99), tuple(w[1:] if w.startswith(":") else None for w in words), spans)


def bound(signature: str, call: str, by_name: bool = True):
    return bind(shape(call), Callee("f", parse_signature(signature), by_name))[:2]


@pytest.mark.parametrize(("signature", "call", "slots"), [
    ("x y", "a b", (0, 1)),
    ("x y", ":y a b", (2, 1)),
    ("x y", "a :y b", (0, 2)),
    ("x &optional (axis -1)", "a", (0, None)),
    ("x &optional (axis -1)", "a b", (0, 1)),
    ("x &optional (axis -1)", "a :axis b", (0, 2)),
    ("x dtype", "a :f32", (0, 1)),
    ("x &optional dtype", "a :f32", (0, 1)),
    ("x dtype &key k", "a :f32 :k b", (0, 1, 3)),
    ("x &key axis keep", "a :keep b :axis c", (0, 4, 2)),
    ("&rest xs", "a :b c", ((0, 1, 2),)),
    ("f &key k &rest xs", "a b :k c d", (0, 3, (1, 4))),
    ("x &rest xs", "a", (0, ())),
])
def test_by_name(signature, call, slots):
    assert bound(signature, call) == (slots, [])


@pytest.mark.parametrize(("signature", "call", "slots"), [
    ("plist key &optional default", "a :key", (0, 1, None)),
    ("plist key &optional default", "a :key :default", (0, 1, 2)),
    ("name value &key reduce weight", ":weight a :reduce b", (0, 1, 3, None)),
    ("subject &optional name &key from shape", "a :from", (0, 1, None, None)),
    ("subject &optional name &key from shape", ":x :from a", (0, None, 2, None)),
    ("x &key k", ":k :k a", (0, 2)),
])
def test_by_place(signature, call, slots):
    assert bound(signature, call, by_name=False) == (slots, [])


@pytest.mark.parametrize(("signature", "call", "code", "column"), [
    ("x", "a b", "E-ARITY-001", 3),
    ("", "a", "E-ARITY-001", 2),
    ("", ":a", "E-ARITY-001", 2),
    ("x y", "a", "E-ARITY-002", 1),
    ("x y", ":y a", "E-ARITY-002", 1),
    ("x &key axis", "a :axs b", "E-ARITY-003", 3),
    ("x &optional axis", "a :axs b", "E-ARITY-003", 3),
    ("x &optional end step", "a :stop b", "E-ARITY-003", 3),
    ("x &key axis", "a :axis", "E-ARITY-004", 3),
    ("x &key axis", "a :axis b :axis c", "E-ARITY-005", 5),
    ("x &key axis", "a :x b", "E-ARITY-005", 3),
    ("&key k &rest xs", "a :j b", "E-ARITY-003", 3),
])
def test_wrong(signature, call, code, column):
    slots, wrong = bound(signature, call)
    assert [(d.code, d.primary.span.column) for d in wrong] == [(code, column)]
    assert wrong[0].fix is None or "did you mean" in wrong[0].fix.text or "`" in wrong[0].fix.text
    assert (slots is None) == (code != "E-ARITY-003")


def test_unknown_keyword_is_corrected():
    _, wrong = bound("x &key axis keep", "a :keeep b")
    assert wrong[0].fix.text == "it takes `:x`, `:axis`, `:keep`; did you mean `:keep`?"
    assert wrong[0].fix.edits[0].text == ":keep"


def test_a_users_function_names_its_keys_only():
    slots, wrong = bound("x y", ":y a", by_name=False)
    assert (slots, wrong) == ((0, 1), [])


def test_a_value_before_a_name_is_no_name():
    assert bound("subject &optional name &key from dtype", "a :x :dtype :f32", by_name=False) == ((0, 1, None, 3), [])
