"""Windows that stand side by side, as plain reductions; for processors.

The code generator treats every reduction over windows as a convolution: 2 x 2 over 28 x 28 pixels took five times as
long as a reduction of the same numbers. Without overlap, padding or holes each axis falls apart into windows and
places, and the places are reduced. Measured in docs/benchmarks.md.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.convolutions import pairs_of
from sexpgpu.compiler.passes.reading import dims_of, reducer_of

KINDS = ("stablehlo.add", "stablehlo.multiply", "stablehlo.maximum", "stablehlo.minimum")


def apart(x: ir.Value, out: list[int], size: list[int]) -> tuple[ir.Value, list[int]]:
    """[… n …] -> [… n/size size …] for the axes that have windows, what is left at the end cut off; and the axes of the
    places in a window."""
    whole = [o * s for o, s in zip(out, size, strict=True)]
    x = hlo.slice_(x, [0] * len(out), whole) if whole != list(hlo.shape_of(x)) else x
    shape, places = [], []
    for o, s in zip(out, size, strict=True):
        shape.append(o)
        if s > 1:
            places.append(len(shape))
            shape.append(s)
    return hlo.reshape(x, shape), places


def side_by_side(op: ir.Operation) -> list[int] | None:
    """The sizes of the windows; None where they overlap, have holes or reach into padding."""
    rank = len(hlo.shape_of(op.operands[0]))
    size = dims_of(op, "window_dimensions")
    plain = all(d == 1 for a in ("window_dilations", "base_dilations") for d in dims_of(op, a))
    padded = any(low or high for low, high in pairs_of(op, "padding", rank))
    return size if plain and not padded and (dims_of(op, "window_strides") or [1] * rank) == size else None


def _rewrite(op: ir.Operation) -> None:
    size = side_by_side(op)
    if size is None or len(op.operands) != 2 or reducer_of(op) not in KINDS:
        return
    x, start = op.operands
    with ir.InsertionPoint(op), op.location:
        parts, places = apart(x, list(hlo.shape_of(op.results[0])), size)
        if not places:
            return
        new = hlo.make("stablehlo.reduce", [op.results[0].type], [parts, start],
                       {"dimensions": hlo.i64_array(places)}, regions=1)
        op.regions[0].blocks[0].append_to(new.regions[0])
    fn.replace(op, new.result)


def apply(module: ir.Module, options: NoOptions) -> None:
    for func in fn.functions(module):
        for op in [op for op in fn.walk(fn.body(func)) if op.name == "stablehlo.reduce_window"]:
            _rewrite(op)


PASS = Pass("windows", "windows side by side as plain reductions, for processors", apply, optional=True)
