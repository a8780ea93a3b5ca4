"""Convolutions as products of patches, for processors.

The code generator's own loops over a convolution depend on how its sizes divide: 3 x 3 over 14 x 14 pixels, or in
strides of two, took ten times as long as the same work as one product. So the windows of the input, shifted slices, are
laid side by side along the channels, and the kernel is a matrix: the numbers are the same, and what `products` does for
matrices serves. It costs memory, the input times the kernel's positions, while it runs; beyond `MOST` the convolution
stays. So do those in groups. Measured in docs/benchmarks.md.
"""

from __future__ import annotations

import itertools
from math import prod

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.convolutions import Conv, back, forth, kernel_forth, layout_of, padded, settings_of

#: Numbers in the patches of one convolution.
MOST = 1 << 26
#: Positions of a kernel, each a slice.
MOST_POSITIONS = 64


def _patches(x: ir.Value, window: list[int], out: list[int], c: Conv) -> ir.Value:
    """[batch space… channels] -> [batch · out, positions · channels]."""
    batch, *_, channels = hlo.shape_of(x)
    x = padded(x, c)
    parts = []
    for at in itertools.product(*(range(k) for k in window)):
        start = [o * d for o, d in zip(at, c.dilation, strict=True)]
        end = [s + (n - 1) * t + 1 for s, n, t in zip(start, out, c.strides, strict=True)]
        parts.append(hlo.slice_(x, [0, *start, 0], [batch, *end, channels], [1, *c.strides, 1]))
    side_by_side = hlo.concatenate(parts, len(window) + 1) if len(parts) > 1 else parts[0]
    return hlo.reshape(side_by_side, [batch * prod(out), len(parts) * channels])


def _rewrite(op: ir.Operation) -> None:
    c, layout = settings_of(op), layout_of(op)
    if c is None or c.groups != 1 or hlo.element_type(op.operands[0]) != hlo.element_type(op.operands[1]):
        return
    shape = [hlo.shape_of(op.results[0])[i] for i in forth(layout.out)]
    kernel_shape = [hlo.shape_of(op.operands[1])[i] for i in kernel_forth(layout.kernel)]
    *window, channels, features = kernel_shape
    rows, depth = prod(shape[:-1]), prod(window) * channels
    if rows * depth > MOST or prod(window) > MOST_POSITIONS:
        return
    with ir.InsertionPoint(op), op.location:
        x = hlo.transpose(op.operands[0], forth(layout.x))
        kernel = hlo.transpose(op.operands[1], kernel_forth(layout.kernel))
        value = hlo.dot_general(_patches(x, window, shape[1:-1], c), hlo.reshape(kernel, [depth, features]),
                                contract=([1], [0]), batch=([], []), element=hlo.element_type(op.results[0]))
        value = hlo.transpose(hlo.reshape(value, shape), back(forth(layout.out)))
    fn.replace(op, value)


def apply(module: ir.Module, options: NoOptions) -> None:
    for op in fn.named(module, "stablehlo.convolution"):
        _rewrite(op)


PASS = Pass("patches", "convolutions as products of patches, for processors", apply, optional=True)
