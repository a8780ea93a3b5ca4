"""Sorting, writing by indices, bits, running sums of exponentials, against JAX: value and gradient."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

import jax.numpy as jnp
import numpy as np
from jax import lax
from language import floats
from oracle_jax import Case, is_what_jax_computes

X = floats(4, 9)
X[0, 3] = X[0, 5]
ODD = X.copy()
ODD[1, 2], ODD[2, 0], ODD[2, 4] = np.nan, np.inf, -np.inf
LONG = floats(3, 200)
LONG_NAN = LONG.copy()
LONG_NAN[1, 7], LONG_NAN[0, 3] = np.nan, LONG[0, 150]
PLACES = np.array([3, 0, 7], np.int32)


def largest(x, k):
    indices = lax.top_k(x, k)[1]
    return [jnp.take_along_axis(x, indices, -1), indices]


CASES = [
    Case("sort", "(sort x)", {"x": X}, lambda x: jnp.sort(x)),
    Case("sort nan", "(sort x)", {"x": ODD}, lambda x: jnp.sort(x), grad=False),
    Case("sort axis 0 desc", "(sort x :axis 0 :descending true)", {"x": X},
         lambda x: jnp.sort(x, axis=0, descending=True)),
    Case("argsort desc ties", "(argsort x :descending true)", {"x": X},
         lambda x: jnp.argsort(x, descending=True, stable=True).astype(np.int32), grad=False),
    Case("sort long", "(sort x)", {"x": LONG}, lambda x: jnp.sort(x)),
    Case("argsort long nan", "(argsort x)", {"x": LONG_NAN}, lambda x: jnp.argsort(x).astype(np.int32), grad=False),
    Case("argsort long desc", "(argsort x :axis 0 :descending true)", {"x": LONG.T.copy()},
         lambda x: jnp.argsort(x, axis=0, descending=True).astype(np.int32), grad=False),
    Case("sort ints", "(sort x)", {"x": np.array([3, 1, 2, 1], np.uint8)}, lambda x: jnp.sort(x), grad=False),
    Case("top-k", "(top-k x 3)", {"x": X}, lambda x: largest(x, 3)),
    Case("top-k inf", "(top-k x 9)", {"x": ODD},
         lambda x: largest(x, 9), grad=False),
    Case("top-k many", "(top-k x 40)", {"x": LONG_NAN},
         lambda x: largest(x, 40), grad=False),
    Case("scatter-set", "(scatter-set x i y)", {"x": floats(9, 2), "i": PLACES, "y": floats(3, 2)},
         lambda x, i, y:jnp.asarray(x).at[i].set(y)),
    Case("scatter-add ax", "(scatter-add x i y :axis 1)", {"x": floats(2, 9), "i": PLACES, "y": floats(2, 3)},
         lambda x, i, y:jnp.asarray(x).at[:,i].add(y)),
    Case("dynamic-slice", "(dynamic-slice x [i 1] [2 3])", {"x": floats(5, 6), "i": np.array(2, np.int32)},
         lambda x, i: lax.dynamic_slice(x, (i, np.int32(1)), (2, 3))),
    Case("dynamic-slice back", "(dynamic-slice x i [2 3])", {"x": floats(5, 6), "i": np.array([9,-2], np.int32)},
         lambda x, i: lax.dynamic_slice(x, (i[0], np.int32(0)), (2, 3))),
    Case("dus", "(dynamic-update-slice x y [i 1])", {"x": floats(5, 6), "y": floats(2, 3), "i": np.array(2, np.int32)},
         lambda x, y, i: lax.dynamic_update_slice(x, y, (i, np.int32(1)))),
    Case("bitcast", "(bitcast x :i32)", {"x": X}, lambda x: lax.bitcast_convert_type(x, np.int32), grad=False),
    Case("erf-inv", "(erf-inv x)", {"x": np.tanh(X)}, lambda x: lax.erf_inv(x)),
    Case("logcumsumexp", "(logcumsumexp x :axis 1)", {"x": X}, lambda x: lax.cumlogsumexp(x, axis=1)),
    Case("logcumsumexp inf", "(logcumsumexp x :axis 1)", {"x": ODD[2:]},
         lambda x: lax.cumlogsumexp(x, axis=1), grad=False),
]

test_is_what_jax_computes = is_what_jax_computes
