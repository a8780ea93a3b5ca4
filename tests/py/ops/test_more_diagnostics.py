"""What the operations on windows, orders, loops and derivatives refuse, each with its code."""

import numpy as np
import pytest
from language import diagnose, floats

IMAGE, KERNEL = floats(2, 6, 6, 4), floats(3, 3, 4, 8)
I, X = np.zeros(3, np.int32), floats(4, 5)

WRONG = [
    ("(arange inf)", {}, "E-SHAPE-009"), ("(arange 0 nan)", {}, "E-SHAPE-009"),
    ("(arange 1e300 inf)", {}, "E-SHAPE-009"),
    ("(arange 0 1 1e-20)", {}, "E-SHAPE-009"), (f"(random-permutation {10**22})", {}, "E-SHAPE-009"),
    (f"(zeros [{10**13} {10**13}])", {}, "E-SHAPE-009"), (f"(one-hot i {10**22})", {"i": I}, "E-SHAPE-009"),
    (f"(random-permutation {10**10})", {}, "E-SHAPE-009"), (f"(sort (zeros [{10**10}]))", {}, "E-SHAPE-009"),
    (f"(argsort (zeros [{10**10}]))", {}, "E-SHAPE-009"), (f"(top-k (zeros [{10**10}]) 2)", {}, "E-SHAPE-009"),
    (f"(argmax (zeros [{10**5} {10**5}]))", {}, "E-SHAPE-009"),
    (f"(slice x 0 0 {10**22})", {"x": X}, "E-SHAPE-009"),
    ("(conv x k)", {"x": IMAGE, "k": floats(3, 3, 3, 8)}, "E-SHAPE-002"),
    ("(conv x k)", {"x": IMAGE, "k": floats(3, 4, 8)}, "E-SHAPE-004"),
    ("(conv x k)", {"x": floats(5, 4), "k": floats(4, 8)}, "E-SHAPE-004"),
    ("(conv x k)", {"x": IMAGE, "k": floats(7, 3, 4, 8)}, "E-SHAPE-006"),
    ("(conv x k :groups 3)", {"x": IMAGE, "k": KERNEL}, "E-SHAPE-011"),
    ("(conv x k :stride 0)", {"x": IMAGE, "k": KERNEL}, "E-SHAPE-009"),
    ("(conv x k :stride [1 1 1])", {"x": IMAGE, "k": KERNEL}, "E-SHAPE-009"),
    ("(conv x k :padding :full)", {"x": IMAGE, "k": KERNEL}, "E-TYPE-013"),
    ("(conv x k :padding [1])", {"x": IMAGE, "k": KERNEL}, "E-TYPE-013"),
    ("(conv x k :strides 2)", {"x": IMAGE, "k": KERNEL}, "E-ARITY-003"),
    ("(conv x k)", {"x": IMAGE, "k": KERNEL.astype(np.int32)}, "E-TYPE-007"),
    ("(conv-transpose x k :padding 1)", {"x": IMAGE, "k": KERNEL}, "E-TYPE-013"),
    ("(max-pool x 9)", {"x": IMAGE}, "E-SHAPE-006"),
    ("(max-pool x 2 :padding 2)", {"x": IMAGE}, "E-SHAPE-006"),
    ("(avg-pool x 2)", {"x": X}, "E-SHAPE-004"),
    ("(resize x [0 3])", {"x": IMAGE}, "E-SHAPE-009"),
    ("(top-k x 6)", {"x": X}, "E-SHAPE-006"),
    ("(top-k x 0)", {"x": X}, "E-SHAPE-006"),
    ("(sort x :axis 2)", {"x": X}, "E-SHAPE-003"),
    ("(scatter-set x i u)", {"x": X, "i": I, "u": floats(3, 4)}, "E-SHAPE-013"),
    ("(scatter-set x i u)", {"x": X, "i": X, "u": X}, "E-TYPE-008"),
    ("(dynamic-slice x [0] [1 1])", {"x": X}, "E-SHAPE-004"),
    ("(dynamic-slice x [0 0] [5 5])", {"x": X}, "E-SHAPE-006"),
    ("(dynamic-slice x [0 0.5] [1 1])", {"x": X}, "E-TYPE-008"),
    ("(dynamic-update-slice x u [0 0])", {"x": X, "u": floats(5, 5)}, "E-SHAPE-006"),
    ("(bitcast x :i16)", {"x": X}, "E-TYPE-017"),
    ("(random-permutation 0)", {}, "E-SHAPE-009"),
    ("(scan (fn (c x) c) 0.0 x)", {"x": X}, "E-TYPE-013"),
    ("(scan (fn (c x) (list c nil)) 0.0 nil)", {}, "E-TYPE-002"),
    ("(scan (fn (c x) (list c nil)) 0.0 nil :length 0)", {}, "E-SHAPE-009"),
    ("(scan (fn (c x) (list c nil)) 0.0 nil :length 3_000_000_000)", {}, "E-VALUE-005"),
    ("(scan (fn (c x) (list c nil)) 0.0 x :length 3)", {"x": X}, "E-SHAPE-013"),
    ("(scan (fn (c x) (list c nil)) 0.0 (list x y))", {"x": X, "y": floats(3)}, "E-SHAPE-013"),
    ("(scan (fn (c x) (list c nil)) 0.0 (sum x))", {"x": X}, "E-SHAPE-004"),
    ("(scan (fn (c x) (list x nil)) 0.0 x)", {"x": X}, "E-TYPE-018"),
    ("(scan (fn (c) (list c nil)) 0.0 x)", {"x": X}, "E-ARITY-001"),
    ("(repeat 0 (fn (h i) h) x)", {"x": X}, "E-SHAPE-009"),
    ("(repeat 2.5 (fn (h i) h) x)", {"x": X}, "E-TYPE-006"),
    ("(repeat 1_000_000 (fn (h i) h) x)", {"x": X}, "E-VALUE-005"),
    ("(repeat 2 (fn (h i) (sum h)) x)", {"x": X}, "E-TYPE-018"),
    ("(while-loop (fn (c) c) (fn (c) c) x)", {"x": X}, "E-TYPE-009"),
    ("(while-loop (fn (c) true) (fn (c) c) nil)", {}, "E-TYPE-002"),
    ("(gradient (fn (x) x) x)", {"x": X}, "E-TYPE-019"),
    ("(gradient (fn (i) (sum (cast i :f32))) i)", {"i": I}, "E-TYPE-007"),
    ("(gradient (fn (x) (sum x)))", {"x": X}, "E-ARITY-001"),
    ("(gradient (fn (x) (while-loop (fn (c) (< c 3.0)) (fn (c) (* 2 c)) (sum x))) x)", {"x": X}, "E-GRAD-003"),
    ("(custom-gradient sin (fn (g y x) (list g g)) x)", {"x": X}, "E-TYPE-013"),
    ("(custom-gradient sin (fn (g y x) (sum g)) x)", {"x": X}, "E-SHAPE-013"),
    ("(custom-gradient sin (fn (g y x) (random-normal (shape x))) x)", {"x": X}, "E-CONTRACT-020"),
]


@pytest.mark.parametrize(("source", "arguments", "code"), WRONG, ids=[w[0] for w in WRONG])
def test_is_refused(source, arguments, code):
    assert [d.code for d in diagnose(source, arguments)] == [code]
