"""Rows taken and added where a processor's kernels do it: widths, batches, dtypes and indices out of range, against
JAX and NumPy; sizes at which no kernel is made are other files' (`test_tensors_oracle.py`)."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

import jax.numpy as jnp
import ml_dtypes
import numpy as np
from iree.compiler import ir
from language import floats
from oracle_jax import Case, compiled, is_what_jax_computes
from runner import Program
from sexpgpu.compiler.passes.lookups import WORTH, vector_of


def ids(high: int, *shape: int, low: int = 0, dtype: type = np.int32) -> np.ndarray:
    return np.random.default_rng(2).integers(low, high, shape).astype(dtype)


def clamped(table, places, axis=0):
    return jnp.take(table, places, axis=axis, mode="clip")


def along(x, places, axis):
    return jnp.take_along_axis(x, places, axis=axis, mode="clip")


def looked_up(width: int, rows: int = 60, dtype: type = np.float32, index: type = np.int32, grad: bool = True) -> Case:
    """A quarter of the ids are out of range, and are clamped; enough of them for a kernel, and not a multiple of its
    pieces."""
    many = WORTH // width + 3
    places = ids(rows + 9, many, low=-9, dtype=index)
    return Case(f"embedding {width} {np.dtype(dtype).name} {np.dtype(index).name}", "(embedding t i)",
                {"t": floats(rows, width).astype(dtype), "i": places}, clamped, grad=grad)


CASES = [
    *(looked_up(width) for width in (1, 7, 64, 67, 100, 136, 201)),
    looked_up(24, dtype=np.float64), looked_up(24, index=np.int64), looked_up(24, dtype=np.float16, grad=False),
    looked_up(24, dtype=ml_dtypes.bfloat16, grad=False), looked_up(24, dtype=np.int8, grad=False),
    looked_up(24, dtype=np.int64, grad=False),
    Case("one row", "(embedding t i)", {"t": floats(1, 128), "i": ids(3, 130)}, clamped),
    Case("ids of two axes", "(embedding t i)", {"t": floats(40, 32), "i": ids(40, 33, 17)}, clamped),
    Case("rows of two axes", "(take t i)", {"t": floats(40, 4, 9), "i": ids(40, 500)}, clamped),
    Case("along the last", "(take-along x i)", {"x": floats(130, 70), "i": ids(75, 130, 140)},
         lambda x, i: along(x, i, -1)),
    Case("along the first", "(take-along x i :axis 0)", {"x": floats(70, 130), "i": ids(75, 140, 130)},
         lambda x, i: along(x, i, 0)),
    Case("along the middle", "(take-along x i :axis 1)", {"x": floats(5, 30, 60), "i": ids(30, 5, 70, 60)},
         lambda x, i: along(x, i, 1)),
    Case("axis 1", "(take x i :axis 1)", {"x": floats(20, 30, 8), "i": ids(39, 120, low=-9)},
         lambda x, i: clamped(x, i, 1)),
    Case("axis 2, two axes of ids", "(take x i :axis 2)", {"x": floats(3, 4, 30, 5), "i": ids(39, 30, 11, low=-9)},
         lambda x, i: clamped(x, i, 2)),
    Case("last axis", "(take x i :axis -1)", {"x": floats(133, 50), "i": ids(59, 130, low=-9)},
         lambda x, i: clamped(x, i, -1)),
    Case("sum of sorted", "(* (sort x) (sort x :axis 0))", {"x": floats(130, 140)},
         lambda x: jnp.sort(x) * jnp.sort(x, axis=0)),
    Case("scatter-add ints", "(scatter-add x i y)", {"x": ids(99, 9, 20), "i": ids(9, 70), "y": ids(99, 70, 20)},
         lambda x, i, y: jnp.asarray(x).at[i].add(y), grad=False),
    Case("scatter-add kept", "(list (scatter-add x i y) x)",
         {"x": floats(9, 20), "i": ids(9, 70), "y": floats(70, 20)},
         lambda x, i, y: [jnp.asarray(x).at[i].add(y), x]),
    Case("scatter-set halves", "(scatter-set x i y)",
         {"x": floats(90, 20).astype(np.float16), "i": np.arange(89, 20, -3, dtype=np.int32),
          "y": floats(23, 20).astype(np.float16)}, lambda x, i, y: jnp.asarray(x).at[i].set(y), grad=False),
]


test_is_what_jax_computes = is_what_jax_computes


def test_vectors_divide_their_rows():
    assert [vector_of(n) for n in (1, 7, 64, 100, 136, 1000, 4096)] == [1, 7, 64, 50, 8, 40, 64]
    assert vector_of(67) is None and vector_of(201) is None


SCATTER = """
func.func @drops(%x: tensor<6x8xf32>, %i: tensor<5x1xi32>, %y: tensor<5x8xf32>) -> tensor<6x8xf32> {{
  %0 = "stablehlo.scatter"(%x, %i, %y) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    {body}
  }}) : (tensor<6x8xf32>, tensor<5x1xi32>, tensor<5x8xf32>) -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}}
"""
ADD = "%s = stablehlo.add %a, %b : tensor<f32>\n    stablehlo.return %s : tensor<f32>"


@pytest.mark.parametrize("body", [ADD, "stablehlo.return %b : tensor<f32>"], ids=["add", "set"])
def test_updates_out_of_range_are_dropped(body):
    """StableHLO's scatter, which is not clamped as the language's is."""
    with ir.Context():
        program = Program(compiled(ir.Module.parse(SCATTER.format(body=body)), "cpu"))
    x, y, places = floats(6, 8), floats(5, 8), np.array([[3], [-1], [6], [2**31 - 1], [0]], np.int32)
    wanted = x.copy()
    for i in (0, 4):
        at = places[i, 0]
        wanted[at] = wanted[at] + y[i] if body is ADD else y[i]
    np.testing.assert_array_equal(program.call("drops", x, places, y)[0], wanted)
