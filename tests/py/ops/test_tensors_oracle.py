"""Reductions, shapes, indexing, making, products: values and gradients are JAX's."""

import jax
import jax.numpy as jnp
import numpy as np
from language import floats
from oracle_jax import Case, is_what_jax_computes

X = floats(2, 3, 4)
M = floats(5, 7)
ODD = floats(3, 1, 5, 2, 1)
I = np.arange(24, dtype=np.int32).reshape(2, 3, 4) - 7
U8 = np.array([[200, 100, 7], [255, 255, 1]], np.uint8)
NAN = np.array([[1, np.nan, 3, np.nan], [4, 4, 2, 4], [np.inf, -np.inf, np.inf, 0]], np.float32)
IDS = np.array([[0, 3, 3], [4, 1, 0]], np.int32)


def of(name, source, expected, x=X, **more):
    return Case(name, source, {"x": x}, expected, **more)


def two(name, source, expected, x, y, **more):
    return Case(name, source, {"x": x, "y": y}, expected, **more)


REDUCTIONS = [
    of("sum", "(sum x)", jnp.sum), of("sum axis", "(sum x :axis 1)", lambda x: x.sum(1)),
    of("sum axes", "(sum x :axis [0 -1])", lambda x: x.sum((0, 2))),
    of("sum keep", "(sum x :axis -1 :keep true)", lambda x: x.sum(-1, keepdims=True)),
    of("sum no axes", "(sum x :axis [])", lambda x: x),
    of("sum scalar", "(sum x)", jnp.sum, x=floats()),
    of("sum odd", "(sum x :axis [1 2])", lambda x: x.sum((1, 2)), x=ODD),
    of("sum integers", "(sum x :axis 2)", lambda x: x.sum(2, dtype=np.int32), x=I, grad=False),
    of("sum u8", "(sum x)", lambda x: x.sum(dtype=np.uint32), x=U8, grad=False),
    of("sum bools", "(sum (> x 0) :axis 0)", lambda x: (x > 0).sum(0).astype(np.int32), grad=False),
    of("sum bf16", "(sum x)", lambda x: x.astype(np.float32).sum().astype(jnp.bfloat16),
       x=np.asarray(jnp.full((1000,), 0.1, jnp.bfloat16)), grad=False, tolerance=1e-2),
    of("prod", "(prod x :axis 1)", lambda x: x.prod(1)),
    of("mean", "(mean x)", jnp.mean), of("mean axes", "(mean x :axis [0 2] :keep true)",
                                         lambda x: x.mean((0, 2), keepdims=True)),
    of("mean bools", "(mean (> x 0))", lambda x: (x > 0).astype(np.float32).mean(), grad=False),
    of("var", "(var x :axis -1)", lambda x: x.var(-1)), of("var ddof", "(var x :ddof 1)", lambda x: x.var(ddof=1)),
    of("var far from zero", "(var x :axis 0)", lambda x: x.var(0), x=floats(50, 2) + 1000, tolerance=1e-4),
    of("std", "(std x :axis 0 :keep true)", lambda x: x.std(0, keepdims=True)),
    of("max", "(max x :axis 1)", lambda x: x.max(1)), of("min", "(min x)", jnp.min),
    of("max ties", "(max x :axis 1)", lambda x: x.max(1), x=np.round(X)),
    of("max nan", "(max x :axis 1)", lambda x: x.max(1), x=NAN, grad=False),
    of("min nan", "(min x :axis 0)", lambda x: x.min(0), x=NAN, grad=False),
    of("max integers", "[(max x) (min x :axis 0)]", lambda x: [x.max(), x.min(0)], x=I, grad=False),
    of("max u8", "[(max x) (min x :axis 0)]", lambda x: [x.max(), x.min(0)], x=U8, grad=False),
    of("any all", "[(any (> x 1) :axis 0) (all (< x 2)) (any (> x 9))]",
       lambda x: [(x > 1).any(0), (x < 2).all(), (x > 9).any()], grad=False),
    of("argmax", "[(argmax x :axis -1) (argmax x) (argmin x :axis 0 :keep true)]",
       lambda x: [x.argmax(-1).astype(np.int32), x.argmax().astype(np.int32),
                  x.argmin(0, keepdims=True).astype(np.int32)], grad=False),
    of("argmax ties and nan", "[(argmax x :axis 1) (argmin x :axis 1)]",
       lambda x: [jnp.argmax(x, 1).astype(np.int32), jnp.argmin(x, 1).astype(np.int32)], x=NAN, grad=False),
    of("argmax integers", "[(argmax x :axis 1) (argmin x)]",
       lambda x: [x.argmax(1).astype(np.int32), x.argmin().astype(np.int32)], x=I, grad=False),
    of("norm", "(norm x :axis -1)", lambda x: jnp.linalg.norm(x, axis=-1)),
    of("norm 1", "(norm x :order 1 :axis 0)", lambda x: jnp.abs(x).sum(0)),
    of("norm inf", "(norm x :order inf)", lambda x: jnp.abs(x).max()),
]

SHAPES = [
    of("reshape", "(reshape x [4 6])", lambda x: x.reshape(4, 6)),
    of("reshape hole", "(reshape x [2 -1])", lambda x: x.reshape(2, -1)),
    of("reshape one", "(reshape x 24)", lambda x: x.reshape(24)),
    of("reshape scalar", "(reshape x [])", lambda x: x.reshape(()), x=floats(1, 1)),
    of("transpose", "(transpose x)", jnp.transpose), of("transpose axes", "(transpose x [2 0 1])",
                                                        lambda x: x.transpose(2, 0, 1)),
    of("permute", "(permute x [0 -1 1])", lambda x: x.transpose(0, 2, 1)),
    of("squeeze", "(squeeze x)", jnp.squeeze, x=ODD), of("squeeze axis", "(squeeze x :axis -1)",
                                                         lambda x: x.squeeze(-1), x=ODD),
    of("expand", "[(expand-dims x 0) (expand-dims x -1) (expand-dims x [0 2])]",
       lambda x: [x[None], x[..., None], x[None, :, None]], grad=False),
    of("expand gradient", "(expand-dims x 1)", lambda x: x[:, None]),
    of("broadcast", "(broadcast-to x [4 5 7])", lambda x: jnp.broadcast_to(x, (4, 5, 7)), x=M),
    of("broadcast ones", "(broadcast-to x [3 6 5 2 1])", lambda x: jnp.broadcast_to(x, (3, 6, 5, 2, 1)), x=ODD),
    of("flatten", "[(flatten x) (flatten x :start 1)]", lambda x: [x.reshape(-1), x.reshape(2, -1)], grad=False),
    two("concat", "(concat [x y x] :axis 1)", lambda x, y: jnp.concatenate([x, y, x], 1), X, floats(2, 2, 4)),
    two("stack", "(stack [x y] :axis -1)", lambda x, y: jnp.stack([x, y], -1), X, floats(2, 3, 4, seed=3)),
    two("stack first", "(stack [x y])", lambda x, y: jnp.stack([x, y]), X, floats(2, 3, 4, seed=3)),
    of("split", "(split x 2 :axis -1)", lambda x: jnp.split(x, 2, -1), grad=False),
    of("split sizes", "(split x [1 3] :axis 2)", lambda x: jnp.split(x, [1], 2), grad=False),
    of("slice", "(slice x 1 1 3)", lambda x: x[:, 1:3]),
    of("slice negative", "(slice x -1 -3 nil)", lambda x: x[..., -3:]),
    of("slice step", "(slice x 2 0 4 3)", lambda x: x[:, :, 0:4:3]),
    of("slice all", "(slice x 0 0 2)", lambda x: x),
    of("pad", "(pad x [[0 0] [1 2] [0 3]])", lambda x: jnp.pad(x, [(0, 0), (1, 2), (0, 3)])),
    of("pad value", "(pad x [[1 0] [0 2]] :value -1)", lambda x: jnp.pad(x, [(1, 0), (0, 2)], constant_values=-1),
       x=M),
    of("flip", "(flip x :axis [0 2])", lambda x: jnp.flip(x, (0, 2))),
    of("flip scalar", "(flip x)", lambda x: x, x=np.float32(2)),
    of("flip no axes", "(flip x :axis [])", lambda x: x, x=M),
    of("pad scalar", "(pad x [])", lambda x: x, x=np.float32(2)),
    of("transpose scalar", "(transpose x)", lambda x: x, x=np.float32(2)),
    of("squeeze scalar", "(squeeze x)", lambda x: x, x=np.float32(2)),
    of("tile scalar", "(tile x [])", lambda x: x, x=np.float32(2)),
    of("tile scalar up", "(tile x [3 2])", lambda x: jnp.tile(x, (3, 2)), x=np.float32(2)),
    of("roll", "(roll x 3 :axis 2)", lambda x: jnp.roll(x, 3, 2)), of("roll back", "(roll x -1 :axis 1)",
                                                                    lambda x: jnp.roll(x, -1, 1)),
    of("tile", "(tile x [2 1 3])", lambda x: jnp.tile(x, (2, 1, 3))),
    of("tile more axes", "(tile x [2 1 2])", lambda x: jnp.tile(x, (2, 1, 2)), x=M),
    of("repeat-axis", "(repeat-axis x 3 :axis 1)", lambda x: jnp.repeat(x, 3, 1)),
]

INDEXING = [
    two("take rows", "(take x y :axis 0)", lambda x, y: jnp.take(x, y, 0), M, IDS),
    two("take columns", "(take x y :axis 1)", lambda x, y: jnp.take(x, y, 1), M, IDS),
    two("take middle", "(take x y :axis 1)", lambda x, y: jnp.take(x, y, 1), X, np.array([2, 0, 2, 2], np.int32)),
    two("take scalar index", "(take x y :axis 0)", lambda x, y: jnp.take(x, y, 0), M, np.array(3, np.int32)),
    two("take u8", "(take x y)", lambda x, y: jnp.take(x, y.astype(np.int32), 0), floats(256, 2),
        np.array([200, 3, 255], np.uint8)),
    two("take i64", "(take x y)", lambda x, y: jnp.take(x, y, 0), M, IDS.astype(np.int64)),
    of("take one", "(take x -1 :axis 1)", lambda x: x[:, -1]), of("take list", "(take x [2 0] :axis 1)",
                                                                  lambda x: x[:, np.array([2, 0])]),
    two("embedding", "(embedding x y)", lambda x, y: x[y], M, IDS),
    two("take-along", "(take-along x y)", lambda x, y: jnp.take_along_axis(x, y, -1), M,
        np.array([[0, 6], [1, 1], [2, 3], [6, 0], [5, 5]], np.int32)),
    two("take-along middle", "(take-along x y :axis 1)", lambda x, y: jnp.take_along_axis(x, y, 1), X,
        np.array([[[0, 1, 2, 0]], [[2, 2, 1, 0]]], np.int32)),
    Case("one-hot", "(one-hot y 5)", {"y": IDS}, lambda y: jax.nn.one_hot(y, 5, dtype=np.float32), grad=False),
    Case("one-hot outside", "(one-hot y 3 :dtype :i32)", {"y": IDS}, lambda y: jax.nn.one_hot(y, 3, dtype=np.int32),
         grad=False),
]


def made(name, source, expected, **more):
    return Case(name, source, {}, lambda: expected, grad=False, **more)


MORE = [
    of("cumsum", "(cumsum x :axis -1)", lambda x: jnp.cumsum(x, -1), x=floats(3, 7)),
    of("cumsum first", "(cumsum x)", lambda x: jnp.cumsum(x, 0)),
    of("cumprod", "(cumprod x :axis 1)", lambda x: jnp.cumprod(x, 1), x=floats(2, 5)),
    of("cumsum integers", "(cumsum x :axis 1)", lambda x: jnp.cumsum(x, 1, dtype=np.int32), x=I, grad=False),
    Case("scatter-add", "(scatter-add x i y)", {"x": M, "i": np.array([1, 4, 1], np.int32), "y": floats(3, 7)},
         lambda x, i, y: jnp.asarray(x).at[i].add(y)),
    Case("scatter-add columns", "(scatter-add x i y :axis 1)",
         {"x": M, "i": np.array([6, 0, 6, 6], np.int32), "y": floats(5, 4)},
         lambda x, i, y: jnp.asarray(x).at[:, i].add(y)),
    Case("scatter-add outside", "(scatter-add x i y)", {"x": M, "i": np.array([-3, 9], np.int32), "y": floats(2, 7)},
         lambda x, i, y: jnp.asarray(x).at[np.array([0, 4])].add(y)),
    of("bits", "[(bit-and x 5) (bit-or x 2) (bit-xor x -1) (bit-not x) (shift-left x 2) (shift-right x 1)]",
       lambda x: [x & 5, x | 2, x ^ -1, ~x, x << 2, x >> 1], x=I, grad=False),
    of("unsigned shift", "[(shift-right x 1) (bit-not x)]", lambda x: [x >> 1, ~x], x=U8, grad=False),
]

MAKE = [
    made("zeros", "[(zeros [2 3]) (ones 4 :dtype :i32) (full [2] 7) (full [] 1.5)]",
         [np.zeros((2, 3), np.float32), np.ones(4, np.int32), np.full(2, 7, np.int32), np.float32(1.5)]),
    made("full bool", "(full [2 2] true)", np.ones((2, 2), bool)),
    Case("full of tensor", "(full [3 2] x)", {"x": floats()}, lambda x: jnp.full((3, 2), x)),
    Case("like", "[(zeros-like x) (ones-like x :dtype :i32)]", {"x": M},
         lambda x: [jnp.zeros_like(x), jnp.ones_like(x, dtype=np.int32)], grad=False),
    made("arange", "[(arange 5) (arange 2 8) (arange 8 2 -2) (arange 0.0 1.0 0.25) (arange 3 :dtype :f32)]",
         [np.arange(5, dtype=np.int32), np.arange(2, 8, dtype=np.int32), np.arange(8, 2, -2, dtype=np.int32),
          np.arange(0, 1, 0.25, dtype=np.float32), np.arange(3, dtype=np.float32)]),
    made("linspace", "[(linspace 0 1 11) (linspace -3 3 4) (linspace 2 5 1)]",
         [np.linspace(0, 1, 11, dtype=np.float32), np.linspace(-3, 3, 4, dtype=np.float32),
          np.linspace(2, 5, 1, dtype=np.float32)]),
    made("eye", "[(eye 3) (eye 2 4 :dtype :i32)]", [np.eye(3, dtype=np.float32), np.eye(2, 4, dtype=np.int32)]),
    Case("tril", "(tril x)", {"x": X}, jnp.tril), Case("triu", "(triu x 1)", {"x": M}, lambda x: jnp.triu(x, 1)),
    Case("tril offset", "(tril x -2)", {"x": M}, lambda x: jnp.tril(x, -2)),
    Case("casts", "[(cast x :i32) (cast x :bool) (cast x :f64) (cast (> x 0) :f32) (cast (> x 0) :u8)]", {"x": M * 3},
         lambda x: [x.astype(np.int32), x != 0, x.astype(np.float64), (x > 0).astype(np.float32),
                    (x > 0).astype(np.uint8)], grad=False),
    Case("cast gradient", "(cast (cast x :f64) :f32)", {"x": M}, lambda x: x),
    Case("cast integers", "[(cast x :f32) (cast x :i64) (cast x :u32) (cast x :bf16) (cast x :f16)]", {"x": U8},
         lambda x: [x.astype(np.float32), x.astype(np.int64), x.astype(np.uint32), jnp.asarray(x).astype(jnp.bfloat16),
                    x.astype(np.float16)],
         grad=False),
]

PRODUCTS = [
    two("matmul", "(matmul x y)", jnp.matmul, M, floats(7, 3)),
    two("matmul batch by matrix", "(matmul x y)", jnp.matmul, X, floats(4, 5)),
    two("matmul rank four by matrix", "(matmul x y)", jnp.matmul, floats(2, 3, 2, 4), floats(4, 5)),
    two("matmul batched", "(matmul x y)", jnp.matmul, X, floats(2, 4, 5)),
    two("matmul broadcast right", "(matmul x y)", jnp.matmul, floats(3, 4), floats(2, 4, 5)),
    two("matmul broadcast both", "(matmul x y)", jnp.matmul, floats(3, 1, 2, 4), floats(2, 4, 5)),
    two("matmul vector left", "(matmul x y)", jnp.matmul, floats(7), floats(7, 3)),
    two("matmul vector right", "(matmul x y)", jnp.matmul, X, floats(4)),
    two("matmul vectors", "(matmul x y)", jnp.matmul, floats(4), floats(4, seed=9)),
    two("matmul vector left of batch", "(matmul x y)", jnp.matmul, floats(4), floats(2, 4, 5)),
    two("matmul integers", "(matmul x y)", jnp.matmul, np.arange(6, dtype=np.int32).reshape(2, 3),
        np.arange(12, dtype=np.int32).reshape(3, 4) - 5, grad=False),
    two("matmul f64", "(matmul x y)", jnp.matmul, floats(3, 4, dtype="float64"), floats(4, 2, dtype="float64"),
        tolerance=1e-12),
    two("matmul of mask", "(matmul (cast (> x 0) :f32) y)", lambda x, y: (x > 0).astype(np.float32) @ y, M,
        floats(7, 3)),
    two("matmul of u8", "(matmul (cast x :f32) y)", lambda x, y: x.astype(np.float32) @ y, U8, floats(3, 2)),
    two("dot", "(dot x y)", jnp.dot, floats(7), floats(7, seed=4)),
    two("outer", "(outer x y)", jnp.outer, floats(3), floats(4)),
    two("einsum matmul", '(einsum "ik,kj->ij" x y)', lambda x, y: jnp.einsum("ik,kj->ij", x, y), M, floats(7, 2)),
    two("einsum attention", '(einsum "bhtd,bhsd->bhts" x y)', lambda x, y: jnp.einsum("bhtd,bhsd->bhts", x, y),
        floats(2, 2, 3, 4), floats(2, 2, 5, 4)),
    two("einsum permuted", '(einsum "bik,kj->jbi" x y)', lambda x, y: jnp.einsum("bik,kj->jbi", x, y), X,
        floats(4, 2)),
    two("einsum sums first", '(einsum "ab,bcd->c" x y)', lambda x, y: jnp.einsum("ab,bcd->c", x, y), floats(2, 3),
        floats(3, 4, 2)),
    two("einsum elementwise", '(einsum "ij,ij->ij" x y)', lambda x, y: x * y, M, floats(5, 7, seed=2)),
    two("einsum implicit", '(einsum "ij,jk" x y)', lambda x, y: x @ y, M, floats(7, 2)),
    of("einsum trace", '(einsum "ii" x)', jnp.trace, x=floats(4, 4)),
    of("einsum diagonal", '(einsum "ii->i" x)', jnp.diagonal, x=floats(4, 4)),
    of("einsum transpose", '(einsum "ij->ji" x)', jnp.transpose, x=M),
    Case("einsum three", '(einsum "i,ij,j->" x y z)', {"x": floats(3), "y": floats(3, 4), "z": floats(4)},
         lambda x, y, z: x @ y @ z),
]

OTHER = [
    of("stop-gradient", "(* x (stop-gradient (exp x)))", lambda x: x * jax.lax.stop_gradient(jnp.exp(x))),
]

CASES = [*REDUCTIONS, *SHAPES, *INDEXING, *MORE, *MAKE, *PRODUCTS, *OTHER]

test_is_what_jax_computes = is_what_jax_computes
