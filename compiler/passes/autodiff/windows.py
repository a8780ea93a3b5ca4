"""Derivatives of reductions over windows.

The gradient of a sum is a sum over windows of the spread cotangent; that of a maximum goes to the first maximum of
each window, by one strided slice a position; that of a product goes through the products it is made of by doubling.
What runs along a whole axis (`cumsum` and its like) has a gradient that runs the other way.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.hlo import element_type, pad, shape_of, slice_, zeros_like
from sexpgpu.compiler.passes import windows
from sexpgpu.compiler.passes.autodiff.reverse import backpropagate
from sexpgpu.compiler.passes.autodiff.rules import NoDerivative, Primal, Thunk, rule
from sexpgpu.compiler.passes.autodiff.shape import zero
from sexpgpu.compiler.passes.convolutions import pairs_of
from sexpgpu.compiler.passes.reading import dims_of, reducer_of
from sexpgpu.compiler.passes.running import Running, running_of
from sexpgpu.compiler.running import recurrence, running, shifted

#: More window positions than this are not unrolled.
MOST_POSITIONS = 1024


@dataclass(frozen=True, slots=True)
class _Windows:
    size: list[int]
    strides: list[int]
    dilation: list[int]
    padding: list[tuple[int, int]]


def _windows(op: ir.Operation) -> _Windows:
    n = len(shape_of(op.operands[0]))
    ones = [1] * n
    if any(d != 1 for d in dims_of(op, "base_dilations")):
        raise NoDerivative("a window reduction over a dilated base has no derivative rule")
    return _Windows(dims_of(op, "window_dimensions"), dims_of(op, "window_strides") or ones,
                    dims_of(op, "window_dilations") or ones, pairs_of(op, "padding", n))


def _shared_out(g: ir.Value, shape: Sequence[int], size: Sequence[int]) -> ir.Value:
    """Windows side by side: each cotangent once for every element of its window, and zeros for what is in none."""
    out = shape_of(g)
    pairs = [n for pair in zip(out, size, strict=True) for n in pair]
    spread = hlo.broadcast_in_dim(g, pairs, list(range(0, len(pairs), 2)))
    spread = hlo.reshape(spread, [o * s for o, s in zip(out, size, strict=True)])
    rest = [n - m for n, m in zip(shape, shape_of(spread), strict=True)]
    return pad(spread, zero(g), [0] * len(shape), rest) if any(rest) else spread


def _sum_windows(p: Primal, w: _Windows) -> ir.Value:
    """Each input gets the cotangents of the windows it stands in: a sum over windows of the spread cotangent."""
    shape = shape_of(p.operands[0])
    if w.strides == w.size and not any(lo or hi for lo, hi in w.padding) and all(d == 1 for d in w.dilation):
        return _shared_out(p.g, shape, w.size)
    low, high = [], []
    for n, out, size, stride, d, (lo, _) in zip(shape, shape_of(p.g), w.size, w.strides, w.dilation, w.padding,
                                                strict=True):
        reach = (size - 1) * d
        low.append(reach - lo)
        high.append(n + lo - ((out - 1) * stride + 1))
    spread = pad(p.g, zero(p.g), low, high, [s - 1 for s in w.strides])
    return hlo.reduce_window(spread, "add", window=w.size, strides=[1] * len(shape),
                             padding=[(0, 0)] * len(shape), dilation=w.dilation)


def _first_of_apart(p: Primal, size: list[int]) -> ir.Value:
    """Windows side by side: each place is numbered, and the least number whose element is the extreme gets it."""
    x, out = p.operands[0], list(shape_of(p.g))
    parts, places = windows.apart(x, out, size)
    shape = list(shape_of(parts))
    kept = [d for d in range(len(shape)) if d not in places]
    number, step = hlo.splat(0, shape, "i32"), 1
    for d in reversed(places):
        number = hlo.add(number, hlo.multiply(hlo.iota(shape, d, "i32"), hlo.splat(step, shape, "i32")))
        step *= shape[d]
    hit = hlo.compare("EQ", parts, hlo.broadcast_in_dim(p.out, shape, kept))
    first = hlo.reduce(hlo.select(hit, number, hlo.splat(step, shape, "i32")), places, "minimum")
    mine = hlo.compare("EQ", number, hlo.broadcast_in_dim(first, shape, kept))
    g = hlo.select(mine, hlo.broadcast_in_dim(p.g, shape, kept), hlo.splat(0, shape, element_type(p.g)))
    g = hlo.reshape(g, [o * s for o, s in zip(out, size, strict=True)])
    rest = [n - m for n, m in zip(shape_of(x), shape_of(g), strict=True)]
    return pad(g, zero(g), [0] * len(rest), rest) if any(rest) else g


def _first_extremum(p: Primal, w: _Windows, kind: str) -> ir.Value:
    x = p.operands[0]
    size = windows.side_by_side(p.op)
    if size is not None and any(n > 1 for n in size):
        return _first_of_apart(p, size)
    shape, out = shape_of(x), shape_of(p.g)
    if prod(w.size) > MOST_POSITIONS:
        raise NoDerivative(f"a window of more than {MOST_POSITIONS} elements has no derivative rule")
    filler = hlo.splat(hlo.identity(kind, element_type(x)), [], element_type(x))
    padded = pad(x, filler, [lo for lo, _ in w.padding], [hi for _, hi in w.padding])
    total, taken = None, None
    for at in itertools.product(*(range(n) for n in w.size)):
        start = [o * d for o, d in zip(at, w.dilation, strict=True)]
        end = [s + (n - 1) * t + 1 for s, n, t in zip(start, out, w.strides, strict=True)]
        here = hlo.compare("EQ", slice_(padded, start, end, w.strides), p.out)
        first = here if taken is None else hlo.and_(here, hlo.not_(taken))
        taken = here if taken is None else hlo.or_(taken, here)
        part = hlo.select(first, p.g, hlo.zeros_like(p.g))
        high = [n + hi + lo - e for n, e, (lo, hi) in zip(shape, end, w.padding, strict=True)]
        crop_low = [s - lo for s, (lo, _) in zip(start, w.padding, strict=True)]
        crop_high = [h - hi for h, (_, hi) in zip(high, w.padding, strict=True)]
        back = pad(part, zero(part), crop_low, crop_high, [s - 1 for s in w.strides])
        total = back if total is None else hlo.add(total, back)
    assert total is not None
    return total


def _product(x: ir.Value, w: _Windows) -> tuple[ir.Value, list[ir.Operation]]:
    """The products of all windows by doubling, along one axis after the other; and the operations that make them, which
    have derivatives where an element is zero too, as a division by it would not."""
    made: list[ir.Operation] = []

    def noted(value: ir.Value) -> ir.Value:
        if value.owner not in made:
            made.append(value.owner)
        return value

    def part(value: ir.Value, axis: int, start: int, end: int, step: int = 1) -> ir.Value:
        shape = shape_of(value)
        return noted(slice_(value, [start if i == axis else 0 for i in range(len(shape))],
                            [end if i == axis else n for i, n in enumerate(shape)],
                            [step if i == axis else 1 for i in range(len(shape))]))

    one = hlo.splat(1.0, [], element_type(x))
    value = noted(pad(x, one, [lo for lo, _ in w.padding], [hi for _, hi in w.padding]))
    for axis, (size, stride, d) in enumerate(zip(w.size, w.strides, w.dilation, strict=True)):
        count = shape_of(value)[axis] - (size - 1) * d
        power, reach, left, offset, total = value, d, size, 0, None
        while left:
            if left & 1:
                here = part(power, axis, offset, offset + count)
                total = here if total is None else noted(hlo.multiply(total, here))
                offset += reach
            left >>= 1
            if left:
                n = shape_of(power)[axis]
                power = noted(hlo.multiply(part(power, axis, 0, n - reach), part(power, axis, reach, n)))
                reach *= 2
        assert total is not None
        value = total if stride == 1 else part(total, axis, 0, count, stride)
    return value, made


def _product_cotangent(p: Primal, w: _Windows) -> ir.Value:
    x = p.operands[0]
    value, ops = _product(x, w)
    (found,) = backpropagate(ops, [(value, p.g)], [x])
    return zeros_like(x) if found is None else found


def _along(p: Primal, along: Running) -> Sequence[Thunk | None]:
    """With h[i] = a[i] h[i - 1] + b[i], the cotangents of h run the other way: r[i] = a[i + 1] r[i + 1] + g[i], which
    are those of b; those of a are r[i] h[i - 1]. A running product has a = x and b = 0, but for its first element."""
    axis, g, out, other = along.axis, p.cotangents[-1], p.op.results[-1], not along.backwards
    step = -1 if along.backwards else 1
    assert g is not None

    @cache
    def arriving(a: ir.Value) -> ir.Value:
        return recurrence(shifted(a, axis, -step, 0), g, axis, backwards=other)

    if along.kind == "add":
        return [lambda: running(g, axis, "add", backwards=other), None]
    if along.kind == "multiply":
        x = p.operands[0]
        return [lambda: hlo.multiply(arriving(x), shifted(out, axis, step, 1)), None]
    a, _ = list(p.operands)[:2]
    return [lambda: hlo.multiply(arriving(a), shifted(out, axis, step, 0)), lambda: arriving(a), None, None]


@rule("stablehlo.reduce_window")
def _reduce_window(p: Primal) -> Sequence[Thunk | None]:
    along = running_of(p.op)
    if along is not None and along.kind in ("add", "multiply", "recurrence"):
        return _along(p, along)
    kind = reducer_of(p.op)
    if len(p.operands) != 2 or kind not in ("stablehlo.add", "stablehlo.multiply", "stablehlo.maximum",
                                            "stablehlo.minimum"):
        raise NoDerivative("a window reduction has a derivative when it adds, multiplies or takes an extreme")
    placed = _windows(p.op)
    if kind == "stablehlo.multiply":
        return [lambda: _product_cotangent(p, placed), None]
    if kind == "stablehlo.add":
        return [lambda: _sum_windows(p, placed), None]
    return [lambda: _first_extremum(p, placed, kind.removeprefix("stablehlo.")), None]
