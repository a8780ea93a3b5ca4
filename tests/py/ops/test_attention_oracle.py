"""Attention and rotary positions: values, gradients and gradients of gradients are JAX's."""

import platform

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from language import floats
from oracle_jax import Case, is_what_jax_computes, staged
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.forms import forms_for
from sexpgpu.compiler.passes.iree.targets import parse_target
from sexpgpu.compiler.passes.pipeline import run_passes

Q, K, V = floats(2, 4, 5, 8), floats(2, 4, 5, 8, seed=1), floats(2, 4, 5, 8, seed=2)
FEW_K, FEW_V = floats(2, 2, 7, 8), floats(2, 2, 7, 6, seed=4)
LONG = {"q": floats(1, 2, 261, 4), "k": floats(1, 2, 261, 4, seed=1), "v": floats(1, 2, 261, 4, seed=2)}
ALL = {"q": Q, "k": K, "v": V}
TRIANGLE = np.tril(np.ones((5, 5), bool))
#: The second query sees nothing.
HOLES = np.array([[1, 1, 0, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 1, 0], [1, 1, 0, 1, 0]], bool)


def attend(q, k, v, mask=None, scale=None):
    scores = jnp.einsum("bhtd,bhsd->bhts", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = jnp.where(mask, scores, -1e30)
    return jax.nn.softmax(scores) @ v


def rope(x, base=10000.0, offset=0):
    half = x.shape[-1] // 2
    angles = jnp.arange(offset, offset + x.shape[-2])[:, None] * base ** (-jnp.arange(half) / half)
    angles = angles.astype(np.float32)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * jnp.cos(angles) - b * jnp.sin(angles), b * jnp.cos(angles) + a * jnp.sin(angles)], -1)


def heads(seed, time=16, width=16):
    """[batch heads time width] of whole vectors, which processors have kernels for."""
    return floats(2, 2, time, width, seed=seed)


def lower(queries, keys):
    return np.tril(np.ones((queries, keys), bool), keys - queries)


def lying(source):
    """The source with operands that lie as [batch time heads width]."""
    for name in "qkv":
        source = source.replace(f" {name}", f" (transpose {name} [0 2 1 3])")
    return f"(transpose {source} [0 2 1 3])"


def turned(function):
    return lambda *xs: function(*(x.transpose(0, 2, 1, 3) for x in xs)).transpose(0, 2, 1, 3)


WHOLE = {"q": heads(0), "k": heads(1), "v": heads(2)}
#: Several vectors of queries and of the width, also where a vector has sixteen numbers.
SEVERAL = {"q": heads(9, 64, 48), "k": heads(10, 84, 48), "v": heads(11, 84, 48)}
WIDE = {"q": heads(0, 64, 24), "k": heads(1, 64, 24), "v": heads(2, 64, 24)}
LYING = {n: x.transpose(0, 2, 1, 3).copy() for n, x in WHOLE.items()}
MORE_KEYS = {"q": heads(0, 8, 8), "k": heads(1, 20, 8), "v": heads(2, 20, 8)}
BLOCKS = {"q": heads(0, 256, 8), "k": heads(1, 256, 8), "v": heads(2, 256, 8)}
NAN = {**WHOLE, "q": np.where(np.arange(16)[:, None] == 5, np.float32("nan"), WHOLE["q"])}
#: What the kernels for processors take: each with a causal mask and without, in either order of axes.
KERNELS = [
    Case("kernel of wide vectors", "(attention q k v)", SEVERAL, attend),
    Case("kernel of wide vectors, causal", "(attention q k v :causal true)", SEVERAL,
         lambda q, k, v: attend(q, k, v, lower(64, 84))),
    Case("kernel", "(attention q k v)", WHOLE, attend),
    Case("kernel causal", "(attention q k v :causal true)", WHOLE, lambda q, k, v: attend(q, k, v, lower(16, 16))),
    Case("kernel lying", lying("(attention q k v :causal true)"), LYING,
         turned(lambda q, k, v: attend(q, k, v, lower(16, 16)))),
    Case("kernel of odd width", "(attention q k v :causal true)", WIDE,
         lambda q, k, v: attend(q, k, v, lower(64, 64))),
    Case("kernel lying of odd width", lying("(attention q k v :scale 0.3)"),
         {n: x.transpose(0, 2, 1, 3).copy() for n, x in WIDE.items()},
         turned(lambda q, k, v: attend(q, k, v, None, 0.3))),
    Case("kernel with more keys", "(attention q k v :causal true)", MORE_KEYS,
         lambda q, k, v: attend(q, k, v, lower(8, 20))),
    Case("kernel in blocks", "(attention q k v :causal true)", BLOCKS,
         lambda q, k, v: attend(q, k, v, lower(256, 256))),
    Case("kernel of a learned scale", "(attention q k v :scale s)", {**WHOLE, "s": np.float32(0.3)},
         lambda q, k, v, s: attend(q, k, v, None, s)),
    Case("kernel with NaN", "(attention q k v :causal true)", NAN, lambda q, k, v: attend(q, k, v, lower(16, 16))),
    Case("kernel penalty", "(sum (square (gradient (fn (q) (sum (square (attention q k v :causal true)))) q)))", WHOLE,
         lambda q, k, v: (jax.grad(lambda q: (attend(q, k, v, lower(16, 16)) ** 2).sum())(q) ** 2).sum()),
    Case("no kernel for values of another width", "(attention q k v)", {**WHOLE, "v": heads(2, 16, 8)}, attend),
]
CASES = [
    Case("rope", "(rope q)", {"q": Q}, rope),
    Case("rope offset", "(rope q :base 500.0 :offset 3)", {"q": Q}, lambda q: rope(q, 500.0, 3)),
    Case("attention", "(attention q k v)", {"q": Q, "k": K, "v": V}, attend),
    Case("attention causal", "(attention q k v :causal true)", {"q": Q, "k": K, "v": V},
         lambda q, k, v: attend(q, k, v, np.tril(np.ones((5, 5), bool)))),
    Case("attention masked", "(attention q k v :mask m :scale 0.2)",
         {"q": Q, "k": K, "v": V, "m": np.arange(40).reshape(2, 1, 4, 5)[:, :, :1] % 3 > 0},
         lambda q, k, v, m: attend(q, k, v, m, 0.2)),
    Case("attention grouped", "(attention q k v)", {"q": Q, "k": FEW_K, "v": FEW_V},
         lambda q, k, v: attend(q, jnp.repeat(k, 2, 1), jnp.repeat(v, 2, 1))),
    Case("attention causal with cache", "(attention q k v :causal true)", {"q": Q, "k": FEW_K, "v": FEW_V},
         lambda q, k, v: attend(q, jnp.repeat(k, 2, 1), jnp.repeat(v, 2, 1), np.tril(np.ones((5, 7), bool), 2))),
    Case("attention of nothing seen", "(attention q k v :mask m)", {**ALL, "m": HOLES}, attend),
    Case("attention causal and masked", "(attention q k v :mask m :causal true)", {**ALL, "m": HOLES},
         lambda q, k, v, m: attend(q, k, v, m & TRIANGLE)),
    Case("attention causal in blocks", "(attention q k v :causal true)", LONG,
         lambda q, k, v: attend(q, k, v, np.tril(np.ones((261, 261), bool)))),
    Case("attention bf16", "(attention q k v)", {n: np.asarray(jnp.asarray(x, jnp.bfloat16)) for n, x in ALL.items()},
         lambda q, k, v: attend(*(x.astype(jnp.float32) for x in (q, k, v))).astype(jnp.bfloat16), tolerance=2e-2),
    Case("attention f64", "(attention q k v)", {n: x.astype(np.float64) for n, x in ALL.items()}, attend,
         tolerance=1e-12),
    Case("attention of a learned scale", "(attention q k v :scale s)", {**ALL, "s": np.float32(0.3)},
         lambda q, k, v, s: attend(q, k, v, None, s)),
    Case("attention penalty", "(sum (square (gradient (fn (q) (sum (square (attention q k v :causal true)))) q)))", ALL,
         lambda q, k, v: (jax.grad(lambda q: (attend(q, k, v, TRIANGLE) ** 2).sum())(q) ** 2).sum()),
    *KERNELS,
]


test_is_what_jax_computes = is_what_jax_computes


@pytest.fixture(scope="module", params=["x86-64-v3", "x86-64-v4"])
def calls(request):
    """How often each case calls a kernel, forward and back, on a processor with AVX2 and on one with AVX-512; and in
    vectors of how many numbers."""
    if platform.machine() != "x86_64":   # there are no such calls to count: the kernels are for AVX2
        pytest.skip("`--target cpu:NAME` offers the processors of the machine's own architecture")
    module, _ = staged(KERNELS)
    target = parse_target(f"cpu:{request.param}")
    run_passes(module, forms_for(target))
    with module.context:
        found = {fn.symbol(f): [str(op.attributes["entry_points"]) for op in fn.walk(fn.body(f))
                                if op.name == "flow.dispatch"] for f in fn.functions(module)}
        lanes = {op.attributes["sym_name"].value: max(n for n in (8, 16) if f"vector<{n}xf32>" in str(op))
                 for op in module.body.operations if op.operation.name == "stream.executable"}
    return {case.name: (*(sum(way in name for name in found[case.symbol]) for way in ("forward", "backward")),
                        {lanes[name.split("::")[0].strip("[@")] for name in found[case.symbol]}) for case in KERNELS}


@pytest.mark.parametrize("case", KERNELS, ids=lambda c: c.name)
def test_kernels_are_called_where_there_are_some(case, calls):
    many = {"kernel in blocks": (2, 2), "no kernel for values of another width": (0, 0)}
    if case.name == "kernel penalty":   # the gradient of the gradient is the way back written out
        assert calls[case.name][0] == 1
    else:
        assert calls[case.name][:2] == many.get(case.name, (1, 1))


def test_wide_vectors_are_used(request, calls):
    wide = 16 if "v4" in request.node.name else 8
    assert [calls[case.name][2] for case in KERNELS if "wide vectors" in case.name] == [{wide}, {wide}]
