"""Rows taken from a table and added to one, as kernels; for processors.

The code generator computes a gather number by number, and does a scatter on one thread. Here both are kernels
(`lookup_kernels`) that take batches: `[b n d]` at indices `[b i]` is `[b i d]`. Rows of a table are a batch of one,
picks along an axis have a width of one, and slices of an inner axis are batches at equal indices.

What stays with the code generator: other layouts, small gathers (which fuse with what surrounds them, where a kernel of
its own costs a start), booleans and unsigned integers, and rows wider than a vector whose width no vector divides.
Measured in docs/benchmarks.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.known import number_of
from sexpgpu.compiler.passes.legalize.indices import window_sizes
from sexpgpu.compiler.passes.lookup_kernels import put, take
from sexpgpu.compiler.passes.reading import dimension_numbers, dims_of, reducer_of

#: Numbers of a row that are taken at a time, at most and (of a wider row) at least.
WIDEST, NARROWEST = 64, 8
#: Numbers in the result of a gather that is worth a start of its own.
WORTH = 1 << 14
#: What can be copied, and what is added as it is.
COPIED, ADDED = ("f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64"), ("f32", "f64", "i32", "i64")


@dataclass(frozen=True, slots=True)
class Layout:
    """Which axes of the table count batches, the indexed one and a row's; `[b n d]` at `[b i]`, and the vector. The
    indices may be those of all batches."""

    permutation: list[int]
    batch: int
    rows: int
    width: int
    indices: int
    vector: int


def vector_of(width: int) -> int | None:
    """A whole row where it is narrow; else the widest part that divides it, whole registers before others."""
    if width <= WIDEST:
        return width
    parts = [v for v in range(NARROWEST, WIDEST + 1) if width % v == 0]
    return max(parts, key=lambda v: (v % NARROWEST == 0, v)) if parts else None


def _layout(table: ir.Value, indices: ir.Value, axes: Sequence[int], dropped: Sequence[int],
            batching: tuple[Sequence[int], Sequence[int]], index_dim: int, sizes: Sequence[int], offset: Sequence[int],
            rank: int) -> Layout | None:
    """What both operations say in their own words: `axes` are indexed, `dropped` from the rows, `offset` are the places
    of a row's axes in the result or the updates, of `rank` axes."""
    shape, places = hlo.shape_of(table), list(hlo.shape_of(indices))
    if index_dim < len(places) and (places.pop(index_dim) != 1 or index_dim != len(places)):
        return None
    own = list(batching[0])
    if len(axes) != 1 or list(dropped) != list(axes) or list(batching[1]) != list(range(len(own))):
        return None
    before = [] if own else list(range(axes[0]))   # at the same indices, each
    rest = [d for d in range(len(shape)) if d not in (*axes, *own, *before)]
    whole = all(sizes[d] == shape[d] for d in (*before, *rest))
    if not whole or list(offset) != [*range(len(before)), *range(rank - len(rest), rank)]:
        return None
    width = prod(shape[d] for d in rest)
    vector = vector_of(width)
    if vector is None or str(hlo.element_type(indices)) not in ("i32", "i64"):
        return None
    return Layout([*own, *before, *axes, *rest], prod(shape[d] for d in (*own, *before)), shape[axes[0]], width,
                  prod(places) // prod(shape[d] for d in own), vector)


def _bare(indices: ir.Value, rows: int) -> tuple[ir.Value, bool]:
    """The indices before they were clamped to the rows, and whether they were: the kernel does it."""
    def bound(value: ir.Value, name: str, limit: int) -> ir.Value | None:
        op = value.owner
        clamped = not isinstance(op, ir.Block) and op.name == f"stablehlo.{name}" and number_of(op.operands[1]) == limit
        return op.operands[0] if clamped else None

    for (outer, high), (inner, low) in ((("maximum", 0), ("minimum", rows - 1)),
                                        (("minimum", rows - 1), ("maximum", 0))):
        once = bound(indices, outer, high)
        twice = bound(once, inner, low) if once is not None else None
        if twice is not None:
            return twice, True
    return indices, False


def _places(indices: ir.Value, layout: Layout) -> ir.Value:
    """[b i]."""
    shape = [layout.batch, layout.indices]
    if prod(hlo.shape_of(indices)) == prod(shape):
        return hlo.reshape(indices, shape)
    return hlo.broadcast_in_dim(hlo.reshape(indices, shape[1:]), shape, [1])


def _table(x: ir.Value, layout: Layout) -> ir.Value:
    return hlo.reshape(hlo.transpose(x, layout.permutation), [layout.batch, layout.rows, layout.width])


def _gather(op: ir.Operation) -> None:
    x, indices = op.operands
    n = dimension_numbers(op.attributes["dimension_numbers"])
    result = op.results[0]
    if str(hlo.element_type(x)) not in COPIED or prod(hlo.shape_of(result)) < WORTH:
        return
    layout = _layout(x, indices, n["start_index_map"], n["collapsed_slice_dims"],
                     (n["operand_batching_dims"], n["start_indices_batching_dims"]), n.index_vector_dim,
                     dims_of(op, "slice_sizes"), n["offset_dims"], len(hlo.shape_of(result)))
    if layout is None:
        return
    with ir.InsertionPoint(op), op.location:
        ids = _places(_bare(indices, layout.rows)[0], layout)
        value = hlo.reshape(take(_table(x, layout), ids, layout.vector), hlo.shape_of(result))
    fn.replace(op, value)


def _scatter(op: ir.Operation) -> None:
    kind = reducer_of(op) if len(op.operands) == 3 else None
    if kind not in ("stablehlo.add", "second"):
        return
    x, indices, updates = op.operands
    n = dimension_numbers(op.attributes["scatter_dimension_numbers"])
    if str(hlo.element_type(x)) not in (ADDED if kind == "stablehlo.add" else COPIED):
        return
    layout = _layout(x, indices, n["scatter_dims_to_operand_dims"], n["inserted_window_dims"],
                     (n["input_batching_dims"], n["scatter_indices_batching_dims"]), n.index_vector_dim,
                     window_sizes(op, n), n["update_window_dims"], len(hlo.shape_of(updates)))
    if layout is None:
        return
    with ir.InsertionPoint(op), op.location:
        bare, clamped = _bare(indices, layout.rows)
        ids = _places(bare, layout)
        new = hlo.reshape(updates, [layout.batch, layout.indices, layout.width])
        value = put(_table(x, layout), ids, new, layout.vector, kind == "stablehlo.add", clamped)
        shape = [hlo.shape_of(x)[d] for d in layout.permutation]
        back = [layout.permutation.index(d) for d in range(len(shape))]
        value = hlo.transpose(hlo.reshape(value, shape), back)
    fn.replace(op, value)


FORMS = {"stablehlo.gather": _gather, "stablehlo.scatter": _scatter}


def apply(module: ir.Module, options: NoOptions) -> None:
    for func in fn.functions(module):
        for op in [op for op in fn.walk(fn.body(func)) if op.name in FORMS]:
            FORMS[op.name](op)


PASS = Pass("lookups", "rows taken from a table and added to one as kernels of vectors, for processors", apply,
            optional=True)
