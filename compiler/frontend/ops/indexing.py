"""Indexing by tensors of integers: take, take-along, gather, embedding, one-hot.

Indices count from 0. In the graph they are not checked: one outside of its axis is clamped into it, and negative ones
do not wrap. An index known at compile time may be negative, and is checked.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.axes import axis_of, integer
from sexpgpu.compiler.frontend.ops.support.dtype import F32, I32, convert, dtype_word
from sexpgpu.compiler.frontend.ops.support.explain import Operand, mismatch, origin_notes
from sexpgpu.compiler.frontend.ops.support.staged import (
    describe,
    give,
    integer_tensor,
    require_graph,
    rule_note,
    show_shape,
    tensor,
)
from sexpgpu.compiler.frontend.values import Tensor
from sexpgpu.diagnostics import Label

GROUP = "index"


def lookup(call: Call, x: Tensor, indices: Tensor, axis: int) -> Tensor:
    """Slices of `x` along `axis`, one for each index, where the axis stood."""
    shape = [int(d) for d in x.shape]
    sizes = [1 if i == axis else d for i, d in enumerate(shape)]
    dims = [*x.shape[:axis], *indices.shape, *x.shape[axis + 1:]]
    offset = [*range(axis), *range(axis + indices.rank, axis + indices.rank + x.rank - 1 - axis)]
    value = indices.value if indices.dtype.bytes >= 4 else convert(indices.value, indices.dtype, I32)
    value = hlo.gather(x.value, value, offset_dims=offset, collapsed=[axis], index_map=[axis], index_dim=indices.rank,
                       sizes=sizes, shape=[int(d) for d in dims])
    return give(call, value, x.dtype, dims)


def pick_along(x: ir.Value, places: ir.Value, axis: int) -> ir.Value:
    """For each place the element that `places` names along `axis`; the other axes agree."""
    rank = len(hlo.shape_of(x))
    batch = [a for a in range(rank) if a != axis]
    order = [*batch, axis]
    found = hlo.gather(x, hlo.transpose(places, order), offset_dims=[], collapsed=[axis], index_map=[axis],
                       index_dim=rank, sizes=[1] * rank, shape=[hlo.shape_of(places)[a] for a in order],
                       batching=(batch, list(range(len(batch)))))
    return hlo.transpose(found, [order.index(a) for a in range(rank)])


@op("take", "x indices &key (axis 0)", group=GROUP, rule="[… n …], int [i …] -> [… i … …]",
    doc="Slices along an axis at the places of `indices`; an integer known at compile time takes one and drops the "
        "axis.")
def take(call: Call, x: object, indices: object, axis: object) -> Tensor:
    x = tensor(call, "x", x)
    along = axis_of(call, x, "axis", axis)
    if isinstance(indices, tuple):
        require_graph(call)
        places = [_place(call, x, along, i) for i in indices]
        value = hlo.concatenate([_one(x, along, p) for p in places], along)
        return give(call, value, x.dtype, [len(places) if i == along else d for i, d in enumerate(x.shape)])
    if not isinstance(indices, Tensor):
        place = _place(call, x, along, indices)
        dims = [d for i, d in enumerate(x.shape) if i != along]
        return give(call, hlo.reshape(_one(x, along, place), [int(d) for d in dims]), x.dtype, dims)
    return lookup(call, x, integer_tensor(call, "indices", indices, "indices"), along)


def _place(call: Call, x: Tensor, axis: int, value: object) -> int:
    """An index known at compile time, from 0."""
    place = integer(call, "indices", value, "an index")
    size = int(x.shape[axis])
    if not -size <= place < size:
        call.fail("E-SHAPE-006", f"index {int(place)} of axis {axis} of {show_shape(x.shape)}, of size {size}",
                  at=call.where("indices"), label=f"{int(place)} of {size}",
                  secondary=(Label(call.where("x"), f"shape {show_shape(x.shape)}"),),
                  notes=[f"indices are 0 to {size - 1}, or {-size} to -1 from the end",
                         *origin_notes([Operand("the tensor", call.where("x"), x.shape, (axis,))])])
    return place % size


def _one(x: Tensor, axis: int, place: int) -> ir.Value:
    starts = [place if i == axis else 0 for i in range(x.rank)]
    limits = [place + 1 if i == axis else int(d) for i, d in enumerate(x.shape)]
    return hlo.slice_(x.value, starts, limits)


@op("gather", "x indices &key (axis 0)", group=GROUP, rule="[… n …], int [i …] -> [… i … …]",
    doc="The same as `take` with a tensor of indices.")
def gather(call: Call, x: object, indices: object, axis: object) -> Tensor:
    x = tensor(call, "x", x)
    along = axis_of(call, x, "axis", axis)
    return lookup(call, x, integer_tensor(call, "indices", indices, "indices"), along)


@op("embedding", "table ids", group=GROUP, rule="[n d], int […] -> [… d]",
    doc="Rows of a table, one for each id.")
def embedding(call: Call, table: object, ids: object) -> Tensor:
    rows = tensor(call, "table", table)
    if rows.rank != 2:
        call.fail("E-SHAPE-004", f"the table of `embedding` has two axes, and this is {describe(rows)}",
                  at=call.where("table"), label=f"{rows.rank} axes", notes=rule_note(call))
    return lookup(call, rows, integer_tensor(call, "ids", ids, "ids"), 0)


@op("take-along", "x indices &key (axis -1)", group=GROUP, rule="[… n …], int [… i …] -> [… i …]",
    doc="For each place the element whose index along the axis `indices` gives; the other axes agree.")
def take_along(call: Call, x: object, indices: object, axis: object) -> Tensor:
    x = tensor(call, "x", x)
    chosen = integer_tensor(call, "indices", indices, "indices")
    along = axis_of(call, x, "axis", axis)
    wrong = [a for a in range(x.rank) if a != along and a < chosen.rank and chosen.shape[a] != x.shape[a]]
    if chosen.rank != x.rank or wrong:
        operands = [Operand("x", call.where("x"), x.shape, wrong),
                    Operand("indices", call.where("indices"), chosen.shape, wrong)]
        call.fail("E-SHAPE-013", f"`take-along` of {show_shape(x.shape)} by indices {show_shape(chosen.shape)}: all "
                  f"axes but {along} agree", **mismatch(operands, rule_note(call)))
    places = chosen.value if chosen.dtype.bytes >= 4 else convert(chosen.value, chosen.dtype, I32)
    dims = [chosen.shape[a] if a == along else x.shape[a] for a in range(x.rank)]
    return give(call, pick_along(x.value, places, along), x.dtype, dims)


@op("one-hot", "ids classes &key (dtype :f32)", group=GROUP, rule="int […], n -> [… n]",
    grad="none: it gives constants",
    doc="1 at the place of each id and 0 elsewhere, along a new last axis; all 0 for an id outside.")
def one_hot(call: Call, ids: object, classes: object, dtype: object) -> Tensor:
    places = integer_tensor(call, "ids", ids, "ids")
    count = integer(call, "classes", classes)
    if count < 1:
        call.fail("E-SHAPE-009", f"`one-hot` of {int(count)} classes", at=call.where("classes"),
                  label=f"size {int(count)}")
    kind = dtype_word(call, "dtype", dtype, F32)
    dims = [*places.shape, count]
    shape = [int(d) for d in dims]
    value, wide = places.value, places.dtype
    if wide.bytes < 4:
        value, wide = convert(value, wide, I32), I32
    column = hlo.iota(shape, len(shape) - 1, wide.mlir)
    row = hlo.broadcast_in_dim(value, shape, list(range(places.rank)))
    hit = hlo.compare("EQ", row, column)
    value = hlo.select(hit, hlo.splat(1, shape, kind.mlir), hlo.splat(0, shape, kind.mlir))
    return give(call, value, kind, dims)


