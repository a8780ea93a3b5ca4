"""Convolutions and windows."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from sexpgpu.compiler.hlo.constants import splat
from sexpgpu.compiler.hlo.core import Dims, block, element_type, i64, i64_array, make, return_, shape_of, tensor_type
from sexpgpu.compiler.hlo.reduction import identity


def convolution(x: ir.Value, kernel: ir.Value, *, strides: Dims, padding: Sequence[tuple[int, int]],
                dilation: Dims, groups: int = 1, element: ir.Type | str | None = None) -> ir.Value:
    """Channels last: `x` [batch, space…, in], `kernel` [space…, in / groups, out] → [batch, space…, out]."""
    sx, sk = shape_of(x), shape_of(kernel)
    n = len(sx) - 2
    space = [(sx[i + 1] + lo + hi - ((sk[i] - 1) * dilation[i] + 1)) // strides[i] + 1
             for i, (lo, hi) in enumerate(padding)]
    names = ", ".join(str(i) for i in range(n))
    numbers = ir.Attribute.parse(f"#stablehlo.conv<[b, {names}, f]x[{names}, i, o]->[b, {names}, f]>")
    pads = ir.Attribute.parse(f"dense<{[list(p) for p in padding]}> : tensor<{n}x2xi64>")
    result = tensor_type([sx[0], *space, sk[-1]], element if element is not None else element_type(x))
    return make("stablehlo.convolution", [result], [x, kernel], {
        "window_strides": i64_array(strides), "padding": pads, "rhs_dilation": i64_array(dilation),
        "dimension_numbers": numbers, "feature_group_count": i64(groups), "batch_group_count": i64(1),
    }).result


def reduce_window(x: ir.Value, kind: str, *, window: Dims, strides: Dims, padding: Sequence[tuple[int, int]],
                  dilation: Dims | None = None) -> ir.Value:
    """A reduction over sliding windows of every axis; `kind` as in `reduce`; padding is the kind's identity."""
    element = element_type(x)
    scalar = tensor_type([], element)
    steps = list(dilation) if dilation is not None else [1] * len(window)
    shape = [(n + lo + hi - ((w - 1) * d + 1)) // s + 1 for n, w, s, d, (lo, hi)
             in zip(shape_of(x), window, strides, steps, padding, strict=True)]
    start = splat(identity(kind, element), [], element)
    op = make("stablehlo.reduce_window", [tensor_type(shape, element)], [x, start], {
        "window_dimensions": i64_array(window), "window_strides": i64_array(strides),
        "window_dilations": i64_array(steps),
        "padding": ir.Attribute.parse(f"dense<{[list(p) for p in padding]}> : tensor<{len(window)}x2xi64>"),
    }, regions=1)
    body = block(op.regions[0], [scalar, scalar])
    with ir.InsertionPoint(body):
        return_([make(f"stablehlo.{kind}", [scalar], list(body.arguments)).result])
    return op.result
