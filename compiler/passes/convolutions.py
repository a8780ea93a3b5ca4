"""Reading `stablehlo.convolution`: settings, and the permutations that bring its tensors to channels last."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.hlo import shape_of
from sexpgpu.compiler.passes.reading import dims_of


def pairs_of(op: ir.Operation, attribute: str, count: int) -> list[tuple[int, int]]:
    """A `tensor<nx2xi64>` of padding; zeros where absent."""
    if attribute not in op.attributes:
        return [(0, 0)] * count
    return [(int(a), int(b)) for a, b in np.array(ir.DenseElementsAttr(op.attributes[attribute]))]


@dataclass(frozen=True, slots=True)
class Layout:
    """Axes in each tensor: batch (or kernel input), feature (or kernel output), then space in order."""

    x: list[int]
    kernel: list[int]
    out: list[int]


_LAYOUT = re.compile(r"\[([^\]]*)\]x\[([^\]]*)\]->\[([^\]]*)\]")


def layout_of(op: ir.Operation) -> Layout:
    match = _LAYOUT.search(str(op.attributes["dimension_numbers"]))
    assert match is not None
    x, kernel, out = ([n.strip() for n in part.split(",")] for part in match.groups())
    space = [str(i) for i in range(len(x) - 2)]
    return Layout([x.index(n) for n in ("b", "f", *space)], [kernel.index(n) for n in ("i", "o", *space)],
                  [out.index(n) for n in ("b", "f", *space)])


@dataclass(frozen=True, slots=True)
class Conv:
    """A convolution's settings, one entry a spatial axis."""

    strides: list[int]
    padding: list[tuple[int, int]]
    dilation: list[int]
    holes: list[int]
    groups: int


def settings_of(op: ir.Operation) -> Conv | None:
    """None for batch groups and reversed windows."""
    n = len(shape_of(op.operands[0])) - 2
    reversal = str(op.attributes["window_reversal"]) if "window_reversal" in op.attributes else ""
    if ir.IntegerAttr(op.attributes["batch_group_count"]).value != 1 or "true" in reversal:
        return None
    ones = [1] * n
    return Conv(dims_of(op, "window_strides") or ones, pairs_of(op, "padding", n),
                 dims_of(op, "rhs_dilation") or ones, dims_of(op, "lhs_dilation") or ones,
                 ir.IntegerAttr(op.attributes["feature_group_count"]).value)


def padded(x: ir.Value, c: Conv) -> ir.Value:
    """`x`, channels last, with the zeros around it and the holes between that the settings ask for."""
    if all(h == 1 for h in c.holes) and all(p == (0, 0) for p in c.padding):
        return x
    zero = hlo.splat(0, [], hlo.element_type(x))
    return hlo.pad(x, zero, [0, *(low for low, _ in c.padding), 0], [0, *(high for _, high in c.padding), 0],
                   [0, *(h - 1 for h in c.holes), 0])


def forth(order: Sequence[int]) -> list[int]:
    """From stored axes to [batch, space…, feature] (kernel: [space…, in, out])."""
    first, second, *space = order
    return [first, *space, second]


def back(permutation: Sequence[int]) -> list[int]:
    return [int(i) for i in np.argsort(permutation)]


def kernel_forth(order: Sequence[int]) -> list[int]:
    first, second, *space = order
    return [*space, first, second]
