"""Gradients against central differences of definitions in NumPy, in f64: what JAX does not have, what it calls by
another convention, what we write by rules of our own, and the rest of the table by families.

CI tries the first shape of each.
"""

from __future__ import annotations

import numpy as np
import pytest
from differences import Definition, wrong

special = pytest.importorskip("scipy.special")

IDS = np.array([3, 0, 3, 1], np.int32)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def logsumexp(x, axis=-1):
    return special.logsumexp(x, axis=axis)


def unit(words):
    return (words >> 8).astype(np.float64) * 2.0**-24


def open_unit(words):
    return ((words >> 9).astype(np.float64) + 0.5) * 2.0**-23


def cross_entropy(x, targets, ignore=None, smoothing=0.0, z=0.0, soft=False):
    log_probs = x - logsumexp(x)[..., None]
    classes = x.shape[-1]
    mixed = targets if soft else np.eye(classes)[np.where(targets < 0, 0, targets)]
    losses = -((1 - smoothing) * mixed * log_probs + smoothing / classes * log_probs).sum(-1) + z * logsumexp(x) ** 2
    counts = np.ones_like(losses) if ignore is None else (targets != ignore).astype(float)
    return (losses * counts).sum() / counts.sum()


def kl(x, targets):
    return (special.xlogy(targets, targets) - targets * x).sum(-1).mean()


def rnn(x, h, w, backwards=False):
    ys = [None] * len(x)
    for i in reversed(range(len(x))) if backwards else range(len(x)):
        ys[i] = np.sin(h) * x[i]
        h = np.exp(-((h @ w + x[i]) ** 2))
    return np.stack(ys) + h


def layers(h, count=4):
    for i in range(count):
        h = h + np.exp(-h * h) * i
    return h


def moments(x, axes):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + 1e-5)


def group_norm(x, gain, bias):
    parts = x.reshape(x.shape[0], -1, 2, x.shape[-1] // 2)
    return moments(parts, (1, 3)).reshape(x.shape) * gain + bias


def rope(x):
    half = x.shape[-1] // 2
    angles = np.outer(np.arange(x.shape[-2]), 10000.0 ** (-np.arange(half) / half))
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], -1)


def attend(q, k, v):
    scores = np.einsum("bhtd,bhsd->bhts", q, k) / np.sqrt(q.shape[-1])
    seen = np.tril(np.ones(scores.shape[-2:], bool), scores.shape[-1] - scores.shape[-2])
    return softmax(np.where(seen, scores, -1e30)) @ v


def convolution(x, w, stride=1, dilation=1, groups=1, same=False):
    """One axis of space, from the sum that it is."""
    reach = (len(w) - 1) * dilation + 1
    if same:
        out = -(-x.shape[1] // stride)
        lack = max((out - 1) * stride + reach - x.shape[1], 0)
        x = np.pad(x, [(0, 0), (lack // 2, lack - lack // 2), (0, 0)])
    out = (x.shape[1] - reach) // stride + 1
    inputs, outputs = w.shape[1], w.shape[2] // groups
    found = np.zeros((x.shape[0], out, w.shape[2]))
    for t in range(out):
        for j in range(len(w)):
            for g in range(groups):
                part = x[:, t * stride + j * dilation, g * inputs:(g + 1) * inputs]
                found[:, t, g * outputs:(g + 1) * outputs] += part @ w[j][:, g * outputs:(g + 1) * outputs]
    return found


def pool(x, size, stride, f):
    return np.stack([f(x[:, t:t + size], axis=1) for t in range(0, x.shape[1] - size + 1, stride)], 1)


def resized(x, n):
    place = np.clip((np.arange(n) + 0.5) * x.shape[1] / n - 0.5, 0, x.shape[1] - 1)
    low = np.floor(place).astype(int)
    share = (place - low)[:, None]
    return x[:, low] * (1 - share) + x[:, np.minimum(low + 1, x.shape[1] - 1)] * share


def scattered(x, ids, updates):
    found = x.copy()
    np.add.at(found, ids, updates)
    return found


def each(*shapes):
    return [[s] for s in shapes]


ANY = each((3, 4), (), (1,), (2, 3, 2), (7,))
AXIS = each((3, 4), (1,), (2, 1, 3), (5, 1), (6,))
PAIRS = [[(3, 4), (4,)], [(), ()], [(2, 1, 3), (4, 1)], [(1,), (5,)]]

ALL = [
    # What has no case against JAX's gradients.
    Definition("gather", "(gather x y)", lambda x, i: x[i], [[(4, 3), IDS], [(4,), IDS], [(4, 2, 2), IDS[:2]]]),
    Definition("split", "(* (first (split x [1 2] :axis -1)) (sum (last (split x [1 2] :axis -1))))",
               lambda x: x[..., :1] * x[..., 1:].sum(), each((2, 3), (3,), (2, 2, 3))),
    Definition("value and gradient", "(let ((both (value-and-gradient (fn (x) (sum (* x x x))) x)))"
               " (* (first both) (last both)))", lambda x: (x**3).sum() * 3 * x**2, each((5,), (), (2, 3))),
    Definition("dropout", "(dropout x 0.25)", lambda x, w: np.where(w < 0.75 * 2**32, x / 0.75, 0), ANY,
               words=lambda x: [x.shape]),
    Definition("dropout of a tensor", "(dropout x (sum y))", lambda x, r, w: np.where(unit(w) < 1 - r, x / (1 - r), 0),
               [[(5, 6), np.array(0.3)], [(4,), np.array(0.6)]], f64=False, words=lambda x, y: [x.shape]),
    Definition("uniform", "(* x (random-uniform [3 4] :low y :high z))",
               lambda x, a, b, w: x * (a + unit(w) * (b - a)), [[(3, 4), (4,), (3, 1)], [(), (), ()]], f64=False,
               words=lambda *_: [(3, 4)]),
    Definition("normal", "(* x (random-normal [3 4] :mean y :std z))",
               lambda x, m, s, w: x * (m + s * special.ndtri(open_unit(w))), [[(3, 4), (4,), (3, 1)], [(), (), ()]],
               f64=False, words=lambda *_: [(3, 4)]),
    # Losses of our own definition.
    Definition("cross entropy", "(cross-entropy x y :ignore -1 :label-smoothing 0.1 :z-loss 0.01)",
               lambda x, y: cross_entropy(x, y, -1, 0.1, 0.01),
               [[(4, 5), np.array([4, -1, 0, 2])], [(2, 2, 3), np.array([[0, 1], [2, -1]])]], f64=False),
    Definition("cross entropy of soft targets", "(cross-entropy x y :label-smoothing 0.2)",
               lambda x, y: cross_entropy(x, y, smoothing=0.2, soft=True) if np.allclose(y.sum(-1), 1) else
               (-(0.8 * y + 0.2 / 3) * (x - logsumexp(x)[..., None])).sum(-1).mean(),
               [[(4, 3), softmax(np.arange(12.0).reshape(4, 3) % 5)]], f64=False),
    Definition("binary cross entropy", "(binary-cross-entropy x y)",
               lambda x, y: (np.logaddexp(0, x) - x * y).mean(), [[(3, 4), (3, 4)], [(), ()], [(5,), (5,)]]),
    Definition("kl divergence", "(kl-divergence x y)", kl, [[(3, 4), (3, 4)], [(2,), (2,)]], "positive", f64=False),
    Definition("huber", "(huber x y :delta 0.7 :reduce :sum)", lambda x, y: np.where(
        abs(x - y) < 0.7, 0.5 * (x - y) ** 2, 0.7 * (abs(x - y) - 0.35)).sum(), [[(3, 4), (3, 4)], [(6,), (6,)]]),
    Definition("cosine similarity", "(cosine-similarity x y)", lambda x, y: (x * y).sum(-1) / np.sqrt(
        (x * x).sum(-1) * (y * y).sum(-1)), [[(3, 4), (3, 4)], [(5,), (5,)]]),
    # Special functions.
    Definition("erf", "(erf x)", special.erf, ANY),
    Definition("erf-inv", "(erf-inv x)", special.erfinv, ANY, "unit", f64=False),
    Definition("logaddexp", "(logaddexp x y)", np.logaddexp, PAIRS),
    Definition("softplus", "(softplus x)", lambda x: np.logaddexp(0, x), ANY),
    Definition("mish", "(mish x)", lambda x: x * np.tanh(np.logaddexp(0, x)), ANY, f64=False),
    Definition("gelu", "(gelu x)", lambda x: x * special.ndtr(x), ANY),
    Definition("gelu by tanh", "(gelu x :approximate true)", lambda x: 0.5 * x * (1 + np.tanh(
        np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), ANY, f64=False),
    Definition("sigmoid", "(sigmoid x)", special.expit, ANY),
    Definition("pow", "(pow x y)", np.power, PAIRS, "positive"),
    Definition("atan2", "(atan2 x y)", np.arctan2, PAIRS, f64=False),
    Definition("mod", "(mod x y)", np.mod, [[np.array([5.3, -5.3, 2.1]), np.array([2.0, 3.0, -4.0])]], f64=False),
    Definition("log1p", "(log1p x)", np.log1p, ANY, "unit"),
    Definition("expm1", "(expm1 x)", np.expm1, ANY),
    Definition("tan", "(tan x)", np.tan, ANY, "unit", f64=False),
    Definition("elu", "(elu x :alpha 1.3)", lambda x: np.where(x > 0, x, 1.3 * np.expm1(x)), ANY),
    # Along an axis.
    Definition("logcumsumexp", "(logcumsumexp x)", np.logaddexp.accumulate, AXIS),
    Definition("cumprod", "(cumprod x)", lambda x: np.cumprod(x, 0), AXIS),
    Definition("cumprod with zeros", "(cumprod x)", lambda x: np.cumprod(x, 0),
               [[np.array([1.5, 0.0, 2.0, -1.0])], [np.array([0.0, 0.0, 2.0])]]),
    Definition("prod with zeros", "(prod x :axis 0)", lambda x: x.prod(0),
               [[np.array([[1.5, 0.0], [0.0, 2.0], [3.0, -1.0]])], [np.array([0.0, 0.0, 2.0])]]),
    Definition("norm", "(norm x :axis -1)", lambda x: np.sqrt((x * x).sum(-1)), AXIS),
    Definition("norm of order 1", "(norm x :axis -1 :order 1)", lambda x: abs(x).sum(-1), AXIS),
    Definition("norm of order inf", "(norm x :axis -1 :order inf)", lambda x: abs(x).max(-1), AXIS),
    Definition("std", "(std x :axis 0 :ddof 1)", lambda x: x.std(0, ddof=1), each((3, 4), (5,), (2, 3, 2))),
    Definition("softmax", "(softmax x)", softmax, AXIS),
    Definition("logsumexp", "(logsumexp x)", logsumexp, AXIS),
    Definition("sort", "(sort x :descending true)", lambda x: -np.sort(-x, -1), AXIS),
    Definition("top-k", "(first (top-k x 2))", lambda x: -np.sort(-x, -1)[..., :2], each((3, 4), (5,), (2, 2, 3))),
    Definition("take-along", "(take-along x y)", lambda x, i: np.take_along_axis(x, i, -1),
               [[(2, 4), np.array([[3, 0, 3], [1, 1, 2]], np.int32)]]),
    Definition("scatter-add", "(scatter-add x y z)", scattered, [[(4, 3), IDS, (4, 3)], [(4,), IDS, (4,)]]),
    Definition("roll", "(roll x 2)", lambda x: np.roll(x, 2, 0), AXIS),
    Definition("tril", "(tril x 1)", lambda x: np.tril(x, 1), each((3, 4), (1, 1), (2, 4, 3))),
    # Norms, attention, windows.
    Definition("layer norm", "(layer-norm x y z)", lambda x, g, b: moments(x, (-1,)) * g + b,
               [[(3, 4), (4,), (4,)], [(5,), (5,), (5,)], [(2, 1, 3), (3,), (3,)]], tolerance=10),
    Definition("rms norm", "(rms-norm x y)", lambda x, g: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * g,
               [[(3, 4), (4,)], [(5,), (5,)]]),
    Definition("group norm", "(group-norm x 2 y z)", group_norm,
               [[(2, 3, 4), (4,), (4,)], [(1, 2, 2, 6), (6,), (6,)]], tolerance=10),
    Definition("rope", "(rope x)", rope, each((2, 3, 4), (5, 2), (1, 2)), f64=False),
    Definition("attention", "(attention x y z :causal true)", attend,
               [[(1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 2)], [(2, 1, 2, 3), (2, 1, 4, 3), (2, 1, 4, 3)]]),
    Definition("conv", "(conv x y)", convolution, [[(2, 7, 3), (3, 3, 2)], [(1, 1, 1), (1, 1, 1)]]),
    Definition("conv, wide", "(conv x y :stride 2 :dilation 2 :padding :same :groups 2)",
               lambda x, w: convolution(x, w, 2, 2, 2, True), [[(2, 7, 4), (3, 2, 6)], [(1, 4, 2), (2, 1, 2)]]),
    Definition("max-pool", "(max-pool x [3] :stride 2)", lambda x: pool(x, 3, 2, np.max), each((2, 7, 3), (1, 3, 1))),
    Definition("avg-pool", "(avg-pool x [3] :stride 1)", lambda x: pool(x, 3, 1, np.mean), each((2, 7, 3), (1, 3, 1))),
    Definition("resize up", "(resize x [7])", lambda x: resized(x, 7), each((2, 4, 2), (1, 1, 1)), f64=False),
    Definition("resize down", "(resize x [3])", lambda x: resized(x, 3), each((2, 8, 2), (1, 4, 1)), f64=False),
    Definition("einsum", '(einsum "bij,bjk,k->bi" x y z)', lambda x, y, z: np.einsum("bij,bjk,k->bi", x, y, z),
               [[(2, 3, 4), (2, 4, 2), (2,)], [(1, 1, 1), (1, 1, 1), (1,)]]),
    # Loops, recomputation, derivatives of derivatives.
    *(Definition(f"scan{' '.join(['', *options])}", f"(let ((both (scan (fn (h x) (list (exp (neg (square (+ "
                 f"(matmul h z) x)))) (* (sin h) x))) y x {' '.join(options)}))) (+ (last both) (first both)))",
                 lambda x, h, w, o=options: rnn(x, h, w, ":reverse true" in o),
                 [[(7, 3), (3,), (3, 3)], [(1, 1), (1,), (1, 1)], [(11, 2), (2,), (2, 2)]], f64=False)
      for options in ([], [":reverse true"], [":remat true"], [":remat true", ":reverse true"])),
    Definition("repeat", "(repeat 4 (fn (h i) (+ h (remat (* (exp (neg (* h h))) (cast i (dtype h)))))) x)", layers,
               ANY),
    Definition("second order", "(gradient (fn (x) (sum (* (exp x) x x))) x)", lambda x: np.exp(x) * (x * x + 2 * x),
               ANY),
    Definition("custom gradient", "(custom-gradient (fn (x) (* x x)) (fn (g v x) (* g x 2)) x)", lambda x: x * x, ANY),
    Definition("branches", "(if (> (sum x) 0) (matmul x y) (matmul (neg x) (square y)))",
               lambda x, y: x @ y if x.sum() > 0 else -x @ y**2, [[np.ones((2, 3)), (3, 2)],
                                                                   [-np.ones((2, 3)), (3, 2)]]),
]
FAMILIES = {f"{i}": ALL[i:i + 16] for i in range(0, len(ALL), 16)}


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_the_slopes_of_definitions(family):
    """The first shape of each, in f64 where there is one."""
    told = wrong([definition.cases()[0] for definition in FAMILIES[family]])
    assert not told, "\n".join(told)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_at_every_shape_and_dtype(family):
    told = wrong([case for definition in FAMILIES[family] for case in definition.cases()[1:]])
    assert not told, "\n".join(told)
