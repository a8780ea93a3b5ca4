"""A sample of the operations on a Vulkan device: values and gradients are JAX's, as on a processor."""

import pytest

pytest.importorskip("jax")

import test_attention_oracle as attention
import test_control_oracle as control
import test_nets_oracle as nets
import test_order_oracle as order
import test_tensors_oracle as tensors
import test_windows_oracle as windows
from oracle_jax import is_what_jax_computes, run

CHOSEN = ("attention causal", "attention grouped", "rope", "layer-norm", "rms-norm", "group-norm", "cross-entropy",
          "cross-entropy ignore", "mish", "logaddexp", "conv2", "conv-t", "max-pool", "max-pool ties 2 2", "avg-pool",
          "sort", "top-k", "cumsum", "scan", "remat", "custom of second order", "gradient", "repeat",
          "einsum attention", "embedding", "scatter-add", "take-along", "resize")
CASES = [case for module in (attention, control, nets, order, tensors, windows) for case in module.CASES
         if case.name in CHOSEN]


@pytest.fixture(scope="module")
def outcomes(vulkan: str):
    return run(CASES, "vulkan", vulkan)


test_is_what_jax_computes = is_what_jax_computes
