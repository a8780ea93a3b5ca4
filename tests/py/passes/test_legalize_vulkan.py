"""Ways round that change loops, on a Vulkan device: what they make of their reproducers is right there, too; and what
is wrong there, or does not compile, is refused."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from runner import Program
from sexpgpu.compiler.passes.pipeline import run_pass
from sexpgpu.diagnostics import SexpError
from test_legalize import CONSTANT_LOOP, compiled, counted


def twice(kind: str) -> str:
    return f"""func.func @f(%x: tensor<64x{kind}>) -> tensor<64x{kind}> {{
      %0 = stablehlo.add %x, %x : tensor<64x{kind}>
      return %0 : tensor<64x{kind}> }}"""


def test_a_loop_of_constants(vulkan: str, tmp_path) -> None:
    x, key = np.arange(4, dtype=np.float32), np.array([-2**63, 1, 2, 3])
    program = Program(compiled(CONSTANT_LOOP, "vulkan", tmp_path), vulkan)
    np.testing.assert_array_equal(program.call("f", x, key)[0], x + 3)


def test_the_number_of_a_round(vulkan: str, tmp_path) -> None:
    """Two numbers, for one of two bytes cannot be read."""
    text = counted("2xbf16").replace("(tensor<i32>) -> tensor<2xbf16>", "(tensor<i32>) -> tensor<bf16>").replace(
        "%t = stablehlo.add %s, %f",
        "%b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<bf16>) -> tensor<2xbf16>\n%t = stablehlo.add %s, %b")
    program = Program(compiled(text, "vulkan", tmp_path), vulkan)
    np.testing.assert_array_equal(program.call("f", np.array([1.5, 3], ml_dtypes.bfloat16))[0].astype(float), [7.5, 9])


@pytest.mark.parametrize(("kind", "numpy"), [("bf16", ml_dtypes.bfloat16), ("i32", np.int32), ("i16", np.int16),
                                             ("ui8", np.uint8)])
def test_narrow_numbers(kind: str, numpy: type, vulkan: str, tmp_path) -> None:
    x = np.arange(64).astype(numpy)
    np.testing.assert_array_equal(Program(compiled(twice(kind), "vulkan", tmp_path), vulkan).call("f", x)[0], x + x)


@pytest.mark.parametrize(("text", "refused"), [
    ("func.func @f(%x: tensor<3xi8>) -> tensor<4xi8> { %0 = stablehlo.constant dense<0> : tensor<4xi8>\n"
     "return %0 : tensor<4xi8> }", True),
    ("util.global private mutable @s : tensor<5xi1>", True), ("util.global private mutable @s : tensor<6xbf16>", False),
    ("func.func private @f(%x: tensor<3xi8>) -> tensor<3xi8> { return %x : tensor<3xi8> }", False)])
def test_words_of_four_bytes(text: str, refused: bool) -> None:
    """The last bytes of what is no multiple of four come out as zeros: of state, arguments and results."""
    if refused:
        with pytest.raises(SexpError, match="E-TARGET-004"):
            run_pass("supported-vulkan", text)
        run_pass("supported-cpu", text)
    else:
        run_pass("supported-vulkan", text)


def test_what_is_wrong_or_fails_is_refused(tmp_path) -> None:
    """f16: pairs of them are added as one f32. i64: vectors of them have no code."""
    with pytest.raises(SexpError) as half:
        run_pass("supported-vulkan", twice("f16"))
    assert half.value.diagnostics[0].code == "E-TARGET-004" and "arithmetic on f16" in str(half.value.diagnostics[0])
    with pytest.raises(SexpError) as wide:
        compiled(twice("i64"), "vulkan", tmp_path)
    assert wide.value.diagnostics[0].code == "E-TARGET-005"
