"""Operations that JAX has no way to write, by their twins: the same function from operations that it has."""

from __future__ import annotations

import numpy as np
from iree.compiler import ir
from runner import Program
from sexpgpu.compiler.passes.iree.driver import CompileOptions, generate
from sexpgpu.compiler.passes.iree.targets import parse_target
from sexpgpu.compiler.passes.pipeline import run_pass

TEXT = """
func.func @logistic(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = stablehlo.logistic %x : tensor<5xf32>
  return %0 : tensor<5xf32>
}
func.func @tan(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = chlo.tan %x : tensor<5xf32> -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
func.func @dot(%x: tensor<5xf32>) -> tensor<5xf32> {
  %w = stablehlo.constant dense<2.0> : tensor<5x5xf32>
  %0 = stablehlo.dot %x, %w : (tensor<5xf32>, tensor<5x5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
func.func @choice(%x: tensor<5xf32>) -> tensor<5xf32> {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %0 = "stablehlo.if"(%true) ({
    %1 = stablehlo.sine %x : tensor<5xf32>
    stablehlo.return %1 : tensor<5xf32>
  }, {
    stablehlo.return %x : tensor<5xf32>
  }) : (tensor<i1>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
"""


def test_twins() -> None:
    text = TEXT
    for name in ("logistic", "tan", "dot", "choice"):
        text = run_pass(f"autodiff{{function={name}}}", text)
    with ir.Context():
        program = Program(generate(ir.Module.parse(text), parse_target("cpu"), CompileOptions()))
    rng = np.random.default_rng(0)
    x, g = (rng.uniform(-1, 1, 5).astype(np.float32) for _ in range(2))
    sigmoid = 1 / (1 + np.exp(-x))
    want = {"logistic": g * sigmoid * (1 - sigmoid), "tan": g / np.cos(x) ** 2, "dot": np.full(5, 2 * g.sum()),
            "choice": g * np.cos(x)}
    for name, cotangent in want.items():
        assert np.allclose(program.call(name, x, g)[1], cotangent, rtol=1e-4, atol=1e-6), name
