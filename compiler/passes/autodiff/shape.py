"""Derivatives of operations that move elements about: each is undone, and what was repeated is summed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.hlo import element_type, pad, reduce, reshape, shape_of, slice_, splat, subtract
from sexpgpu.compiler.passes.autodiff.rules import Primal, Thunk, rule
from sexpgpu.compiler.passes.reading import dims_of


def zero(x: ir.Value) -> ir.Value:
    """A scalar 0 of `x`'s element type."""
    return splat(0, [], element_type(x))


@rule("stablehlo.reshape")
def _reshape(p: Primal) -> Sequence[Thunk | None]:
    return [lambda: reshape(p.g, shape_of(p.operands[0]))]


@rule("stablehlo.transpose")
def _transpose(p: Primal) -> Sequence[Thunk | None]:
    inverse = np.argsort(dims_of(p.op, "permutation"))
    return [lambda: hlo.transpose(p.g, [int(i) for i in inverse])]


def _sum(g: ir.Value, dims: Sequence[int]) -> ir.Value:
    """The negation of a sum, not the sum of negations: that one is not vectorised on processors, and takes four times
    as long."""
    if not isinstance(g.owner, ir.Block) and g.owner.name == "stablehlo.negate":
        return hlo.negate(reduce(g.owner.operands[0], dims, "add"))
    return reduce(g, dims, "add")


@rule("stablehlo.broadcast_in_dim")
def _broadcast(p: Primal) -> Sequence[Thunk | None]:
    dims = dims_of(p.op, "broadcast_dimensions")
    shape, big = shape_of(p.operands[0]), shape_of(p.out)

    def of_x() -> ir.Value:
        kept = {d: n for d, n in zip(dims, shape, strict=True) if n == big[d]}
        summed = [d for d in range(len(big)) if d not in kept]
        g = _sum(p.g, summed) if summed else p.g
        # What is left stands in the result's order; the operand's may be another.
        order = sorted(kept)
        g = hlo.transpose(g, [order.index(d) for d in dims if d in kept])
        return reshape(g, shape)

    return [of_x]


@rule("stablehlo.concatenate")
def _concatenate(p: Primal) -> Sequence[Thunk | None]:
    dim = ir.IntegerAttr(p.op.attributes["dimension"]).value
    shape = shape_of(p.out)
    thunks: list[Thunk | None] = []
    start = 0
    for x in p.operands:
        end = start + shape_of(x)[dim]
        low = [start if d == dim else 0 for d in range(len(shape))]
        high = [end if d == dim else n for d, n in enumerate(shape)]
        thunks.append(lambda low=low, high=high: slice_(p.g, low, high))
        start = end
    return thunks


@rule("stablehlo.slice")
def _slice(p: Primal) -> Sequence[Thunk | None]:
    starts, strides = dims_of(p.op, "start_indices"), dims_of(p.op, "strides")
    whole, part = shape_of(p.operands[0]), shape_of(p.out)

    def of_x() -> ir.Value:
        ends = [a + (n - 1) * s + 1 for a, n, s in zip(starts, part, strides, strict=True)]
        high = [n - e for n, e in zip(whole, ends, strict=True)]
        return pad(p.g, zero(p.g), starts, high, [s - 1 for s in strides])

    return [of_x]


def _inside_of_pad(p: Primal) -> ir.Value:
    """The part of the cotangent that stands where the operand went."""
    low, high = dims_of(p.op, "edge_padding_low"), dims_of(p.op, "edge_padding_high")
    inner = dims_of(p.op, "interior_padding")
    g = p.g
    if any(n < 0 for n in (*low, *high)):
        # Cropped elements come back as zeros before the slice.
        g = pad(g, zero(g), [max(-n, 0) for n in low], [max(-n, 0) for n in high])
    starts = [max(n, 0) for n in low]
    limits = [n - max(h, 0) for n, h in zip(shape_of(g), high, strict=True)]
    return slice_(g, starts, limits, [i + 1 for i in inner])


@rule("stablehlo.pad")
def _pad(p: Primal) -> Sequence[Thunk | None]:
    every = range(len(shape_of(p.g)))
    return [lambda: _inside_of_pad(p),
            lambda: subtract(reduce(p.g, every, "add"), reduce(_inside_of_pad(p), every, "add"))]


@rule("stablehlo.reverse")
def _reverse(p: Primal) -> Sequence[Thunk | None]:
    return [lambda: hlo.reverse(p.g, dims_of(p.op, "dimensions"))]


def zero_starts(p: Primal, count: int) -> list[Thunk | None]:
    """Indices take no derivative."""
    return [None] * count


@rule("stablehlo.dynamic_slice")
def _dynamic_slice(p: Primal) -> Sequence[Thunk | None]:
    x, *starts = p.operands
    return [lambda: hlo.dynamic_update_slice(hlo.zeros_like(x), p.g, starts), *zero_starts(p, len(starts))]


@rule("stablehlo.dynamic_update_slice")
def _dynamic_update_slice(p: Primal) -> Sequence[Thunk | None]:
    _, update, *starts = p.operands
    return [lambda: hlo.dynamic_update_slice(p.g, hlo.zeros_like(update), starts),
            lambda: hlo.dynamic_slice(p.g, starts, shape_of(update)), *zero_starts(p, len(starts))]
