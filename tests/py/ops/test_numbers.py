"""Operations on compile-time numbers, and what the compiler knows of tensors."""

import math

import numpy as np
import pytest
from language import diagnose, evaluate, floats
from sexpgpu.compiler.frontend.data import Keyword

VALUES = {
    "(+)": 0, "(*)": 1, "(+ 1 2 3)": 6, "(- 5)": -5, "(- 10 1 2)": 7, "(* 2 3.0)": 6.0,
    "(/ 64 4)": 16, "(/ 1 4)": 0.25, "(/ 2)": 0.5, "(/ -6 3)": -2, "(/ 6.0 3)": 2.0, "(/ 12 2 3)": 2,
    "(quotient 7 2)": 3, "(quotient -7 2)": -3, "(quotient 7 -2)": -3, "(quotient 7.5 2)": 3.0,
    "(mod 7 3)": 1, "(mod -7 3)": 2, "(mod 7 -3)": -2, "(mod 5.5 2)": 1.5,
    "(pow 2 10)": 1024, "(pow 2 -1)": 0.5, "(pow 2 0.5)": math.sqrt(2),
    "(* 1_000_000_000_000 1_000_000_000_000)": 10**24,
    "(sqrt 16)": 4.0, "(exp 0)": 1.0, "(log 1)": 0.0, "(log 0)": -math.inf, "(expm1 1e-9)": math.expm1(1e-9),
    "(floor 2.7)": 2, "(floor -2.5)": -3, "(ceil 2.1)": 3, "(round 2.5)": 2, "(round 3.5)": 4, "(round 7)": 7,
    "(abs -3)": 3, "(sign -2)": -1, "(sign 0.5)": 1.0, "(square 3)": 9, "(reciprocal 4)": 0.25, "(rsqrt 4)": 0.5,
    "(maximum 2 3)": 3, "(minimum 2 3.5)": 2, "(clamp 12 0 10)": 10, "(clamp -1 0 10)": 0,
    "(sigmoid 0)": 0.5, "(tanh 0)": 0.0, "(erf 0)": 0.0, "(atan2 0 -1)": math.pi,
    "(max [3 9 2])": 9, "(min [3 9 2])": 2, "(sum [1 2 3])": 6, "(prod [2 3 4])": 24, "(mean [1 2])": 1.5,
    "(< 1 2 3)": True, "(< 1 3 2)": False, "(= 1 1.0)": True, "(/= 1 2 1)": False, "(>= 2 2)": True,
    "(= :a :a)": True, "(= :a :b)": False, "(= \"x\" \"x\")": True, "(/= \"x\" 1)": True, "(= nil nil)": True,
    "(= [1 2] [1 2])": True, "(= true 1)": True, "(not nil)": True, "(not 0)": False, "(xor true nil)": True,
    "(where (> 2 1) 5 6)": 5, "(isnan nan)": True, "(isinf (- inf))": True, "(isfinite 3)": True,
    "(all [true (< 1 2)])": True, "(any [nil false])": False, "(stop-gradient 3)": 3,
}


@pytest.mark.parametrize("source", list(VALUES))
def test_value(source):
    found = evaluate(source)
    assert found == VALUES[source]
    assert isinstance(found, bool) == isinstance(VALUES[source], bool)
    assert isinstance(found, float) == isinstance(VALUES[source], float)


@pytest.mark.parametrize("source", ["(log -1)", "(sqrt -1)", "(rsqrt -1)", "(maximum nan 1)", "(minimum 1 nan)"])
def test_nan(source):
    assert math.isnan(evaluate(source))


def test_overflow_is_infinite():
    assert evaluate("(exp 1000)") == math.inf


@pytest.mark.parametrize("source", ["(/ 1 0)", "(/ 1.0 0.0)", "(mod 3 0)", "(quotient 1 0)", "(floor inf)",
                                    "(round nan)",
                                    "(pow -8 0.5)", "(pow 10.0 400)"])
def test_no_result(source):
    assert [d.code for d in diagnose(source)] == ["E-VALUE-014"]


KNOWN = {
    "(shape x)": (2, 3), "(dim x -1)": 3, "(rank x)": 2, "(numel x)": 6, "(dtype x)": Keyword("f32"),
    "(dtype (cast x :bf16))": Keyword("bf16"), "(dtype (> x 0))": Keyword("bool"), "(dtype (argmax x))": Keyword("i32"),
    "(= (dtype x) :f32)": True, "(shape (matmul x (transpose x)))": (2, 2), "(dtype (sum (> x 0)))": Keyword("i32"),
    "(* (dim x 0) (dim x 1))": 6, "(fans (shape x))": (Keyword("in"), 2, Keyword("out"), 3),
    "(fans [3 3 8 16])": (Keyword("in"), 72, Keyword("out"), 144), "(dtype (* (> x 0) 0.5))": Keyword("f32"),
    "(dtype (+ (> x 0) 1))": Keyword("i32"), "(dtype (* x 2))": Keyword("f32"), "(nil? x)": False, "(= x nil)": False,
}


@pytest.mark.parametrize("source", list(KNOWN))
def test_known_at_compile_time(source):
    assert evaluate(source, {"x": floats(2, 3)}) == KNOWN[source]


def test_sizes_remember_their_origin():
    (first, second) = evaluate("(shape (matmul x y))", {"x": floats(2, 3), "y": floats(3, 4)})
    assert first.origin.text == "axis 0 of the argument `x`"
    assert second.origin.text == "axis 1 of the argument `y`"
    joined = evaluate("(dim (concat [x x]) 0)", {"x": floats(2, 3)})
    assert "concat" in joined.origin.text
    assert np.prod(evaluate("(shape (reshape x [6]))", {"x": floats(2, 3)})) == 6
