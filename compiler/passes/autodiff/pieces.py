"""The sum of what arrives at one value; where its slices fill it, their cotangents side by side.

The cotangent of a slice is padded with zeros to the whole. A value that is split (the gates of a cell, the heads'
queries, keys and values) gets one from each part: their sum would write and read the whole once a part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes.reading import dims_of


@dataclass(frozen=True, slots=True)
class _Piece:
    """`value` from `start` on along `axis`, zeros elsewhere."""

    axis: int
    start: int
    value: ir.Value

    @property
    def end(self) -> int:
        return self.start + hlo.shape_of(self.value)[self.axis]


def _piece(cotangent: ir.Value) -> _Piece | None:
    """Only what was padded with zeros, along one axis and without holes."""
    op = cotangent.owner
    if isinstance(op, ir.Block) or op.name != "stablehlo.pad" or any(dims_of(op, "interior_padding")):
        return None
    low, high = dims_of(op, "edge_padding_low"), dims_of(op, "edge_padding_high")
    axes = [i for i, pair in enumerate(zip(low, high, strict=True)) if pair != (0, 0)]
    if len(axes) != 1 or min(*low, *high) < 0 or not _is_zero(op.operands[1]):
        return None
    return _Piece(axes[0], low[axes[0]], op.operands[0])


def _is_zero(scalar: ir.Value) -> bool:
    op = scalar.owner
    if isinstance(op, ir.Block) or op.name != "stablehlo.constant":
        return False
    value = ir.DenseElementsAttr(op.attributes["value"])
    return bool(value.is_splat) and ir.FloatAttr(value.get_splat_value()).value == 0.0


def _side_by_side(cotangents: Sequence[ir.Value]) -> ir.Value | None:
    pieces = [p for p in map(_piece, cotangents) if p is not None]
    if len(pieces) < 2 or len(pieces) < len(cotangents) or len({p.axis for p in pieces}) > 1:
        return None
    pieces.sort(key=lambda p: p.start)
    axis = pieces[0].axis
    bounds = [0, *(p.end for p in pieces)]
    if any(p.start != end for p, end in zip(pieces, bounds, strict=False)) or \
            bounds[-1] != hlo.shape_of(cotangents[0])[axis]:
        return None
    return hlo.concatenate([p.value for p in pieces], axis)


def gathered(cotangents: Sequence[ir.Value]) -> Sequence[ir.Value]:
    """As they are while all are pieces, which more may complete; else their sum."""
    return cotangents if all(_piece(c) is not None for c in cotangents) else [joined(cotangents)]


def joined(cotangents: Sequence[ir.Value]) -> ir.Value:
    """The sum of at least one."""
    whole = _side_by_side(cotangents) if len(cotangents) > 1 else None
    return reduce(hlo.add, cotangents) if whole is None else whole
