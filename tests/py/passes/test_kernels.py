"""Kernels for processors: products and gradients of weights against NumPy in f64, in sizes whole and odd."""

from __future__ import annotations

import math
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from iree.compiler import ir
from runner import Program
from sexpgpu.compiler.kernels import weights
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.forms import forms_for
from sexpgpu.compiler.passes.iree.driver import CompileOptions, features_of, generate
from sexpgpu.compiler.passes.iree.targets import Target, parse_target
from sexpgpu.compiler.passes.kernel_calls import KernelCalls
from sexpgpu.compiler.passes.pipeline import run_passes
from sexpgpu.runtime.processor import STACK, lacking

# The kernels are written for AVX2 and run here: elsewhere they would end in an illegal instruction. The name of the
# target, too, is offered on x86-64 alone.
if platform.machine() != "x86_64" or lacking(("avx2", "fma")):
    pytest.skip("this processor has no AVX2", allow_module_level=True)
TARGETS = ("x86-64-v3", "x86-64-v4", "sapphirerapids")

#: Rows, columns of the left operand, columns of the right one; and whether there is a kernel.
SIZES = [(64, 128, 128, True), (72, 136, 128, True), (2048, 8, 72, True), (1000, 40, 32, True), (512, 256, 104, True),
         (256, 48, 640, True), (136, 1288, 8, True), (200, 24, 1152, True), (256, 1024, 96, True),
         (128, 640, 640, True), (96, 160, 256, True), (1001, 40, 32, False), (512, 60, 64, False),
         (512, 64, 60, False), (16, 16, 16, False)]


def tensor(*shape: int) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def gradient(name: str, rows: int, left: int, right: int) -> str:
    x, y, w, b = tensor(rows, left), tensor(rows, right), tensor(left, right), tensor(right)
    return f"""func.func @{name}(%x: {x}, %y: {y}) -> ({w}, {b}) {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %b = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : ({y}, tensor<f32>) -> {b}
      %w = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : ({x}, {y}) -> {w}
      return %w, %b : {w}, {b} }}"""


def product(name: str, rows: int, depth: int, columns: int, turned: bool) -> str:
    """With a bias and two tensors added, in other shapes than the product's."""
    x, y, r = tensor(rows, depth), tensor(columns, depth) if turned else tensor(depth, columns), tensor(rows, columns)
    b, wide = tensor(columns), tensor(1, rows, columns)
    return f"""func.func @{name}(%x: {x}, %y: {y}, %b: {b}, %c: {wide}, %d: {wide}) -> {wide} {{
      %p = stablehlo.dot_general %x, %y, contracting_dims = [1] x [{int(turned)}] : ({x}, {y}) -> {r}
      %q = stablehlo.reshape %p : ({r}) -> {wide}
      %s = stablehlo.broadcast_in_dim %b, dims = [2] : ({b}) -> {wide}
      %t = stablehlo.add %q, %s : {wide}
      %u = stablehlo.add %c, %t : {wide}
      %v = stablehlo.add %u, %d : {wide}
      return %v : {wide} }}"""


def total(name: str, rows: int, left: int, right: int) -> str:
    """Of gradients, added to another tensor if a flag says so."""
    x, y, w, f = tensor(rows, left), tensor(rows, right), tensor(left, right), f"tensor<{left}x{right}xi1>"
    return f"""func.func @{name}(%x: {x}, %y: {y}, %sum: {w}, %n: tensor<i32>) -> {w} {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %flag = stablehlo.compare NE, %n, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %w = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : ({x}, {y}) -> {w}
      %f = stablehlo.broadcast_in_dim %flag, dims = [] : (tensor<i1>) -> {f}
      %more = stablehlo.add %sum, %w : {w}
      %new = stablehlo.select %f, %more, %w : {f}, {w}
      return %new : {w} }}"""


def activation(name: str, rows: int, depth: int, columns: int) -> str:
    """x y + b, then each operation that a kernel knows, and a product with a transposed matrix times a factor."""
    x, y, r, b, t = (tensor(*s) for s in ((rows, depth), (depth, columns), (rows, columns), (columns,),
                                          (columns, depth)))
    return f"""func.func @{name}(%x: {x}, %y: {y}, %b: {b}, %t: {t}, %f: {r}) -> ({r}, {r}, {r}) {{
      %p = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({x}, {y}) -> {r}
      %s = stablehlo.broadcast_in_dim %b, dims = [1] : ({b}) -> {r}
      %h = stablehlo.add %p, %s : {r}
      %c = stablehlo.constant dense<0.1> : {r}
      %k = stablehlo.multiply %h, %c : {r}
      %e = chlo.erf %k : {r} -> {r}
      %l = stablehlo.logistic %k : {r}
      %n = stablehlo.negate %l : {r}
      %x1 = stablehlo.exponential %n : {r}
      %q = stablehlo.sqrt %x1 : {r}
      %v = stablehlo.divide %e, %q : {r}
      %th = stablehlo.tanh %k : {r}
      %w = stablehlo.subtract %th, %l : {r}
      %tt = stablehlo.transpose %t, dims = [1, 0] : ({t}) -> {y}
      %g = stablehlo.dot_general %x, %tt, contracting_dims = [1] x [0] : ({x}, {y}) -> {r}
      %m = stablehlo.multiply %f, %g : {r}
      return %v, %w, %m : {r}, {r}, {r} }}"""


def target_of(name: str) -> Target:
    """Skips what would end in an illegal instruction here. What needs no run is tested for all, in tests/lit/passes."""
    target = parse_target(f"cpu:{name}")
    if lacking(features_of(target)):
        pytest.skip(f"this processor lacks what {name} has")
    return target


def lowered(text: str, target: Target) -> tuple[bytes, dict[str, int]]:
    """The artifact, and the calls of kernels in each function."""
    with ir.Context():
        module = ir.Module.parse(text)
        run_passes(module, forms_for(target))
        calls = {fn.symbol(f): sum(op.name == "flow.dispatch" for op in fn.walk(fn.body(f)))
                 for f in fn.functions(module)}
        return generate(module, target, CompileOptions()), calls


@pytest.fixture(scope="module", params=TARGETS)
def built(request: pytest.FixtureRequest) -> tuple[Program, dict[str, int]]:
    functions = [gradient(f"g{i}", *size[:3]) for i, size in enumerate(SIZES)]
    functions += [product(f"p{i}_{int(t)}", *size[:3], t) for i, size in enumerate(SIZES) for t in (False, True)]
    functions += [make(f"{letter}{i}", *size[:3]) for i, size in enumerate(SIZES)
                  for letter, make in (("t", total), ("a", activation))]
    vmfb, calls = lowered("\n".join(functions), target_of(request.param))
    return Program(vmfb), calls


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def near(got: np.ndarray, want: np.ndarray, depth: int) -> bool:
    return got.shape == want.shape and bool(np.abs(got - want).max() < 4e-7 * depth)


@pytest.mark.parametrize("i", range(len(SIZES)))
def test_gradient_of_a_weight_and_a_bias(built: tuple[Program, dict[str, int]], i: int) -> None:
    program, calls = built
    rows, left, right, kernel = SIZES[i]
    x, y = floats(rows, left), floats(rows, right, seed=1)
    w, b = program.call(f"g{i}", x, y)
    assert near(w, x.T.astype(float) @ y, rows)
    assert near(b, y.sum(0, dtype=float), rows)
    assert calls[f"g{i}"] == kernel


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("i", range(len(SIZES)))
def test_product_and_what_is_added(built: tuple[Program, dict[str, int]], i: int, turned: bool) -> None:
    program, calls = built
    rows, depth, columns, _ = SIZES[i]
    x, y = floats(rows, depth), floats(*(columns, depth) if turned else (depth, columns), seed=1)
    b, c, d = floats(columns, seed=2), floats(1, rows, columns, seed=3), floats(1, rows, columns, seed=4)
    got, = program.call(f"p{i}_{int(turned)}", x, y, b, c, d)
    want = x.astype(float) @ (y.T if turned else y) + b + c + d
    assert near(got, want, depth)
    whole = rows % 8 == depth % 8 == columns % 8 == 0
    assert calls[f"p{i}_{int(turned)}"] == (whole and rows * depth * columns >= 1 << 20)


@pytest.mark.parametrize("i", range(len(SIZES)))
def test_gradient_added_to_a_sum(built: tuple[Program, dict[str, int]], i: int) -> None:
    """Without the flag what the sum holds is not looked at."""
    program, calls = built
    rows, left, right, kernel = SIZES[i]
    x, y, more = floats(rows, left), floats(rows, right, seed=1), floats(left, right, seed=2)
    want = x.T.astype(float) @ y
    got, = program.call(f"t{i}", x, y, more, np.int32(3))
    assert near(got, want + more, rows)
    got, = program.call(f"t{i}", x, y, np.full_like(more, np.nan), np.int32(0))
    assert near(got, want, rows)
    assert calls[f"t{i}"] == kernel


@pytest.mark.parametrize("i", range(len(SIZES)))
def test_activation_and_factor(built: tuple[Program, dict[str, int]], i: int) -> None:
    program, _ = built
    rows, depth, columns, _ = SIZES[i]
    x, y, b = floats(rows, depth), floats(depth, columns, seed=1), floats(columns, seed=2)
    t, f = floats(columns, depth, seed=3), floats(rows, columns, seed=4)
    first, second, third = program.call(f"a{i}", x, y, b, t, f)
    k = 0.1 * (x.astype(float) @ y + b)
    share = 1 / (1 + np.exp(-k))
    assert near(first, np.vectorize(math.erf)(k) / np.sqrt(np.exp(-share)), depth)
    assert near(second, np.tanh(k) - share, depth)
    assert near(third, f * (x.astype(float) @ t.T), 4 * depth)


def test_threads_have_the_stack_a_kernel_may_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With IREE's default, 128 KiB, this ends in a segmentation fault."""
    monkeypatch.setattr(weights, "NARROWEST", 0)   # x is copied as well
    monkeypatch.setattr(weights, "LOWEST", 128)
    monkeypatch.setattr(weights, "TALLEST_COPIED", 128)
    monkeypatch.setattr(weights, "DEEPEST", 512)
    shape = weights.Shape(2048, 128, 128, bias=False)
    assert STACK // 2 <= 2 * shape.depth * 128 * 4 <= STACK
    x, y, w = tensor(2048, 128), tensor(2048, 128), tensor(128, 128)
    text = f"func.func @f(%x: {x}, %y: {y}) -> {w} {{ return %w : {w} }}"
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text.replace("{ return", f"{{ %w = stablehlo.constant dense<0.0> : {w} return"))
        func, = fn.functions(module)
        end = fn.terminator(func)
        with ir.InsertionPoint(end):
            end.operands[0], = KernelCalls(module).call(weights.gradient, shape, list(fn.body(func).arguments),
                                                        [[128, 128]])
        (tmp_path / "f.vmfb").write_bytes(generate(module, target_of(TARGETS[0]), CompileOptions()))
    code = f"""
from pathlib import Path
import iree.runtime as rt
import numpy as np
from sexpgpu.runtime.session.device import Device
device, instance, out = Device("local-task", 2), rt.VmInstance(), rt.VmVariantList(1)
module = rt.VmModule.copy_buffer(instance, Path({str(tmp_path / "f.vmfb")!r}).read_bytes())
context = rt.VmContext(instance, [rt.create_hal_module(instance, device.hal), module])
given = rt.VmVariantList(2)
for _ in range(2):
    given.push_ref(device.copy(np.ones((2048, 128), np.float32), "f32"))
context.invoke(module.lookup_function("f"), given, out)
assert (device.get(out.get_as_object(0, rt.HalBufferView), "f32") == 2048).all()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
