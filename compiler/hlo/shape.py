"""Operations that move elements and compute none."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from sexpgpu.compiler.hlo.core import Dims, element_type, i64, i64_array, make, shape_of, tensor_type


def reshape(x: ir.Value, shape: Dims) -> ir.Value:
    if tuple(shape) == shape_of(x):
        return x
    return make("stablehlo.reshape", [tensor_type(shape, element_type(x))], [x]).result


def transpose(x: ir.Value, permutation: Dims) -> ir.Value:
    if list(permutation) == list(range(len(permutation))):
        return x
    shape = [shape_of(x)[p] for p in permutation]
    return make("stablehlo.transpose", [tensor_type(shape, element_type(x))], [x],
                {"permutation": i64_array(permutation)}).result


def broadcast_in_dim(x: ir.Value, shape: Dims, dims: Dims) -> ir.Value:
    """Axis i of `x` becomes axis `dims[i]`; axes of size 1 stretch."""
    if tuple(shape) == shape_of(x) and list(dims) == list(range(len(shape))):
        return x
    return make("stablehlo.broadcast_in_dim", [tensor_type(shape, element_type(x))], [x],
                {"broadcast_dimensions": i64_array(dims)}).result


def broadcast_scalar(x: ir.Value, shape: Dims) -> ir.Value:
    return broadcast_in_dim(x, shape, [])


def concatenate(xs: Sequence[ir.Value], dim: int) -> ir.Value:
    shape = list(shape_of(xs[0]))
    shape[dim] = sum(shape_of(x)[dim] for x in xs)
    return make("stablehlo.concatenate", [tensor_type(shape, element_type(xs[0]))], list(xs),
                {"dimension": i64(dim)}).result


def slice_(x: ir.Value, starts: Dims, limits: Dims, strides: Dims | None = None) -> ir.Value:
    steps = list(strides) if strides is not None else [1] * len(starts)
    shape = [-(-(b - a) // s) for a, b, s in zip(starts, limits, steps, strict=True)]
    return make("stablehlo.slice", [tensor_type(shape, element_type(x))], [x], {
        "start_indices": i64_array(starts), "limit_indices": i64_array(limits), "strides": i64_array(steps),
    }).result


def pad(x: ir.Value, value: ir.Value, low: Dims, high: Dims, interior: Dims | None = None) -> ir.Value:
    """`value` is a scalar tensor; negative low and high crop."""
    inner = list(interior) if interior is not None else [0] * len(low)
    shape = [lo + n + max(n - 1, 0) * i + hi for n, lo, hi, i in zip(shape_of(x), low, high, inner, strict=True)]
    return make("stablehlo.pad", [tensor_type(shape, element_type(x))], [x, value], {
        "edge_padding_low": i64_array(low), "edge_padding_high": i64_array(high), "interior_padding": i64_array(inner),
    }).result


def reverse(x: ir.Value, dims: Dims) -> ir.Value:
    if not dims:
        return x   # IREE has no form for it
    return make("stablehlo.reverse", [x.type], [x], {"dimensions": i64_array(dims)}).result


def dynamic_slice(x: ir.Value, starts: Sequence[ir.Value], sizes: Dims) -> ir.Value:
    return make("stablehlo.dynamic_slice", [tensor_type(sizes, element_type(x))], [x, *starts],
                {"slice_sizes": i64_array(sizes)}).result


def dynamic_update_slice(x: ir.Value, update: ir.Value, starts: Sequence[ir.Value]) -> ir.Value:
    return make("stablehlo.dynamic_update_slice", [x.type], [x, update, *starts]).result
