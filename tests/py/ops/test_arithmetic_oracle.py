"""Arithmetic, functions, comparisons on tensors: values and gradients are JAX's."""

import jax
import jax.numpy as jnp
import numpy as np
from language import floats
from oracle_jax import Case, is_what_jax_computes

A, B, ROW, ONE, SCALAR = floats(3, 5), floats(3, 5, seed=1), floats(5), floats(3, 1), floats()
POSITIVE = np.abs(A) + 0.1
UNIT = np.tanh(A) * 0.9
I = np.arange(-6, 9, dtype=np.int32).reshape(3, 5)
J = np.array([[1, -2, 3, -4, 5]], np.int32)
U8 = np.array([0, 1, 100, 200, 255], np.uint8)
MASK = A > 0
EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 1.5, 2.5, -0.5, -2.5], np.float32)


def xy(name, source, expected, x=A, y=B, **more):
    return Case(name, source, {"x": x, "y": y}, expected, **more)


def only(name, source, expected, x=A, **more):
    return Case(name, source, {"x": x}, expected, **more)


CASES = [
    xy("add", "(+ x y)", lambda x, y: x + y),
    xy("add row", "(+ x y)", lambda x, y: x + y, y=ROW),
    xy("add column", "(+ x y)", lambda x, y: x + y, y=ONE),
    xy("add column to row", "(+ x y)", lambda x, y: x + y, x=ROW, y=ONE),
    xy("add scalar", "(+ x y)", lambda x, y: x + y, y=SCALAR),
    xy("add many", "(+ 1 x 2 y 0.5)", lambda x, y: 1 + x + 2 + y + 0.5),
    xy("subtract many", "(- x y 1 x)", lambda x, y: x - y - 1 - x),
    only("negative", "(- x)", lambda x: -x),
    only("neg", "(neg x)", lambda x: -x),
    xy("multiply", "(* x y)", lambda x, y: x * y, y=ROW),
    only("multiply number", "(* x 0.5)", lambda x: x * 0.5),
    xy("divide", "(/ x y)", lambda x, y: x / y, y=POSITIVE),
    only("reciprocal by /", "(/ x)", lambda x: 1 / x, x=POSITIVE),
    only("divide number", "(/ 2 x)", lambda x: 2 / x, x=POSITIVE),
    xy("mod", "(mod x y)", lambda x, y: jnp.mod(x, y), y=np.where(np.abs(B) < 0.1, 0.5, B).astype(np.float32)),
    xy("quotient", "(quotient x y)", lambda x, y: jnp.trunc(x / y), x=A * 10, grad=False),
    xy("mod integers", "(mod x y)", lambda x, y: jnp.mod(x, y), x=I, y=J, grad=False),
    xy("quotient integers", "(quotient x y)", lambda x, y: jax.lax.div(x, jnp.broadcast_to(y, x.shape)), x=I, y=J,
       grad=False),
    xy("maximum", "(maximum x y)", jnp.maximum),
    xy("minimum", "(minimum x y)", jnp.minimum, y=ROW),
    only("maximum tie", "(maximum x 0)", lambda x: jnp.maximum(x, 0), x=EDGES[:2]),
    xy("maximum nan", "(maximum x y)", jnp.maximum, x=EDGES, y=EDGES[::-1].copy(), grad=False),
    only("clamp", "(clamp x -0.5 0.5)", lambda x: jnp.clip(x, -0.5, 0.5)),
    only("pow 2", "(pow x 2)", lambda x: x ** 2),
    only("pow 3", "(pow x 3)", lambda x: x ** 3),
    only("pow 7", "(pow x 7)", lambda x: x ** 7),
    only("pow 1", "(pow x 1)", lambda x: x ** 1),
    only("pow half", "(pow x 0.5)", jnp.sqrt, x=POSITIVE),
    only("pow -half", "(pow x -0.5)", lambda x: jax.lax.rsqrt(x), x=POSITIVE),
    only("pow fraction", "(pow x 1.7)", lambda x: x ** 1.7, x=POSITIVE),
    xy("pow tensors", "(pow x y)", lambda x, y: x ** y, x=POSITIVE),
    only("pow of number", "(pow 2 x)", lambda x: 2.0 ** x),
    only("pow integers", "(pow x 3)", lambda x: x ** 3, x=I, grad=False),
    only("abs", "(abs x)", jnp.abs), only("abs integers", "(abs x)", jnp.abs, x=I, grad=False),
    only("sign", "(sign x)", jnp.sign, x=EDGES, grad=False),
    only("exp", "(exp x)", jnp.exp), only("log", "(log x)", jnp.log, x=POSITIVE),
    only("log1p", "(log1p x)", jnp.log1p, x=POSITIVE), only("expm1", "(expm1 x)", jnp.expm1),
    only("expm1 small", "(expm1 x)", jnp.expm1, x=A * 1e-6), only("log1p small", "(log1p x)", jnp.log1p, x=A * 1e-6),
    only("sqrt", "(sqrt x)", jnp.sqrt, x=POSITIVE), only("rsqrt", "(rsqrt x)", jax.lax.rsqrt, x=POSITIVE),
    only("square", "(square x)", jnp.square), only("reciprocal", "(reciprocal x)", jnp.reciprocal, x=POSITIVE),
    only("floor", "(floor x)", jnp.floor, x=EDGES * 3, grad=False),
    only("ceil", "(ceil x)", jnp.ceil, x=EDGES * 3, grad=False),
    only("round", "(round x)", jnp.round, x=EDGES, grad=False),
    only("sin", "(sin x)", jnp.sin), only("cos", "(cos x)", jnp.cos), only("tan", "(tan x)", jnp.tan, x=UNIT),
    only("sin large", "(sin x)", jnp.sin, x=A * 1000, tolerance=1e-4),
    only("tanh", "(tanh x)", jnp.tanh, x=A * 5), only("sigmoid", "(sigmoid x)", jax.nn.sigmoid, x=A * 20),
    only("erf", "(erf x)", jax.scipy.special.erf), xy("atan2", "(atan2 x y)", jnp.arctan2),
    only("edges exp", "(exp x)", jnp.exp, x=EDGES, grad=False),
    only("edges log", "(log x)", jnp.log, x=EDGES, grad=False),
    only("edges sqrt", "(sqrt x)", jnp.sqrt, x=EDGES, grad=False),
    only("edges tanh", "(tanh x)", jnp.tanh, x=EDGES, grad=False),
    only("edges sigmoid", "(sigmoid x)", jax.nn.sigmoid, x=EDGES, grad=False),
    xy("less", "(< x y)", lambda x, y: x < y, grad=False), xy("equal", "(= x y)", lambda x, y: x == y, x=I, y=J,
                                                             grad=False),
    only("equal number", "(= x 3)", lambda x: x == 3, x=I, grad=False),
    only("chain", "(< -1 x 1)", lambda x: (x > -1) & (x < 1), grad=False),
    xy("nan compares", "[(= x x) (/= x x) (<= x y) (> x y)]",
       lambda x, y: [x == x, x != x, x <= y, x > y], x=EDGES, y=np.zeros_like(EDGES), grad=False),
    only("unsigned compares", "[(> x 127) (< x 200) (>= 100 x)]", lambda x: [x > 127, x < 200, x <= 100], x=U8,
         grad=False),
    only("bools", "[(not x) (xor x true) (logical-and x true) (logical-or x false)]",
         lambda x: [~x, ~x, x, x], x=MASK, grad=False),
    xy("where", "(where (> x 0) x y)", lambda x, y: jnp.where(x > 0, x, y)),
    xy("where number", "(where (> x y) 1.0 0.0)", lambda x, y: jnp.where(x > y, jnp.float32(1), jnp.float32(0)),
       grad=False),
    xy("where broadcast", "(where (> y 0) x -1e9)", lambda x, y: jnp.where(y > 0, x, jnp.float32(-1e9)), y=ROW),
    only("isnan", "[(isnan x) (isinf x) (isfinite x)]",
         lambda x: [jnp.isnan(x), jnp.isinf(x), jnp.isfinite(x)], x=EDGES, grad=False),
    Case("bool to number", "(* m x)", {"m": MASK, "x": A}, lambda m, x: m * x),
    Case("bools add", "(+ m m)", {"m": MASK}, lambda m: m.astype(np.int32) * 2, grad=False),
    Case("bool times float", "(* m 0.5)", {"m": MASK}, lambda m: (m * jnp.float32(0.5)).astype(np.float32), grad=False),
    only("u8 to f32", "(* (cast x :f32) 2)", lambda x: x.astype(np.float32) * 2, x=U8, grad=False),
    only("i64 arithmetic", "(+ (* x 3) 1)", lambda x: x * 3 + 1, x=I.astype(np.int64) * 10**12, grad=False),
    only("f64", "(exp (* x 2))", lambda x: jnp.exp(x * 2), x=A.astype(np.float64), tolerance=1e-12),
    only("f16", "(+ (* x x) 1)", lambda x: x * x + 1, x=A.astype(np.float16), tolerance=2e-3),
    only("bf16", "(+ (* x x) 1)", lambda x: x * x + 1, x=np.asarray(jnp.asarray(A, jnp.bfloat16)), tolerance=2e-2,
         grad=False),
    only("size one", "(exp (+ x 1))", lambda x: jnp.exp(x + 1), x=floats(1)),
    only("scalar", "(exp (+ x 1))", lambda x: jnp.exp(x + 1), x=SCALAR),
    only("rank five", "(* x x)", lambda x: x * x, x=floats(2, 1, 3, 1, 2)),
]

test_is_what_jax_computes = is_what_jax_computes
