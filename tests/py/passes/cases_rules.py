"""One or more cases for every derivative rule: `lax` calls that lower to the operation, in awkward shapes and types."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from oracle import Case

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def positive(*shape: int) -> np.ndarray:
    return (RNG.random(shape) + 0.3).astype(np.float32)


def unit(*shape: int) -> np.ndarray:
    return (RNG.random(shape) * 1.6 - 0.8).astype(np.float32)


SHAPES = ((), (1,), (3, 4), (2, 1, 3, 1, 2))

UNARY = {
    "neg": (lax.neg, normal),
    "abs": (lax.abs, normal),
    "exp": (lax.exp, normal),
    "expm1": (lax.expm1, normal),
    "log": (lax.log, positive),
    "log1p": (lax.log1p, positive),
    "sqrt": (lax.sqrt, positive),
    "rsqrt": (lax.rsqrt, positive),
    "cbrt": (lax.cbrt, positive),
    "sin": (lax.sin, normal),
    "cos": (lax.cos, normal),
    "tan": (lax.tan, unit),
    "tanh": (lax.tanh, normal),
    "logistic": (lax.logistic, normal),
    "erf": (lax.erf, normal),
    "erfc": (lax.erfc, normal),
    "erf_inv": (lax.erf_inv, unit),
    "square": (lax.square, normal),
    "sinh": (lax.sinh, normal),
    "cosh": (lax.cosh, normal),
    "asin": (lax.asin, unit),
    "acos": (lax.acos, unit),
    "atan": (lax.atan, normal),
    "asinh": (lax.asinh, normal),
    "acosh": (lambda x: lax.acosh(x + 1), positive),
    "atanh": (lax.atanh, unit),
    "lgamma": (lax.lgamma, positive),
    "floor": (lambda x: lax.floor(x) * x, normal),
    "ceil": (lambda x: lax.ceil(x) * x, normal),
    "round": (lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN) * x, normal),
    "sign": (lambda x: lax.sign(x) * x, normal),
    # A round trip through bf16 is left out: IREE folds the two conversions and rounds nothing.
    "reduce_precision": (lambda x: lax.reduce_precision(x, 8, 7), normal),
    "integer_pow": (lambda x: x**3, normal),
    "barrier": (lambda x: lax.optimization_barrier((x, x * 2))[1] * x, normal),
}

BINARY = {
    "add": (lax.add, normal, normal),
    "sub": (lax.sub, normal, normal),
    "mul": (lax.mul, normal, normal),
    "div": (lax.div, normal, positive),
    "rem": (lax.rem, normal, positive),
    "pow": (lax.pow, positive, normal),
    "max": (lax.max, normal, normal),
    "min": (lax.min, normal, normal),
    "atan2": (lax.atan2, normal, positive),
}

TIES = np.array([1.0, 2.0, 2.0, -1.0, 0.0, 0.0], np.float32).reshape(2, 3)


def two_shapes(i: int) -> tuple[tuple[int, ...], ...]:
    """Every shape is met by half of the operations, which keeps the compilation short."""
    return SHAPES[i % 4], SHAPES[(i + 2) % 4]


def elementwise() -> list[Case]:
    cases = [
        Case(f"{name}_{len(shape)}", f, [make(*shape)], tolerance=1e-4 if name in ("lgamma", "erf_inv") else 3e-5)
        for i, (name, (f, make)) in enumerate(UNARY.items())
        for shape in two_shapes(i)
    ]
    cases += [
        Case(f"{name}_{len(shape)}", f, [a(*shape), b(*shape)], tolerance=3e-5)
        for i, (name, (f, a, b)) in enumerate(BINARY.items())
        for shape in two_shapes(i)
    ]
    flipped = TIES[::-1].copy()
    cases += [
        Case("max_ties", lax.max, [TIES, flipped]),
        Case("min_ties", lax.min, [TIES, flipped]),
        # 0^0 is left out: JAX gives NaN for its gradient, ours is 0.
        Case("pow_zero", lax.pow, [np.array([0, 3, 2], np.float32), np.array([2, 1, 0], np.float32)]),
        Case("select", lambda c, x, y: lax.select(c, x, y), [TIES > 0, normal(2, 3), normal(2, 3)]),
        Case("select_scalar", lambda c, x, y: lax.select(c, x, y), [np.array(True), normal(2, 3), normal(2, 3)]),
        Case("clamp", lambda x: lax.clamp(np.float32(-0.5), x, np.float32(0.5)), [normal(4, 5)]),
        Case("clamp_edges", lambda x: lax.clamp(np.float32(0), x, np.float32(2)), [TIES]),
        Case("clamp_bounds", lax.clamp, [unit(3, 3) - 1, normal(3, 3), unit(3, 3) + 1]),
        Case(
            "clamp_scalar_bounds",
            lambda lo, x, hi: lax.clamp(lo, x, hi),
            [np.float32(-0.3), normal(3, 3), np.float32(0.4)],
            wrt=(1,),
        ),
        Case("same_operand", lambda x: x * x + x / (x * x + 1), [normal(3)]),
        Case("fan_out", lambda x: jnp.sin(x) * jnp.cos(x) + x, [normal(2, 2)]),
        Case(
            "bf16_mul",
            lambda x, y: x * y,
            [normal(3, 4).astype(jnp.bfloat16), normal(3, 4).astype(jnp.bfloat16)],
            tolerance=2e-2,
        ),
        Case(
            "f64_div",
            lambda x, y: x / (y * y + 1),
            [normal(3, 4).astype(np.float64), normal(3, 4).astype(np.float64)],
            tolerance=1e-12,
        ),
        Case("through_int", lambda x: x + x.astype(jnp.int32).astype(jnp.float32), [normal(3)]),
    ]
    return cases


def shape() -> list[Case]:
    x = normal(2, 3, 4)
    return [
        Case("reshape", lambda x: x.reshape(4, 6) * 2, [x]),
        Case("reshape_scalar", lambda x: x.reshape(()), [normal(1, 1)]),
        Case("transpose", lambda x: x.transpose(2, 0, 1), [x]),
        Case("broadcast", lambda x: lax.broadcast_in_dim(x, (2, 5, 3), (2,)), [normal(3)]),
        Case("broadcast_ones", lambda x: lax.broadcast_in_dim(x, (2, 5, 3), (0, 1, 2)), [normal(2, 1, 1)]),
        Case("broadcast_scalar", lambda x: lax.broadcast_in_dim(x, (2, 5), ()), [normal()]),
        Case("broadcast_same", lambda x: lax.broadcast_in_dim(x, (1, 3), (1,)), [normal(3)]),
        Case("concatenate", lambda a, b, c: lax.concatenate([a, b, c], 1), [normal(2, 1), normal(2, 3), normal(2, 2)]),
        Case("slice", lambda x: lax.slice(x, (0, 1, 1), (2, 3, 4), (1, 1, 2)), [x]),
        Case("slice_strided", lambda x: lax.slice(x, (1,), (9,), (3,)), [normal(11)]),
        Case("pad", lambda x, v: lax.pad(x, v, [(1, 2, 0), (0, 1, 2)]), [normal(3, 4), normal()]),
        Case("pad_negative", lambda x, v: lax.pad(x, v, [(-1, 2, 0), (1, -2, 1)]), [normal(3, 4), normal()]),
        Case("pad_crop", lambda x: lax.pad(x, np.float32(0), [(-1, -1, 1)]), [normal(6)]),
        Case("rev", lambda x: lax.rev(x, (0, 2)), [x]),
        Case("squeeze", lambda x: jnp.squeeze(x[:, None], 1), [normal(3)]),
        Case("dynamic_slice", lambda x, i: lax.dynamic_slice(x, (i, np.int32(1)), (2, 2)), [normal(5, 4), np.int32(2)]),
        Case(
            "dynamic_slice_clamped",
            lambda x, i: lax.dynamic_slice(x, (i, np.int32(1)), (2, 2)),
            [normal(5, 4), np.int32(9)],
        ),
        Case(
            "dynamic_update_slice",
            lambda x, u, i: lax.dynamic_update_slice(x, u, (i, np.int32(1))),
            [normal(5, 4), normal(2, 2), np.int32(1)],
        ),
        Case("roll", lambda x: jnp.roll(x, 2, 1), [normal(3, 5)]),
        Case("tile", lambda x: jnp.tile(x, (2, 3)), [normal(3, 2)]),
        Case("tril", lambda x: jnp.tril(x), [normal(4, 4)]),
    ]


def dot(ca: tuple[int, ...], cb: tuple[int, ...], ba: tuple[int, ...] = (), bb: tuple[int, ...] = ()):
    return lambda a, b: lax.dot_general(a, b, ((ca, cb), (ba, bb)))


def contraction() -> list[Case]:
    return [
        Case("dot_mk_kn", dot((1,), (0,)), [normal(3, 4), normal(4, 5)]),
        Case("dot_km_kn", dot((0,), (0,)), [normal(4, 3), normal(4, 5)]),
        Case("dot_mk_nk", dot((1,), (1,)), [normal(3, 4), normal(5, 4)]),
        Case("dot_vector", dot((0,), (0,)), [normal(4), normal(4)]),
        Case("dot_outer", dot((), ()), [normal(3), normal(4)]),
        Case("dot_scalar", lambda a, b: lax.dot_general(a, b, (((), ()), ((), ()))), [normal(), normal(3)]),
        Case("dot_btk_kn", dot((2,), (0,)), [normal(2, 3, 4), normal(4, 5)]),
        Case("dot_batch", dot((2,), (1,), (0,), (0,)), [normal(2, 3, 4), normal(2, 4, 5)]),
        Case("dot_attention", dot((3,), (3,), (0, 1), (0, 1)), [normal(2, 2, 3, 4), normal(2, 2, 5, 4)]),
        Case("dot_batch_inside", dot((3,), (3,), (0, 2), (0, 2)), [normal(2, 3, 2, 4), normal(2, 5, 2, 4)]),
        Case("dot_two_contract", dot((1, 2), (1, 0)), [normal(3, 4, 5), normal(5, 4, 2)]),
        Case("dot_two_contract_batch", dot((1, 3), (0, 2), (2,), (1,)), [normal(3, 4, 2, 5), normal(4, 2, 5)]),
        Case("dot_size_one", dot((1,), (0,)), [normal(1, 1), normal(1, 1)]),
        Case("dot_same", lambda a: a @ a.T, [normal(3, 4)]),
        Case(
            "dot_bf16_f32",
            lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32),
            [normal(3, 4).astype(jnp.bfloat16), normal(4, 5).astype(jnp.bfloat16)],
            tolerance=2e-2,
        ),
        Case("einsum_bhtd", lambda q, k: jnp.einsum("bthd,bshd->bhts", q, k), [normal(2, 3, 2, 4), normal(2, 5, 2, 4)]),
        Case("einsum_abc", lambda a, b: jnp.einsum("abc,cbd->da", a, b), [normal(2, 3, 4), normal(4, 3, 5)]),
        Case("einsum_trace", lambda a: jnp.einsum("ij,ij->i", a, a), [normal(3, 4)]),
    ]


def reduction() -> list[Case]:
    ties = np.array([[1, 3, 3, 2], [0, 0, 0, 0], [-1, -5, 2, 2]], np.float32)
    return [
        Case("sum_all", lambda x: jnp.sum(x), [normal(2, 3, 4)]),
        Case("sum_axis", lambda x: jnp.sum(x, 1), [normal(2, 3, 4)]),
        Case("sum_one", lambda x: jnp.sum(x, 0), [normal(1)]),
        Case("sum_axes", lambda x: jnp.sum(x, (0, 2)), [normal(2, 3, 4)]),
        Case("mean", lambda x: jnp.mean(x, -1, keepdims=True), [normal(2, 3)]),
        Case("reduce_max", lambda x: jnp.max(x, 1), [ties]),
        Case("reduce_min", lambda x: jnp.min(x, 0), [ties]),
        Case("reduce_max_all", lambda x: jnp.max(x), [ties]),
        Case("prod", lambda x: jnp.prod(x, 1), [positive(3, 4)]),
        Case("logsumexp", lambda x: jax.nn.logsumexp(x, -1), [normal(3, 5)]),
        Case("var", lambda x: jnp.var(x, 1), [normal(3, 5)]),
        Case("norm", lambda x: jnp.linalg.norm(x), [normal(3, 5)]),
        Case("cumsum", lambda x: jnp.cumsum(x, 1), [normal(3, 5)]),
        Case(
            "window_sum",
            lambda x: lax.reduce_window(x, np.float32(0), lax.add, (2, 3), (2, 1), [(0, 1), (1, 1)]),
            [normal(5, 6)],
        ),
        Case(
            "avg_pool",
            lambda x: lax.reduce_window(x, np.float32(0), lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
            [normal(2, 4, 6, 3)],
        ),
    ]


def indexing() -> list[Case]:
    table = normal(7, 3)
    ids = np.array([[1, 5, 1], [0, 6, 5]], np.int32)
    return [
        Case("embedding", lambda t, i: t.at[i].get(mode="clip"), [table, ids]),
        Case("embedding_fill", lambda t, i: t[i], [table, ids]),
        Case("take_axis1", lambda t, i: jnp.take(t, i, axis=1, mode="clip"), [normal(3, 7), ids]),
        Case("take_along", lambda x, i: jnp.take_along_axis(x, i, 1), [normal(2, 7), ids]),
        Case("gather_pick", lambda x, i: x[jnp.arange(2), i[:, 0]], [normal(2, 7), ids]),
        Case("gather_out_of_range", lambda t, i: t.at[i].get(mode="clip"), [table, np.array([9, -3, 2], np.int32)]),
        Case("scatter_add", lambda x, i, u: x.at[i].add(u, mode="promise_in_bounds"), [table, ids, normal(2, 3, 3)]),
        Case(
            "scatter_set",
            lambda x, i, u: x.at[i].set(u, mode="promise_in_bounds", unique_indices=True),
            [table, np.array([4, 0, 2], np.int32), normal(3, 3)],
        ),
        Case("sort", lambda x: jnp.sort(x, axis=1), [normal(3, 6)]),
        Case("sort_axis0", lambda x: jnp.sort(x, axis=0), [normal(4, 2)]),
        Case("sort_key", lambda k, v: lax.sort((k, v), num_keys=1)[1], [normal(6), normal(6)]),
        Case("top_k", lambda x: lax.top_k(x, 3)[0], [normal(3, 6)]),
        Case("one_hot_dot", lambda t, i: jax.nn.one_hot(i, 7) @ t, [table, ids]),
    ]


def conv(
    strides: tuple[int, ...],
    padding: str | list[tuple[int, int]],
    *,
    lhs: tuple[int, ...] | None = None,
    rhs: tuple[int, ...] | None = None,
    groups: int = 1,
    numbers: tuple[str, str, str] | None = None,
):
    n = len(strides)
    names = numbers or (("NWC", "WIO", "NWC") if n == 1 else ("NHWC", "HWIO", "NHWC"))
    return lambda x, w: lax.conv_general_dilated(x, w, strides, padding, lhs, rhs, names, groups)


def convolution() -> list[Case]:
    return [
        Case("conv1d", conv((1,), "SAME"), [normal(2, 7, 3), normal(3, 3, 4)]),
        Case("conv1d_causal_dilated", conv((1,), [(4, 0)], rhs=(2,)), [normal(2, 7, 3), normal(3, 3, 4)]),
        Case("conv2d", conv((1, 1), "SAME"), [normal(2, 5, 6, 3), normal(3, 3, 3, 4)]),
        Case("conv2d_stride", conv((2, 2), "VALID"), [normal(2, 6, 7, 3), normal(3, 2, 3, 4)]),
        Case("conv2d_stride_pad", conv((2, 3), [(1, 2), (0, 1)]), [normal(1, 6, 7, 2), normal(3, 3, 2, 2)]),
        Case("conv2d_groups", conv((1, 1), "SAME", groups=2), [normal(2, 5, 5, 4), normal(3, 3, 2, 6)]),
        Case("conv2d_depthwise", conv((1, 1), "SAME", groups=4), [normal(2, 5, 5, 4), normal(3, 3, 1, 4)]),
        Case(
            "conv2d_nchw",
            conv((1, 1), "SAME", numbers=("NCHW", "OIHW", "NCHW")),
            [normal(2, 3, 5, 5), normal(4, 3, 3, 3)],
        ),
        Case("conv_transpose", conv((1, 1), [(2, 2), (2, 2)], lhs=(2, 2)), [normal(2, 3, 3, 3), normal(3, 3, 3, 2)]),
        Case("conv2d_1x1", conv((1, 1), "VALID"), [normal(2, 4, 4, 3), normal(1, 1, 3, 5)]),
    ]


def control() -> list[Case]:
    def rnn(h: np.ndarray, w: np.ndarray, xs: np.ndarray):
        return lax.scan(lambda h, x: (jnp.tanh(h @ w + x), jnp.sin(h)), h, xs)[1]

    def nested(x: np.ndarray, w: np.ndarray):
        outer = lambda i, h: lax.fori_loop(0, 3, lambda j, h: jnp.tanh(h * w), h) + x  # noqa: E731
        return lax.fori_loop(0, 4, outer, x)

    branches = lambda c, x, y: lax.cond(c, lambda: x * y, lambda: jnp.sin(x))  # noqa: E731
    return [
        Case("scan", rnn, [normal(3), normal(3, 3), normal(6, 3)]),
        Case(
            "scan_carry",
            lambda h, w, xs: lax.scan(lambda h, x: (h * w + x, None), h, xs)[0],
            [normal(3), normal(3), normal(5, 3)],
        ),
        Case(
            "scan_reverse",
            lambda h, xs: lax.scan(lambda h, x: (h * x, h), h, xs, reverse=True)[1],
            [normal(2), normal(4, 2)],
        ),
        Case("fori", lambda x, w: lax.fori_loop(0, 5, lambda i, h: jnp.sin(h) * w, x), [normal(3), normal(3)]),
        Case("fori_index", lambda x: lax.fori_loop(2, 6, lambda i, h: h * x + i, x), [unit(3)]),
        Case("nested", nested, [normal(3), normal(3)]),
        Case("cond_true", branches, [np.array(True), normal(3), normal(3)]),
        Case("cond_false", branches, [np.array(False), normal(3), normal(3)]),
        Case(
            "switch",
            lambda i, x: lax.switch(i, [lambda: x, lambda: x * x, lambda: jnp.exp(x)]),
            [np.int32(2), normal(3)],
        ),
        Case(
            "cond_in_scan",
            lambda h, xs: lax.scan(
                lambda h, x: (lax.cond(x[0] > 0, lambda: h * x, lambda: h + jnp.cos(x)), None), h, xs
            )[0],
            [normal(2), normal(5, 2)],
        ),
    ]


GROUPS = {
    "elementwise": elementwise,
    "shape": shape,
    "contraction": contraction,
    "reduction": reduction,
    "indexing": indexing,
    "convolution": convolution,
    "control": control,
}
