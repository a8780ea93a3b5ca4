"""Convolutions, pooling, resizing, against JAX: value and gradient."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from language import floats
from oracle_jax import Case, cotangent, is_what_jax_computes, run

X1, K1 = floats(2, 11, 3), floats(3, 3, 5)
X2, K2 = floats(2, 9, 8, 4), floats(3, 2, 4, 6)
KG = floats(3, 2, 2, 6)
TIES = np.random.default_rng(3).integers(0, 3, (2, 9, 8, 4)).astype(np.float32)
LAYOUTS = {1: ("NWC", "WIO", "NWC"), 2: ("NHWC", "HWIO", "NHWC")}


def jc(n, *, stride=1, dilation=1, padding="VALID", groups=1):
    def each(value):
        return (value,) * n if isinstance(value, int) else value

    return lambda x, w: lax.conv_general_dilated(x, w, each(stride), padding, rhs_dilation=each(dilation),
                                                 dimension_numbers=LAYOUTS[n], feature_group_count=groups)


def pool(x, op, init, size, stride, pad):
    return lax.reduce_window(x, init, op, (1, *size, 1), (1, *stride, 1), pad)


CASES = [
    Case("conv1", "(conv x k)", {"x": X1, "k": K1}, jc(1)),
    Case("conv1 s", "(conv x k :stride 2 :padding :same :dilation 2)", {"x": X1, "k": K1},
         jc(1, padding="SAME", dilation=2, stride=2) ),
    Case("conv2", "(conv x k :stride [2 1] :padding [[1 0] 2])", {"x": X2, "k": K2},
         jc(2, stride=(2, 1), padding=((1, 0), (2, 2)))),
    Case("conv2 same", "(conv x k :padding :same :stride 3)", {"x": X2, "k": K2}, jc(2, stride=3, padding="SAME")),
    Case("conv2 groups", "(conv x k :groups 2 :padding 1)", {"x": X2, "k": KG},
         jc(2, groups=2, padding=((1, 1), (1, 1)))),
    Case("conv depthwise", "(conv x k :groups 4)", {"x": X2, "k": floats(3, 3, 1, 8)}, jc(2, groups=4)),
    Case("conv-t", "(conv-transpose x k :stride 2)", {"x": X2, "k": K2},
         lambda x, k: lax.conv_transpose(x, k, (2, 2), "VALID")),
    Case("conv-t same", "(conv-transpose x k :stride [3 2] :padding :same)", {"x": X2, "k": K2},
         lambda x, k: lax.conv_transpose(x, k, (3, 2), "SAME")),
    Case("conv-t 1", "(conv-transpose x k :stride 4)", {"x": X1, "k": K1},
         lambda x, k: lax.conv_transpose(x, k, (4,), "VALID", dimension_numbers=("NWC", "WIO", "NWC"))),
    # Sizes that fill tiles; some features left over; strides that are larger than the kernel, or meet uneven padding.
    Case("conv1 tile", "(conv x k :padding :same)", {"x": floats(2, 12, 8), "k": floats(3, 8, 16)},
         jc(1, padding="SAME")),
    Case("conv2 tile", "(conv x k :padding :same)", {"x": floats(2, 5, 12, 8), "k": floats(3, 3, 8, 24)},
         jc(2, padding="SAME")),
    Case("conv2 tile dilated", "(conv x k :padding :same :dilation [2 3])",
         {"x": floats(2, 5, 10, 8), "k": floats(3, 3, 8, 9)}, jc(2, padding="SAME", dilation=(2, 3))),
    Case("conv2 tile strided", "(conv x k :stride 2 :padding 1)", {"x": floats(2, 9, 13, 4), "k": floats(3, 3, 4, 16)},
         jc(2, stride=2, padding=((1, 1), (1, 1)))),
    Case("conv2 uneven", "(conv x k :stride [3 2] :padding [[1 2] [0 3]])",
         {"x": floats(2, 10, 9, 4), "k": floats(4, 4, 4, 8)}, jc(2, stride=(3, 2), padding=((1, 2), (0, 3)))),
    Case("conv2 gaps", "(conv x k :stride 3)", {"x": floats(2, 10, 9, 4), "k": floats(1, 2, 4, 8)}, jc(2, stride=3)),
    Case("conv2 far", "(conv x k :stride 2 :padding [[4 5] [3 0]])", {"x": floats(2, 7, 8, 4), "k": floats(3, 2, 4, 8)},
         jc(2, stride=2, padding=((4, 5), (3, 0)))),
    Case("conv-t tile", "(conv-transpose x k :stride 2 :padding :same)",
         {"x": floats(2, 4, 6, 8), "k": floats(3, 3, 8, 16)},
         lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME")),
    Case("max-pool", "(max-pool x 2)", {"x": X2}, lambda x: pool(x, lax.max,-np.inf, (2, 2), (2, 2), "VALID")),
    Case("max-pool 3/2 same", "(max-pool x 3 :stride 2 :padding :same)", {"x": X2},
         lambda x: pool(x, lax.max,-np.inf, (3, 3), (2, 2), "SAME")),
    *(Case(f"max-pool {what} {size} {stride}", f"(max-pool x {size} :stride {stride} :padding {ours})", {"x": x},
           lambda x, size=size, stride=stride, theirs=theirs: pool(x, lax.max, -np.inf, (size, size),
                                                                  (stride, stride), theirs))
      for what, x in (("ties", TIES), ("of nothing", np.full_like(TIES, -np.inf)))
      for size, stride, ours, theirs in ((2, 2, ":valid", "VALID"), (3, 2, "1", [(0, 0), (1, 1), (1, 1), (0, 0)]),
                                         (2, 3, ":valid", "VALID"), (3, 3, ":same", "SAME"))),
    Case("avg-pool", "(avg-pool x [2 3])", {"x": X2}, lambda x: pool(x, lax.add, 0.,(2, 3), (2, 3), "VALID")/6),
    Case("avg-pool same", "(avg-pool x 3 :stride 2 :padding :same)", {"x": X2},
         lambda x: pool(x, lax.add, 0.0, (3, 3), (2, 2), "SAME")
         / pool(jnp.ones_like(x), lax.add, 0.0, (3, 3), (2, 2), "SAME")),
    Case("resize", "(resize x [5 12])", {"x": X2},
         lambda x: jax.image.resize(x, (2, 5, 12, 4), "linear", antialias=False)),
    Case("resize nearest", "(resize x [18 4] :method :nearest)", {"x": X2},
         lambda x: jax.image.resize(x, (2, 18, 4, 4), "nearest", antialias=False)),
]


test_is_what_jax_computes = is_what_jax_computes


#: A window with NaN gives its cotangent to nobody; which element it would be is no two frameworks' the same.
BROKEN = np.where(np.arange(X2.size).reshape(X2.shape) % 29 == 0, np.float32(np.nan), X2)


@pytest.mark.parametrize(("size", "stride"), [(2, 2), (3, 2)])
def test_a_nan_takes_its_window_and_no_other(size, stride):
    case = Case("broken", f"(max-pool x {size} :stride {stride})", {"x": BROKEN},
                lambda x: pool(x, lax.max, -np.inf, (size, size), (stride, stride), "VALID"))
    outcome = run([case])[case.name]
    value, pull = jax.vjp(case.expected, BROKEN)
    np.testing.assert_array_equal(outcome.results[0], value)
    seed = np.where(np.isnan(value), 0, cotangent(value.shape, value.dtype))
    np.testing.assert_allclose(outcome.gradients[0], pull(seed)[0], rtol=1e-6, atol=1e-6)
