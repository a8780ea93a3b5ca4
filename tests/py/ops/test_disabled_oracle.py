"""Values and gradients are JAX's without the passes that only make a module faster, too: `sexpc build --disable`."""

import pytest

pytest.importorskip("jax")

import test_attention_oracle as attention
import test_lookups_oracle as lookups
import test_loops_oracle as loops
import test_nets_oracle as nets
import test_order_oracle as order
import test_rows_oracle as rows
import test_running_oracle as running
import test_windows_oracle as windows
from oracle_jax import is_what_jax_computes, run
from sexpgpu.compiler.passes.pipeline import PASSES

#: A case for each pass, or several.
CHOSEN = ("conv2", "conv2 tile", "avg-pool", "linear", "17 rounds", "layer norm", "its products", "columns",
          "kernel causal", "kernel lying", "ids of two axes", "along the last", "scatter-add ints", "sort", "sort nan",
          "argsort desc ties", "argsort long nan", "top-k", "top-k many", "cumprod with zeros",
          "logcumsumexp far apart",
          *(case.name for case in running.CASES if case.name.startswith("cumsum")))
MODULES = (attention, lookups, loops, nets, order, rows, running, windows)
CASES = [case for module in MODULES for case in module.CASES if case.name in CHOSEN]


@pytest.fixture(scope="module")
def outcomes():
    return run(CASES, disabled=[name for name, found in PASSES.items() if found.optional])


test_is_what_jax_computes = is_what_jax_computes
