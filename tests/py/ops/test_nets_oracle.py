"""Activations, norms and losses of the prelude: values and gradients are JAX's."""

import jax
import jax.numpy as jnp
import numpy as np
from language import floats
from oracle_jax import Case, is_what_jax_computes

X = floats(4, 6) * 3
LOGITS = floats(2, 3, 7) * 2
IDS = np.array([[0, 6, 3], [2, 2, 5]], np.int32)
SOFT = np.asarray(jax.nn.softmax(floats(2, 3, 7, seed=8)))
GAIN, BIAS = floats(6, seed=2), floats(6, seed=3)
ZERO = np.zeros((3,), np.float32)
WIDE = np.array([[1000.0, 1001, 999], [-1000, -1001, -1e4], [-np.inf, 0, -np.inf]], np.float32)


def only(name, source, expected, x=X, **more):
    return Case(name, source, {"x": x}, expected, **more)


ACTIVATIONS = [
    only("relu", "(relu x)", jax.nn.relu), only("relu at zero", "(relu x)", jax.nn.relu, x=ZERO),
    only("relu nan", "(relu x)", jax.nn.relu, x=np.array([np.nan, np.inf, -np.inf, -0.0], np.float32), grad=False),
    only("leaky-relu", "(leaky-relu x :slope 0.1)", lambda x: jax.nn.leaky_relu(x, 0.1)),
    only("elu", "(elu x :alpha 0.7)", lambda x: jax.nn.elu(x, 0.7)),
    only("elu large", "(elu x)", jax.nn.elu, x=X * 100),
    only("gelu", "(gelu x)", lambda x: jax.nn.gelu(x, approximate=False)),
    only("gelu approximate", "(gelu x :approximate true)", lambda x: jax.nn.gelu(x, approximate=True)),
    only("silu", "(silu x)", jax.nn.silu), only("silu large", "(silu x)", jax.nn.silu, x=X * 100),
    only("mish", "(mish x)", jax.nn.mish), only("softplus", "(softplus x)", jax.nn.softplus),
    only("softplus at zero", "(softplus x)", jax.nn.softplus, x=ZERO),
    only("softplus large", "(softplus x)", jax.nn.softplus, x=X * 1000),
    only("hard-swish", "(hard-swish x)", jax.nn.hard_swish),
    Case("logaddexp", "(logaddexp x y)", {"x": X, "y": X[::-1].copy()}, jnp.logaddexp),
    only("glu", "(glu x)", jax.nn.glu), Case("swiglu", "(swiglu x y)", {"x": X, "y": floats(4, 6, seed=5)},
                                             lambda x, y: jax.nn.silu(x) * y),
    Case("geglu", "(geglu x y)", {"x": X, "y": floats(4, 6, seed=5)},
         lambda x, y: jax.nn.gelu(x, approximate=False) * y),
    only("softmax", "(softmax x)", jax.nn.softmax), only("softmax axis", "(softmax x :axis 0)",
                                                         lambda x: jax.nn.softmax(x, 0)),
    only("softmax wide", "(softmax x)", jax.nn.softmax, x=WIDE), only("softmax one", "(softmax x)", jax.nn.softmax,
                                                                      x=floats(3, 1)),
    only("log-softmax", "(log-softmax x)", jax.nn.log_softmax), only("log-softmax wide", "(log-softmax x)",
                                                                     jax.nn.log_softmax, x=WIDE[:2]),
    only("logsumexp", "(logsumexp x)", lambda x: jax.nn.logsumexp(x, -1)),
    only("logsumexp keep", "(logsumexp x :axis 0 :keep true)", lambda x: jax.nn.logsumexp(x, 0, keepdims=True)),
    only("logsumexp infinite", "(logsumexp x)", lambda x: jax.nn.logsumexp(x, -1), grad=False,
         x=np.array([[-np.inf, -np.inf], [np.inf, 0], [-np.inf, 3]], np.float32)),
]


def layer_norm(x, gain, bias, eps=1e-5):
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt((centred ** 2).mean(-1, keepdims=True) + eps) * gain + bias


def rms_norm(x, gain, eps=1e-5):
    return x / jnp.sqrt((x ** 2).mean(-1, keepdims=True) + eps) * gain


def group_norm(x, groups, gain, bias, eps=1e-5):
    parts = x.reshape(x.shape[0], -1, groups, x.shape[-1] // groups)
    centred = parts - parts.mean((1, 3), keepdims=True)
    return (centred / jnp.sqrt((centred ** 2).mean((1, 3), keepdims=True) + eps)).reshape(x.shape) * gain + bias


NORMS = [
    Case("group-norm", "(group-norm x 3 g b)", {"x": floats(2, 4, 5, 6), "g": GAIN, "b": BIAS},
         lambda x, g, b: group_norm(x, 3, g, b)),
    Case("layer-norm", "(layer-norm x g b)", {"x": X, "g": GAIN, "b": BIAS}, layer_norm),
    Case("layer-norm far", "(layer-norm x g b)", {"x": X + 1000, "g": GAIN, "b": BIAS}, layer_norm, tolerance=2e-3),
    Case("layer-norm bare", "(layer-norm x nil nil :eps 0.1)", {"x": X}, lambda x: layer_norm(x, 1, 0, 0.1)),
    Case("rms-norm", "(rms-norm x g)", {"x": X, "g": GAIN}, rms_norm),
    Case("linear", "(linear x w b)", {"x": LOGITS, "w": floats(7, 3), "b": floats(3)}, lambda x, w, b: x @ w + b),
    Case("linear without bias", "(linear x w)", {"x": LOGITS, "w": floats(7, 3)}, lambda x, w: x @ w),
]


def nll(logits, ids):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), ids[..., None], -1)[..., 0]


def smooth(logits, ids, a):
    mixed = jax.nn.one_hot(ids, logits.shape[-1], dtype=logits.dtype) * (1 - a) + a / logits.shape[-1]
    return -(mixed * jax.nn.log_softmax(logits)).sum(-1)


def ignoring(logits, ids, ignore):
    kept = ids != ignore
    return jnp.where(kept, nll(logits, ids), 0).sum() / jnp.float32(kept.sum())


def entropy(name, source, expected, **more):
    return Case(name, source, {"x": LOGITS, "y": IDS}, expected, **more)


LOSSES = [
    entropy("cross-entropy", "(cross-entropy x y)", lambda x, y: nll(x, y).mean()),
    entropy("cross-entropy sum", "(cross-entropy x y :reduce :sum)", lambda x, y: nll(x, y).sum()),
    entropy("cross-entropy none", "(cross-entropy x y :reduce :none)", nll),
    entropy("cross-entropy smooth", "(cross-entropy x y :label-smoothing 0.1)", lambda x, y: smooth(x, y, 0.1).mean()),
    entropy("cross-entropy z", "(cross-entropy x y :z-loss 1e-2)",
            lambda x, y: (nll(x, y) + 1e-2 * jax.nn.logsumexp(x, -1) ** 2).mean()),
    entropy("cross-entropy ignore", "(cross-entropy x y :ignore 2)", lambda x, y: ignoring(x, y, 2)),
    entropy("cross-entropy ignore sum", "(cross-entropy x y :ignore 2 :reduce :sum)",
            lambda x, y: jnp.where(y != 2, nll(x, y), 0).sum()),
    Case("cross-entropy ignore all", "(cross-entropy x y :ignore -100)",
         {"x": LOGITS, "y": np.full((2, 3), -100, np.int32)}, lambda x, y: (x * 0).sum()),
    Case("cross-entropy soft", "(cross-entropy x y)", {"x": LOGITS, "y": SOFT},
         lambda x, y: -(y * jax.nn.log_softmax(x)).sum(-1).mean()),
    Case("cross-entropy soft smooth", "(cross-entropy x (stop-gradient y) :label-smoothing 0.2)",
         {"x": LOGITS, "y": SOFT}, lambda x, y: -((jax.lax.stop_gradient(y) * 0.8 + 0.2 / 7) *
                                                  jax.nn.log_softmax(x)).sum(-1).mean()),
    Case("cross-entropy one row", "(cross-entropy x y)", {"x": floats(7), "y": np.array(3, np.int32)}, nll),
    Case("cross-entropy wide", "(cross-entropy x y)", {"x": LOGITS * 1e4, "y": IDS}, lambda x, y: nll(x, y).mean()),
    Case("cross-entropy u8", "(cross-entropy x y)", {"x": floats(2, 250), "y": np.array([200, 3], np.uint8)},
         lambda x, y: nll(x, y.astype(np.int32)).mean()),
    Case("binary-cross-entropy", "(binary-cross-entropy x y)", {"x": X, "y": (X > 1).astype(np.float32)},
         lambda x, y: -(y * jax.nn.log_sigmoid(x) + (1 - y) * jax.nn.log_sigmoid(-x)).mean()),
    Case("binary-cross-entropy bools at zero", "(binary-cross-entropy x y)",
         {"x": ZERO, "y": np.array([1, 0, 1], bool)},
         lambda x, y: -jnp.where(y, jax.nn.log_sigmoid(x), jax.nn.log_sigmoid(-x)).mean()),
    Case("mse", "(mse x y)", {"x": X, "y": X[::-1].copy()}, lambda x, y: ((x - y) ** 2).mean()),
    Case("mse none", "(mse x y :reduce :none)", {"x": X, "y": X[::-1].copy()}, lambda x, y: (x - y) ** 2),
    Case("mae", "(mae x y)", {"x": X, "y": floats(4, 6, seed=6)}, lambda x, y: jnp.abs(x - y).mean()),
    Case("huber", "(huber x y :delta 0.8)", {"x": X, "y": floats(4, 6, seed=6)},
         lambda x, y: jnp.where(jnp.abs(x - y) < 0.8, 0.5 * (x - y) ** 2, 0.8 * (jnp.abs(x - y) - 0.4)).mean()),
    Case("kl-divergence", "(kl-divergence (log-softmax x) (stop-gradient y))", {"x": LOGITS, "y": SOFT},
         lambda x, y: (lambda t: (t * (jnp.log(t) - jax.nn.log_softmax(x))).sum(-1).mean())(jax.lax.stop_gradient(y))),
    Case("kl-divergence of zeros", "(kl-divergence (log-softmax x) y)",
         {"x": floats(2, 3), "y": np.array([[0, 1, 0], [0.5, 0.5, 0]], np.float32)},
         lambda x, y: (jnp.where(y > 0, y * jnp.log(jnp.where(y > 0, y, 1)), 0)
                       - y * jax.nn.log_softmax(x)).sum(-1).mean(), grad=False),
    Case("cosine-similarity", "(cosine-similarity x y)", {"x": X, "y": floats(4, 6, seed=6)},
         lambda x, y: (x * y).sum(-1) / (jnp.linalg.norm(x, axis=-1) * jnp.linalg.norm(y, axis=-1))),
]

CASES = [*ACTIVATIONS, *NORMS, *LOSSES]

test_is_what_jax_computes = is_what_jax_computes
