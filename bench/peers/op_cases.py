"""Operations whose gradients could be slow: each in the language, in PyTorch and in JAX, on the same numbers.

`torch` and `jax` are functions of that library's names, then of the arguments; integers come as int64 and int32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


def floats(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def ids(high: int, *shape: int) -> NDArray[np.int32]:
    return np.random.default_rng(1).integers(0, high, shape, dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Operation:
    """`source` of the names of `arguments`; forward and the gradient by every float argument are timed."""

    name: str
    source: str
    arguments: dict[str, NDArray]
    torch: Callable
    jax: Callable


def embedding(vocab: int, width: int) -> Operation:
    return Operation(f"embedding, {vocab} x {width}, 2048 ids", "(embedding t i)",
                     {"t": floats(vocab, width), "i": ids(vocab, 2048)},
                     lambda torch, F, t, i: F.embedding(i, t), lambda jax, t, i: t[i])


def taken(count: int, axis: int, *shape: int) -> Operation:
    return Operation(f"take, {count} of axis {axis} of {' x '.join(map(str, shape))}", f"(take x i :axis {axis})",
                     {"x": floats(*shape), "i": ids(shape[axis], count)},
                     lambda torch, F, x, i: x.index_select(axis, i), lambda jax, x, i: x.take(i, axis))


def entropy(rows: int, classes: int) -> Operation:
    return Operation(f"cross-entropy, {rows} x {classes}", "(cross-entropy x y)",
                     {"x": floats(rows, classes), "y": ids(classes, rows)},
                     lambda torch, F, x, y: F.cross_entropy(x, y),
                     lambda jax, x, y: -jax.numpy.take_along_axis(jax.nn.log_softmax(x), y[:, None], -1).mean())


def attention(time: int, batch: int) -> Operation:
    shape = (batch, 4, time, 32)

    def theirs(jax, q, k, v):
        scores = jax.numpy.einsum("bhtd,bhsd->bhts", q, k) * 32 ** -0.5
        seen = jax.numpy.tril(jax.numpy.ones((time, time), bool))
        return jax.nn.softmax(jax.numpy.where(seen, scores, -1e30)) @ v

    return Operation(f"attention, causal, {batch} x 4 x {time} x 32", "(attention q k v :causal true)",
                     {"q": floats(*shape), "k": floats(*shape, seed=1), "v": floats(*shape, seed=2)},
                     lambda torch, F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), theirs)


def convolution(size: int, channels: int, out: int, stride: int = 1) -> Operation:
    def theirs(jax, x, w):
        return jax.lax.conv_general_dilated(x, w, (stride, stride), [(1, 1), (1, 1)],
                                            dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def torchs(torch, F, x, w):
        return F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), stride=stride, padding=1).permute(0, 2, 3, 1)

    return Operation(f"conv 3 x 3 / {stride}, 32 x {size} x {size} x {channels} to {out}",
                     f"(conv x w :stride {stride} :padding [[1 1] [1 1]])",
                     {"x": floats(32, size, size, channels), "w": floats(3, 3, channels, out)}, torchs, theirs)


def pooled(kind: str) -> Operation:
    def theirs(jax, x):
        if kind == "max":
            return jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4

    def torchs(torch, F, x):
        return getattr(F, f"{kind}_pool2d")(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)

    return Operation(f"{kind}-pool 2 x 2, 32 x 28 x 28 x 32", f"({kind}-pool x 2)", {"x": floats(32, 28, 28, 32)},
                     torchs, theirs)


def norm(jax, x, gain, bias):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * gain + bias


ROWS = {"x": floats(2048, 512)}

OPERATIONS = (
    embedding(256, 128), embedding(4096, 256), embedding(50304, 256),
    taken(128, 1, 16, 512, 64), taken(128, 1, 2048, 512),
    entropy(2048, 256), entropy(512, 4096), entropy(512, 50304),
    attention(128, 16), attention(512, 4),
    convolution(28, 1, 16), convolution(28, 16, 32), convolution(14, 32, 64), convolution(28, 16, 32, stride=2),
    pooled("max"), pooled("avg"),
    Operation("cumsum, 2048 x 512", "(cumsum x :axis -1)", ROWS, lambda torch, F, x: x.cumsum(-1),
              lambda jax, x: jax.numpy.cumsum(x, -1)),
    Operation("cumprod, 256 x 128", "(cumprod x :axis -1)", {"x": floats(256, 128) * 0.01 + 1},
              lambda torch, F, x: x.cumprod(-1), lambda jax, x: jax.numpy.cumprod(x, -1)),
    Operation("logcumsumexp, 256 x 512", "(logcumsumexp x :axis -1)", {"x": floats(256, 512)},
              lambda torch, F, x: x.logcumsumexp(-1), lambda jax, x: jax.lax.cumlogsumexp(x, axis=1)),
    Operation("layer-norm, 2048 x 512", "(layer-norm x g b)", {**ROWS, "g": floats(512), "b": floats(512)},
              lambda torch, F, x, g, b: F.layer_norm(x, (512,), g, b), norm),
    Operation("softmax, 2048 x 512", "(softmax x)", ROWS, lambda torch, F, x: x.softmax(-1),
              lambda jax, x: jax.nn.softmax(x)),
    Operation("gelu, 2048 x 512", "(gelu x)", ROWS, lambda torch, F, x: F.gelu(x),
              lambda jax, x: jax.nn.gelu(x, approximate=False)),
    Operation("matmul, 2048 x 512 x 512", "(matmul x w)", {**ROWS, "w": floats(512, 512)},
              lambda torch, F, x, w: x @ w, lambda jax, x, w: x @ w),
    Operation("top-k, 8 of 256 x 512", "(first (top-k x 8))", {"x": floats(256, 512)},
              lambda torch, F, x: x.topk(8).values, lambda jax, x: jax.lax.top_k(x, 8)[0]),
    Operation("sort, 256 x 512", "(sort x)", {"x": floats(256, 512)}, lambda torch, F, x: x.sort(-1).values,
              lambda jax, x: jax.numpy.sort(x, -1)),
)


def cotangent(shape: tuple[int, ...]) -> NDArray[np.float32]:
    return floats(*shape, seed=7) if shape else np.ones((), np.float32)
