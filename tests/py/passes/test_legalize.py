"""Each way-round: its reduced reproducer is wrong, or does not compile, without it, and right with it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from heap import allocated
from iree.compiler import ir
from runner import Program
from sexpgpu.compiler.passes.base import PassTextError
from sexpgpu.compiler.passes.iree.driver import CompileOptions, generate
from sexpgpu.compiler.passes.iree.targets import parse_target
from sexpgpu.compiler.passes.legalize import WAY_ROUNDS
from sexpgpu.compiler.passes.pipeline import run_pass
from sexpgpu.diagnostics import SexpError

RNG = np.random.default_rng(0)


def compiled(text: str, kind: str, tmp_path, *, without: str | None = None, flags: Sequence[str] = (),
             verify: bool = False) -> bytes:
    disable = f"{{disable={without}}}" if without else ""
    with ir.Context():
        module = ir.Module.parse(run_pass(f"legalize-{kind}{disable}", text))
        return generate(module, parse_target(kind), CompileOptions(tuple(flags), tmp_path, verify))


def result(text: str, tmp_path, *arguments: np.ndarray, **how: object) -> np.ndarray:
    return Program(compiled(text, "cpu", tmp_path, **how)).call("f", *arguments)[0]


def converted_dot(kind: str) -> str:
    return f"""func.func @f(%a: tensor<8x8x{kind}>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {{
      %0 = stablehlo.convert %a : (tensor<8x8x{kind}>) -> tensor<8x8xf32>
      %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0]
         : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      return %1 : tensor<8x8xf32> }}"""


@pytest.mark.parametrize(("kind", "numpy", "high"), [("ui8", np.uint8, 256), ("ui16", np.uint16, 65536)])
def test_unsigned_convert(kind: str, numpy: type, high: int, tmp_path) -> None:
    a, b = RNG.integers(0, high, (8, 8)).astype(numpy), RNG.standard_normal((8, 8)).astype(np.float32)
    want = a.astype(np.float32) @ b
    near = 1e-5 * np.abs(want).max()
    assert np.allclose(result(converted_dot(kind), tmp_path, a, b), want, atol=near)
    wrong = result(converted_dot(kind), tmp_path, a, b, without="unsigned-convert")
    assert not np.allclose(wrong, want, atol=1000 * near)


def barriers(count: int, kind: str = "tensor<512x512xf32>") -> str:
    """A sum over so many tensors, each behind a barrier."""
    lines, before = [], "%x"
    for i in range(count):
        lines += [f"%a{i} = stablehlo.tanh {before} : {kind}",
                  f"%b{i} = stablehlo.optimization_barrier %a{i} : {kind}"]
        before = f"%b{i}"
    total = "%b0"
    for i in range(1, count):
        lines.append(f"%s{i} = stablehlo.add {total}, %b{i} : {kind}")
        total = f"%s{i}"
        if i % 20 == 0:  # a kernel of no more operands than the device takes
            lines.append(f"%c{i} = stablehlo.optimization_barrier {total} : {kind}")
            total = f"%c{i}"
    return f"func.func @f(%x: {kind}) -> {kind} {{\n" + "\n".join(lines) + f"\nreturn {total} : {kind} }}"


def test_barrier(tmp_path) -> None:
    """Ten calls that each lose most of 150 tensors of 1 MiB, or none."""
    x = np.zeros((512, 512), np.float32)

    def grown(**how: str) -> float:
        program = Program(compiled(barriers(150), "cpu", tmp_path, **how))
        program.call("f", x)
        before = allocated()
        for _ in range(10):
            program.call("f", x)
        return allocated() - before

    assert grown() < 10
    assert grown(without="barrier") > 100


def test_mask_convert(tmp_path) -> None:
    """Only where matmuls are generalised, as they are at -O2."""
    a, b = RNG.integers(0, 2, (8, 8)).astype(bool), RNG.standard_normal((8, 8)).astype(np.float32)
    want, flags = a.astype(np.float32) @ b, ["--iree-opt-generalize-matmul"]
    assert np.allclose(result(converted_dot("i1"), tmp_path, a, b, flags=flags), want, atol=1e-5)
    wrong = result(converted_dot("i1"), tmp_path, a, b, flags=flags, without="mask-convert")
    assert np.allclose(wrong, -want, atol=1e-5)


GATHER = """func.func @f(%t: tensor<7x3xf32>, %i: tensor<4x1xi32>) -> tensor<4x3xf32> {
  %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false,
    slice_sizes = array<i64: 1, 3>}> : (tensor<7x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32> }"""


def test_gather_clamp(tmp_path) -> None:
    table, ids = RNG.standard_normal((7, 3)).astype(np.float32), np.array([[9], [-3], [2], [6]], np.int32)
    want = table[np.clip(ids[:, 0], 0, 6)]
    assert np.array_equal(result(GATHER, tmp_path, table, ids), want)
    near = np.array([[8], [0], [2], [6]], np.int32)
    wrong = result(GATHER, tmp_path, table, near, without="gather-clamp")
    assert not np.array_equal(wrong, table[np.clip(near[:, 0], 0, 6)])


def scatter(kind: str) -> str:
    body = "stablehlo.return %y : tensor<f32>" if kind == "set" else \
        f"%s = stablehlo.{kind} %x, %y : tensor<f32>\n stablehlo.return %s : tensor<f32>"
    return f"""func.func @f(%t: tensor<7x3xf32>, %i: tensor<4x1xi32>, %u: tensor<4x3xf32>) -> tensor<7x3xf32> {{
      %0 = "stablehlo.scatter"(%t, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<
        update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
        index_vector_dim = 1>}}> ({{ ^bb0(%x: tensor<f32>, %y: tensor<f32>): {body} }})
        : (tensor<7x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<7x3xf32>
      return %0 : tensor<7x3xf32> }}"""


@pytest.mark.parametrize("kind", ["add", "set"])
def test_scatter_drop(kind: str, tmp_path) -> None:
    """Without it memory outside is written, which a test had better not do: what is shown is the text."""
    table, updates = RNG.standard_normal((7, 3)).astype(np.float32), RNG.standard_normal((4, 3)).astype(np.float32)
    ids, want = np.array([[9], [-3], [2], [6]], np.int32), table.copy()
    for i, row in zip(ids[:, 0], updates, strict=True):
        if 0 <= i < 7:
            want[i] = row if kind == "set" else want[i] + row
    assert np.allclose(result(scatter(kind), tmp_path, table, ids, updates), want)
    assert "minimum" not in run_pass("legalize-cpu{disable=scatter-drop}", scatter(kind))


def test_power(tmp_path) -> None:
    base, exponent = np.meshgrid(np.array([-3, -2, -0.5, 0, 0.5, 1, 2, np.inf], np.float32),
                                 np.array([-2, -1, -0.5, 0, 0.5, 1, 2, 3], np.float32))
    text = """func.func @f(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
      %0 = stablehlo.power %x, %y : tensor<8x8xf32>
      return %0 : tensor<8x8xf32> }"""
    with np.errstate(all="ignore"):
        want = base ** exponent
    assert np.allclose(result(text, tmp_path, base, exponent), want, rtol=1e-5, equal_nan=True)
    wrong = result(text, tmp_path, base, exponent, without="power")
    assert np.isnan(wrong[~np.isnan(want)]).any()


NEGATED = """func.func @f(%x: tensor<64x32xf32>) -> tensor<64xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.negate %x : tensor<64x32xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1]
     : (tensor<64x32xf32>, tensor<f32>) -> tensor<64xf32>
  return %1 : tensor<64xf32> }"""

#: As in the gradient of a layer norm.
NEGATED_MEAN = """func.func @f(%x: tensor<2048x128xf32>) -> tensor<2048x128xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<7.8125e-3> : tensor<2048xf32>
  %0 = stablehlo.negate %x : tensor<2048x128xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1]
     : (tensor<2048x128xf32>, tensor<f32>) -> tensor<2048xf32>
  %2 = stablehlo.multiply %1, %n : tensor<2048xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2048xf32>) -> tensor<2048x128xf32>
  %4 = stablehlo.add %x, %3 : tensor<2048x128xf32>
  return %4 : tensor<2048x128xf32> }"""

BF16_DOT = """func.func @f(%a: tensor<16x16xbf16>, %b: tensor<16x16xbf16>) -> tensor<16x16xbf16> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
     : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  return %0 : tensor<16x16xbf16> }"""


@pytest.mark.parametrize(("name", "text"), [
    ("negated-sum", NEGATED), ("negated-sum", NEGATED_MEAN), ("wide-bf16-dot", BF16_DOT)])
def test_cuda(name: str, text: str, tmp_path) -> None:
    assert compiled(text, "cuda", tmp_path)
    with pytest.raises(SexpError) as raised:
        compiled(text, "cuda", tmp_path, without=name)
    assert raised.value.diagnostics[0].code == "E-ICE-003"


def sum_of(count: int) -> str:
    kind = "tensor<4x8xf32>"
    names = ", ".join(f"%a{i}: {kind}" for i in range(count))
    sums = [f"%s{i} = stablehlo.add %{f's{i - 1}' if i > 1 else 'a0'}, %a{i} : {kind}" for i in range(1, count)]
    return f"func.func @f({names}) -> {kind} {{\n" + "\n".join(sums) + f"\nreturn %s{count - 1} : {kind} }}"


@pytest.mark.parametrize("count", [33, 100])
def test_many_operands(count: int, tmp_path) -> None:
    """A device binds 32 buffers a kernel."""
    arrays = [np.full((4, 8), i, np.float32) for i in range(count)]
    assert np.array_equal(result(sum_of(count), tmp_path, *arrays), sum(arrays))
    with pytest.raises(IndexError, match="binding count"):
        result(sum_of(count), tmp_path, *arrays, without="many-operands")


CONSTANT_LOOP = """func.func @f(%x: tensor<4xf32>, %key: tensor<4xi64>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %stack = stablehlo.constant dense<0.0> : tensor<3xf32>
  %first = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %loop:2 = stablehlo.while(%i = %first, %s = %stack) : tensor<i32>, tensor<3xf32>
  cond {
    %more = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
    %row = stablehlo.reshape %f : (tensor<f32>) -> tensor<1xf32>
    %t = stablehlo.dynamic_update_slice %s, %row, %i : (tensor<3xf32>, tensor<1xf32>, tensor<i32>) -> tensor<3xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %t : tensor<i32>, tensor<3xf32>
  }
  %sum = stablehlo.reduce(%loop#1 init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  %b = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %y = stablehlo.add %x, %b : tensor<4xf32>
  return %y : tensor<4xf32> }"""


def test_constant_loop(tmp_path) -> None:
    x, key = RNG.standard_normal(4).astype(np.float32), np.array([-2**63, 1, 2, 3])
    np.testing.assert_array_equal(result(CONSTANT_LOOP, tmp_path, x, key), x + 3)
    with pytest.raises(SexpError) as error:
        result(CONSTANT_LOOP, tmp_path, x, key, without="constant-loop")
    assert "fixed point" in str(error.value.diagnostics[0].notes)


def counted(kind: str) -> str:
    return f"""func.func @f(%x: tensor<{kind}>) -> tensor<{kind}> {{
  %first = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<4> : tensor<i32>
  %loop:2 = stablehlo.while(%i = %first, %s = %x) : tensor<i32>, tensor<{kind}>
  cond {{
    %more = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  }} do {{
    %f = stablehlo.convert %i : (tensor<i32>) -> tensor<{kind}>
    %t = stablehlo.add %s, %f : tensor<{kind}>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %t : tensor<i32>, tensor<{kind}>
  }}
  return %loop#1 : tensor<{kind}> }}"""


@pytest.mark.parametrize(("kind", "numpy"), [("f64", np.float64), ("f16", np.float16)])
def test_counter_convert(kind: str, numpy: type, tmp_path) -> None:
    assert result(counted(kind), tmp_path, np.array(1.5, numpy)) == 7.5
    with pytest.raises(SexpError):
        result(counted(kind), tmp_path, np.array(1.5, numpy), without="counter-convert")


def filled(second: str) -> str:
    return f"""func.func @f(%x: tensor<2xf64>, %i: tensor<i32>) -> (tensor<8xf64>, tensor<8xf64>) {{
  %one = stablehlo.constant dense<1.3> : tensor<f64>
  %c = stablehlo.constant dense<1.3> : tensor<8xf64>
  %z = stablehlo.multiply %x, %x : tensor<2xf64>
  {second.format(to="y", x="x")}
  {second.format(to="w", x="z")}
  return %y, %w : tensor<8xf64>, tensor<8xf64> }}"""


PADDED = """%{to} = stablehlo.pad %{x}, %one, low = [3], high = [2], interior = [1]
      : (tensor<2xf64>, tensor<f64>) -> tensor<8xf64>"""
PUT = """%{to} = stablehlo.dynamic_update_slice %c, %{x}, %i
      : (tensor<8xf64>, tensor<2xf64>, tensor<i32>) -> tensor<8xf64>"""


@pytest.mark.parametrize(("second", "places"), [(PADDED, [3, 5]), (PUT, [3, 4])])
def test_wide_fill(second: str, places: list[int], tmp_path) -> None:
    x, i = np.array([2.0, 3.0]), np.int32(3)
    y, w = np.full(8, 1.3), np.full(8, 1.3)
    y[places], w[places] = x, x * x
    found = Program(compiled(filled(second), "cpu", tmp_path)).call("f", x, i)
    np.testing.assert_array_equal(found, [y, w])
    # What is in memory may be right by chance; the code generator finds its fault where it verifies itself.
    compiled(filled(second), "cpu", tmp_path, verify=True)
    with pytest.raises(SexpError):
        compiled(filled(second), "cpu", tmp_path, verify=True, without="wide-fill")


GIVEN_BACK = """func.func @f(%x: tensor<8x4xf32>, %u: tensor<1x4xf32>)
    -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<32xf32>) {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %changed = stablehlo.dynamic_update_slice %x, %u, %two, %zero
      : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
  %flat = stablehlo.reshape %x : (tensor<8x4xf32>) -> tensor<32xf32>
  return %changed, %x, %flat : tensor<8x4xf32>, tensor<8x4xf32>, tensor<32xf32> }"""


def test_returned_argument(tmp_path) -> None:
    x, u = RNG.standard_normal((8, 4)).astype(np.float32), RNG.standard_normal((1, 4)).astype(np.float32)
    changed, kept, flat = Program(compiled(GIVEN_BACK, "cpu", tmp_path)).call("f", x, u)
    np.testing.assert_array_equal(changed, np.concatenate([x[:2], u, x[3:]]))
    np.testing.assert_array_equal(kept, x)
    np.testing.assert_array_equal(flat, x.reshape(32))
    _, kept, _ = Program(compiled(GIVEN_BACK, "cpu", tmp_path, without="returned-argument")).call("f", x, u)
    assert not np.array_equal(kept, x)


APART = """func.func @f(%x: tensor<2x4x4x2x4xf32>) -> tensor<2x4x4x2x4xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1, 3]
     : (tensor<2x4x4x2x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 2, 4] : (tensor<2x4x4xf32>) -> tensor<2x4x4x2x4xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<2x4x4x2x4xf32>
  return %2 : tensor<2x4x4x2x4xf32> }"""


def test_axes_apart(vulkan: str, tmp_path) -> None:
    x = RNG.standard_normal((2, 4, 4, 2, 4)).astype(np.float32)
    want = x - x.sum((1, 3), keepdims=True)

    def found(**how: str) -> np.ndarray:
        return Program(compiled(APART, "vulkan", tmp_path, **how), vulkan).call("f", x)[0]

    np.testing.assert_allclose(found(), want, rtol=1e-5, atol=1e-5)
    assert not np.allclose(found(without="axes-apart"), want, atol=1e-2)


TWICE = """func.func @f(%x: tensor<8x17xi8>) -> tensor<8x17xi32> {
  %w = stablehlo.convert %x : (tensor<8x17xi8>) -> tensor<8x17xi32>
  %n = stablehlo.not %w : tensor<8x17xi32>
  %a = stablehlo.broadcast_in_dim %n, dims = [0, 2] : (tensor<8x17xi32>) -> tensor<8x8x17xi32>
  %b = stablehlo.broadcast_in_dim %n, dims = [1, 2] : (tensor<8x17xi32>) -> tensor<8x8x17xi32>
  %c = stablehlo.compare LT, %b, %a, SIGNED : (tensor<8x8x17xi32>, tensor<8x8x17xi32>) -> tensor<8x8x17xi1>
  %one = stablehlo.constant dense<1> : tensor<8x8x17xi32>
  %none = stablehlo.constant dense<0> : tensor<8x8x17xi32>
  %s = stablehlo.select %c, %one, %none : tensor<8x8x17xi1>, tensor<8x8x17xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [1]
     : (tensor<8x8x17xi32>, tensor<i32>) -> tensor<8x17xi32>
  return %r : tensor<8x17xi32> }"""


def test_widened_twice(vulkan: str, tmp_path) -> None:
    """Without, a program's first call is wrong now and then, not on every machine: so the form is looked at as well."""
    x = RNG.integers(-127, 127, (8, 17)).astype(np.int8)
    vmfb, want = compiled(TWICE, "vulkan", tmp_path), (x[None] > x[:, None]).sum(1)
    for _ in range(20):
        np.testing.assert_array_equal(Program(vmfb, vulkan).call("f", x)[0], want)
    assert "compute_barrier" in run_pass("legalize-vulkan", TWICE)
    assert "compute_barrier" not in run_pass("legalize-vulkan{disable=widened-twice}", TWICE)


def test_every_way_round_has_a_test() -> None:
    assert {w.name for w in WAY_ROUNDS} == {"unsigned-convert", "mask-convert", "gather-clamp", "scatter-drop",
                                            "power", "negated-sum", "wide-bf16-dot", "many-operands",
                                            "barrier", "constant-loop", "counter-convert", "axes-apart",
                                            "returned-argument", "wide-fill", "widened-twice"}


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(PassTextError, match=r"did you mean `gather-clamp`"):
        run_pass("legalize-cpu{disable=gather-clam}", GATHER)
