"""Gathers, scatters and sorts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from iree.compiler import ir
from sexpgpu.compiler.hlo.constants import iota
from sexpgpu.compiler.hlo.core import Dims, block, element_type, i64, i64_array, make, return_, shape_of, tensor_type
from sexpgpu.compiler.hlo.elementwise import and_, compare, or_


def gather(x: ir.Value, indices: ir.Value, *, offset_dims: Dims, collapsed: Dims, index_map: Dims, index_dim: int,
           sizes: Dims, shape: Dims, batching: tuple[Dims, Dims] = ((), ())) -> ir.Value:
    """StableHLO's gather; `shape` is the result's. Indices must be in range (they are clamped)."""
    numbers = (f"#stablehlo.gather<offset_dims = {list(offset_dims)}, collapsed_slice_dims = {list(collapsed)}, "
               f"operand_batching_dims = {list(batching[0])}, start_indices_batching_dims = {list(batching[1])}, "
               f"start_index_map = {list(index_map)}, index_vector_dim = {index_dim}>")
    return make("stablehlo.gather", [tensor_type(shape, element_type(x))], [x, indices], {
        "dimension_numbers": ir.Attribute.parse(numbers), "slice_sizes": i64_array(sizes),
    }).result


def scatter(x: ir.Value, indices: ir.Value, updates: ir.Value, *, window_dims: Dims, inserted: Dims, index_map: Dims,
            index_dim: int, kind: str = "add", batching: tuple[Dims, Dims] = ((), ())) -> ir.Value:
    """StableHLO's scatter with one combining operation (`"set"` replaces); repeated indices are allowed."""
    numbers = (f"#stablehlo.scatter<update_window_dims = {list(window_dims)}, inserted_window_dims = {list(inserted)}, "
               f"input_batching_dims = {list(batching[0])}, scatter_indices_batching_dims = {list(batching[1])}, "
               f"scatter_dims_to_operand_dims = {list(index_map)}, index_vector_dim = {index_dim}>")
    op = make("stablehlo.scatter", [x.type], [x, indices, updates], {
        "scatter_dimension_numbers": ir.Attribute.parse(numbers),
        "unique_indices": ir.BoolAttr.get(False), "indices_are_sorted": ir.BoolAttr.get(False),
    }, regions=1)
    scalar = tensor_type([], element_type(x))
    body = block(op.regions[0], [scalar, scalar])
    with ir.InsertionPoint(body):
        old, new = body.arguments
        return_([new if kind == "set" else make(f"stablehlo.{kind}", [scalar], [old, new]).result])
    return op.result


def sort(xs: Sequence[ir.Value], dim: int,
         before: Callable[[Sequence[ir.Value], Sequence[ir.Value]], ir.Value], *, stable: bool = True
         ) -> list[ir.Value]:
    """Sorts several tensors of one shape together; `before(left, right)` gets a scalar of each."""
    op = make("stablehlo.sort", [x.type for x in xs], list(xs),
              {"dimension": i64(dim), "is_stable": ir.BoolAttr.get(stable)}, regions=1)
    scalars = [tensor_type([], element_type(x)) for x in xs]
    body = block(op.regions[0], [s for s in scalars for _ in range(2)])
    with ir.InsertionPoint(body):
        arguments = list(body.arguments)
        return_([before(arguments[::2], arguments[1::2])])
    return list(op.results)


#: On a sort that `sort_indices` made.
KEYS = "sexp.keys"


def sort_indices(order: ir.Value, dim: int) -> ir.Value:
    """The i32 indices along `dim` that put i32 numbers in rising order, equal ones by index: no two pairs are equal."""
    index = iota(shape_of(order), dim, "i32")

    def before(a: Sequence[ir.Value], b: Sequence[ir.Value]) -> ir.Value:
        tie = and_(compare("EQ", a[0], b[0]), compare("LT", a[1], b[1]))
        return or_(compare("LT", a[0], b[0]), tie)

    _, found = sort([order, index], dim, before, stable=False)
    found.owner.attributes[KEYS] = ir.UnitAttr.get()
    return found
