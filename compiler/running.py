"""Running sums, products and extremes, and recurrences, along an axis: windows that reach from one end to each element.

Passes make kernels of them (`passes/scans.py`) or expand them (`passes/running.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from sexpgpu.compiler import hlo

#: On the windows that are a recurrence; their body says so too, in the words of StableHLO.
RECURRENCE = "sexp.recurrence"


def running(x: ir.Value, axis: int, kind: str, *, backwards: bool = False) -> ir.Value:
    shape = hlo.shape_of(x)
    if shape[axis] == 1:
        return x
    return hlo.reduce_window(x, kind, window=window_of(shape, axis), strides=[1] * len(shape),
                             padding=padding_of(shape, axis, backwards))


def recurrence(a: ir.Value, b: ir.Value, axis: int, *, backwards: bool = False) -> ir.Value:
    """h[i] = a[i] · h[i - 1] + b[i], of two tensors of a shape; before the first element h is 0, and with `backwards`
    the last element comes first. As windows: pairs combine as what one does after the other, x -> a x + b, do."""
    shape, kind = hlo.shape_of(b), hlo.element_type(b)
    if shape[axis] == 1:
        return b
    scalar = hlo.tensor_type([], kind)
    op = hlo.make("stablehlo.reduce_window", [b.type, b.type], [a, b, hlo.splat(1, [], kind), hlo.splat(0, [], kind)], {
        "window_dimensions": hlo.i64_array(window_of(shape, axis)),
        "padding": ir.Attribute.parse(
            f"dense<{[list(p) for p in padding_of(shape, axis, backwards)]}> : tensor<{len(shape)}x2xi64>"),
        RECURRENCE: ir.UnitAttr.get()}, regions=1)
    body = hlo.block(op.regions[0], [scalar] * 4)
    with ir.InsertionPoint(body):
        first, second = list(body.arguments)[:2], list(body.arguments)[2:]
        (a1, b1), (a2, b2) = (second, first) if backwards else (first, second)
        hlo.return_([hlo.multiply(a1, a2), hlo.add(hlo.multiply(a2, b1), b2)])
    return op.results[1]


def shifted(x: ir.Value, axis: int, places: int, fill: float) -> ir.Value:
    """Moved up by `places` (down where they are negative), `fill` where nothing is."""
    low = [places if i == axis else 0 for i in range(len(hlo.shape_of(x)))]
    return hlo.pad(x, hlo.splat(fill, [], hlo.element_type(x)), low, [-n for n in low])


def window_of(shape: Sequence[int], axis: int) -> list[int]:
    return [n if i == axis else 1 for i, n in enumerate(shape)]


def padding_of(shape: Sequence[int], axis: int, backwards: bool) -> list[tuple[int, int]]:
    reach = shape[axis] - 1
    return [((0, reach) if backwards else (reach, 0)) if i == axis else (0, 0) for i in range(len(shape))]
