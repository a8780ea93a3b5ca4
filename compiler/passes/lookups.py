"""Rows taken from a table and added to one, as kernels; for processors.

The code generator computes a gather number by number, and does a scatter on one thread. Here a gather copies vectors;
a scatter is cut by columns, so that every piece goes through all indices in their order and no two write the same
number: sums have one order whatever the threads. Both take batches: `[b n d]` at indices `[b i]` is `[b i d]`, where
rows of a table are a batch of one and picks along an axis are a width of one.

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
from sexpgpu.compiler.passes.dispatch import Buffer, launch, reader
from sexpgpu.compiler.passes.legalize.indices import window_sizes
from sexpgpu.compiler.passes.reading import dimension_numbers, dims_of, reducer_of

#: Numbers of a row that are taken at a time, at most and (of a wider row) at least.
WIDEST, NARROWEST = 64, 8
#: Numbers in one piece of work.
PIECE = 1 << 14
#: Numbers in the result of a gather that is worth a start of its own.
WORTH = 1 << 14
#: What can be copied, and what is added as it is.
COPIED, ADDED = ("f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64"), ("f32", "f64", "i32", "i64")


@dataclass(frozen=True, slots=True)
class Layout:
    """Which axes of the table count batches, the indexed one and a row's; `[b n d]` at `[b i]`, and the vector."""

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
    batch = list(batching[0])
    if len(axes) != 1 or list(dropped) != list(axes) or list(batching[1]) != list(range(len(batch))):
        return None
    rest = [d for d in range(len(shape)) if d not in (*axes, *batch)]
    permutation = [*batch, *axes, *rest]
    if any(sizes[d] != shape[d] for d in rest) or list(offset) != list(range(rank - len(rest), rank)):
        return None
    if not batch and permutation != sorted(permutation):
        return None
    b, width = prod(shape[d] for d in batch), prod(shape[d] for d in rest)
    vector = vector_of(width)
    if vector is None or str(hlo.element_type(indices)) not in ("i32", "i64"):
        return None
    return Layout(permutation, b, shape[axes[0]], width, prod(places) // b, vector)


def _bare(indices: ir.Value, rows: int) -> tuple[ir.Value, bool]:
    """The indices before they were clamped to the rows, and whether they were: the kernel does it."""
    def bound(value: ir.Value, name: str, limit: int) -> ir.Value | None:
        op = value.owner
        if isinstance(op, ir.Block) or op.name != f"stablehlo.{name}":
            return None
        made = op.operands[1].owner
        if isinstance(made, ir.Block) or made.name != "stablehlo.constant":
            return None
        number = ir.DenseElementsAttr(made.attributes["value"])
        return op.operands[0] if number.is_splat and number.get_splat_value().value == limit else None

    for (outer, high), (inner, low) in ((("maximum", 0), ("minimum", rows - 1)),
                                        (("minimum", rows - 1), ("maximum", 0))):
        once = bound(indices, outer, high)
        twice = bound(once, inner, low) if once is not None else None
        if twice is not None:
            return twice, True
    return indices, False


def _row(kind: ir.Type, rows: int) -> str:
    """From `%id` to `%row`, in range."""
    return f"""%first = arith.constant 0 : {kind}
            %last = arith.constant {rows - 1} : {kind}
            %above = arith.maxsi %id, %first : {kind}
            %inside = arith.minsi %above, %last : {kind}
            %row = arith.index_cast %inside : {kind} to index"""


def _zero(kind: ir.Type) -> str:
    return f"arith.constant {'0' if isinstance(kind, ir.IntegerType) else '0.0'} : {kind}"


def take(x: ir.Value, ids: ir.Value, vector: int) -> ir.Value:
    """[b n d] at [b i], clamped -> [b i d]."""
    (b, n, d), i, kind, index = hlo.shape_of(x), hlo.shape_of(ids)[1], hlo.element_type(x), hlo.element_type(ids)
    table, places = reader("table", x), reader("places", ids)
    out = Buffer("out", hlo.tensor_type([b, i, d], kind), "writeonly")
    rows, batches = min(i, max(1, PIECE // d)), max(1, min(b, PIECE // (i * d)))
    part, some, vec = f"tensor<?x?x{d}x{kind}>", f"tensor<?x?x{index}>", f"vector<{vector}x{kind}>"
    body = f"""
        %zero = {_zero(kind)}
        %at = arith.muli %x, %n{rows} : index
        %left = arith.subi %n{i}, %at : index
        %many = arith.minsi %left, %n{rows} : index
        %from = arith.muli %y, %n{batches} : index
        %more = arith.subi %n{b}, %from : index
        %batches = arith.minsi %more, %n{batches} : index
        %whole = {table.load(["%from", "0", "0"], ["%batches", n, d], f"tensor<?x{n}x{d}x{kind}>")}
        %ids = {places.load(["%from", "%at"], ["%batches", "%many"], some)}
        %empty = tensor.empty(%batches, %many) : {part}
        %done = scf.for %j = %n0 to %batches step %n1 iter_args(%t = %empty) -> {part} {{
          %rows = scf.for %i = %n0 to %many step %n1 iter_args(%u = %t) -> {part} {{
            %id = tensor.extract %ids[%j, %i] : {some}
            {_row(index, n)}
            %taken = scf.for %c = %n0 to %n{d} step %n{vector} iter_args(%v = %u) -> {part} {{
              %a = vector.transfer_read %whole[%j, %row, %c], %zero {{in_bounds = [true]}}
                : tensor<?x{n}x{d}x{kind}>, {vec}
              %w = vector.transfer_write %a, %v[%j, %i, %c] {{in_bounds = [true]}} : {vec}, {part}
              scf.yield %w : {part}
            }}
            scf.yield %taken : {part}
          }}
          scf.yield %rows : {part}
        }}
        {out.store("%done", part, ["%from", "%at", "0"], ["%batches", "%many", d])}"""
    return launch([-(-i // rows), -(-b // batches)], {table: x, places: ids}, out, body)


def put(x: ir.Value, ids: ir.Value, new: ir.Value, vector: int, adds: bool, clamped: bool) -> ir.Value:
    """[b n d] with [b i d] added, or put, at [b i], in the order of the indices; one out of range is clamped, or
    changes nothing."""
    (b, n, d), i, kind, index = hlo.shape_of(x), hlo.shape_of(ids)[1], hlo.element_type(x), hlo.element_type(ids)
    places, updates = reader("places", ids), reader("updates", new)
    out = Buffer("out", x.type, "readwrite")
    batches = max(1, min(b, PIECE // (max(n, i) * vector)))
    part, some = f"tensor<?x{n}x{vector}x{kind}>", f"tensor<?x{i}x{index}>"
    given, vec = f"tensor<?x{i}x{vector}x{kind}>", f"vector<{vector}x{kind}>"
    if adds:
        float_ = not isinstance(kind, ir.IntegerType)
        value = f"""%old = vector.transfer_read %u[%j, %row, %n0], %zero {{in_bounds = [true]}} : {part}, {vec}
            %sum = arith.{"addf" if float_ else "addi"} %old, %a : {vec}"""
    change = f"""{value if adds else ""}
            %w = vector.transfer_write {"%sum" if adds else "%a"}, %u[%j, %row, %n0] {{in_bounds = [true]}}
              : {vec}, {part}"""
    if clamped:
        step = f"""{_row(index, n)}
            {change}
            scf.yield %w : {part}"""
    else:
        step = f"""%row = arith.index_cast %id : {index} to index
            %inside = arith.cmpi ult, %row, %n{n} : index
            %new = scf.if %inside -> {part} {{
              {change}
              scf.yield %w : {part}
            }} else {{
              scf.yield %u : {part}
            }}
            scf.yield %new : {part}"""
    body = f"""
        %zero = {_zero(kind)}
        %at = arith.muli %x, %n{vector} : index
        %from = arith.muli %y, %n{batches} : index
        %more = arith.subi %n{b}, %from : index
        %batches = arith.minsi %more, %n{batches} : index
        %ids = {places.load(["%from", "0"], ["%batches", i], some)}
        %rows = {updates.load(["%from", "0", "%at"], ["%batches", i, vector], given)}
        %start = {out.load(["%from", "0", "%at"], ["%batches", n, vector], part)}
        %done = scf.for %j = %n0 to %batches step %n1 iter_args(%t = %start) -> {part} {{
          %all = scf.for %i = %n0 to %n{i} step %n1 iter_args(%u = %t) -> {part} {{
            %id = tensor.extract %ids[%j, %i] : {some}
            %a = vector.transfer_read %rows[%j, %i, %n0], %zero {{in_bounds = [true]}} : {given}, {vec}
            {step}
          }}
          scf.yield %all : {part}
        }}
        {out.store("%done", part, ["%from", "0", "%at"], ["%batches", n, vector])}"""
    return launch([d // vector, -(-b // batches)], {places: ids, updates: new}, out, body, onto=x)


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
        ids = hlo.reshape(_bare(indices, layout.rows)[0], [layout.batch, layout.indices])
        value = hlo.reshape(take(_table(x, layout), ids, layout.vector), hlo.shape_of(result))
    result.replace_all_uses_with(value)
    op.erase()


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
        ids = hlo.reshape(bare, [layout.batch, layout.indices])
        new = hlo.reshape(updates, [layout.batch, layout.indices, layout.width])
        value = put(_table(x, layout), ids, new, layout.vector, kind == "stablehlo.add", clamped)
        shape = [hlo.shape_of(x)[d] for d in layout.permutation]
        back = [layout.permutation.index(d) for d in range(len(shape))]
        value = hlo.transpose(hlo.reshape(value, shape), back)
    op.results[0].replace_all_uses_with(value)
    op.erase()


FORMS = {"stablehlo.gather": _gather, "stablehlo.scatter": _scatter}


def apply(module: ir.Module, options: NoOptions) -> None:
    for func in fn.functions(module):
        for op in [op for op in fn.walk(fn.body(func)) if op.name in FORMS]:
            FORMS[op.name](op)


PASS = Pass("lookups", "rows taken from a table and added to one as kernels of vectors, for processors", apply,
            optional=True)
