"""Functions of kernels against Python's, in f64, everywhere they are different from a constant."""

from __future__ import annotations

import math

import numpy as np
from iree.compiler import ir
from runner import Program
from sexpgpu.compiler.kernels.elementwise import Shape, elementwise
from sexpgpu.compiler.kernels.steps import Steps
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.iree.driver import CompileOptions, generate
from sexpgpu.compiler.passes.iree.targets import parse_target
from sexpgpu.compiler.passes.kernel_calls import KernelCalls


def applied(name: str, x: np.ndarray) -> np.ndarray:
    """The operation of StableHLO of this name, by the kernel for this machine's processor."""
    shape = Shape(x.size, 1, 0, Steps(((name, (0,)),), (1,)), (-1,))
    tensor = f"tensor<{x.size}xf32>"
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(f"func.func @f(%x: {tensor}) -> {tensor} {{ return %x : {tensor} }}")
        func, = fn.functions(module)
        with ir.InsertionPoint(end := fn.terminator(func)):
            value, = KernelCalls(module).call(elementwise, shape, list(fn.body(func).arguments), [list(x.shape)])
        end.operands[0] = value
        program = Program(generate(module, parse_target("cpu"), CompileOptions()))
    return program.call("f", x)[0]


def test_erf() -> None:
    small = np.logspace(-44, 1, 1 << 14)
    x = np.concatenate([np.linspace(-4.5, 4.5, 1 << 15), small, -small]).astype(np.float32)
    x[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 3.92]
    found, want = applied("chlo.erf", x), np.array([math.erf(v) for v in x])
    assert np.isnan(found[4]) and found[2] == 1 and found[3] == -1 and np.signbit(found[1])
    assert np.nanmax(np.abs(found)) == 1
    normal = np.isfinite(x) & (np.abs(x) >= np.finfo(np.float32).tiny)   # smaller ones count as zero
    assert (np.abs(found - want)[normal] / np.abs(want)[normal]).max() < 4e-7
    assert not found[np.abs(x) < np.finfo(np.float32).tiny].any()
