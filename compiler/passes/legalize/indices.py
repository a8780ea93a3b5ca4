"""Indices out of range: StableHLO clamps a gather's and drops a scatter's update; IREE reads and writes outside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes.legalize.wayround import WayRound
from sexpgpu.compiler.passes.reading import DimensionNumbers, dimension_numbers, dims_of, reducer_of

#: An index made by one of these is in range already, or is none of ours to check.
CLAMPED = ("stablehlo.clamp", "stablehlo.constant", "stablehlo.iota")


def _in_range(indices: ir.Value) -> bool:
    """Whether the indices come from a clamp, through reshapes and the like: the transpose of a gather clamps."""
    owner = indices.owner
    while not isinstance(owner, ir.Block) and owner.name in ("stablehlo.reshape", "stablehlo.broadcast_in_dim"):
        owner = owner.operands[0].owner
    if isinstance(owner, ir.Block):
        return False
    if owner.name == "stablehlo.concatenate":
        return all(_in_range(v) for v in owner.operands)
    if owner.name == "stablehlo.maximum":
        low = owner.operands[0].owner
        return not isinstance(low, ir.Block) and low.name == "stablehlo.minimum"
    return owner.name in CLAMPED


def _highest(x: ir.Value, mapped: Sequence[int], sizes: Sequence[int]) -> list[int]:
    return [hlo.shape_of(x)[d] - sizes[d] for d in mapped]


def limits(indices: ir.Value, index_dim: int, highest: Sequence[int]) -> ir.Value:
    """`highest[i]` is the largest start of component i of the index vectors."""
    shape, element = hlo.shape_of(indices), hlo.element_type(indices)
    if len(set(highest)) == 1 or index_dim == len(shape):
        return hlo.splat(highest[0], shape, element)
    row = hlo.constant(np.array(highest), element)
    return hlo.broadcast_in_dim(row, shape, [index_dim])


def clamp(indices: ir.Value, index_dim: int, highest: Sequence[int]) -> ir.Value:
    zero = hlo.splat(0, hlo.shape_of(indices), hlo.element_type(indices))
    return hlo.maximum(hlo.minimum(indices, limits(indices, index_dim, highest)), zero)


def _gather(op: ir.Operation) -> None:
    if op.name != "stablehlo.gather" or _in_range(op.operands[1]):
        return
    n = dimension_numbers(op.attributes["dimension_numbers"])
    with ir.InsertionPoint(op), op.location:
        highest = _highest(op.operands[0], n["start_index_map"], dims_of(op, "slice_sizes"))
        op.operands[1] = clamp(op.operands[1], n.index_vector_dim, highest)


def window_sizes(op: ir.Operation, n: DimensionNumbers) -> list[int]:
    """The part of the operand that one index vector of a scatter writes, axis by axis."""
    skipped = {*n["inserted_window_dims"], *n["input_batching_dims"]}
    updates = hlo.shape_of(op.operands[2])
    windows = iter(n["update_window_dims"])
    return [1 if d in skipped else updates[next(windows)] for d in range(len(hlo.shape_of(op.operands[0])))]


def _scatter(op: ir.Operation) -> None:
    """An update out of range becomes one that changes nothing, at a place that exists."""
    if op.name != "stablehlo.scatter" or len(op.operands) != 3 or _in_range(op.operands[1]):
        return
    n = dimension_numbers(op.attributes["scatter_dimension_numbers"])
    x, indices, updates = op.operands
    with ir.InsertionPoint(op), op.location:
        safe = clamp(indices, n.index_vector_dim, _highest(x, n["scatter_dims_to_operand_dims"], window_sizes(op, n)))
        same = hlo.compare("EQ", safe, indices)
        if n.index_vector_dim < len(hlo.shape_of(indices)):
            same = hlo.reduce(same, [n.index_vector_dim], "and")
        window = n["update_window_dims"]
        batch = [d for d in range(len(hlo.shape_of(updates))) if d not in window]
        keep = hlo.broadcast_in_dim(same, hlo.shape_of(updates), batch)
        op.operands[1] = safe
        op.operands[2] = hlo.select(keep, updates, _neutral(op, n, x, safe, updates))


def _neutral(op: ir.Operation, n: DimensionNumbers, x: ir.Value, safe: ir.Value, updates: ir.Value) -> ir.Value:
    """What changes nothing when it is combined: 0 for a sum, else what stands there already."""
    if reducer_of(op) == "stablehlo.add":
        return hlo.zeros_like(updates)
    return hlo.gather(x, safe, offset_dims=n["update_window_dims"], collapsed=n["inserted_window_dims"],
                      index_map=n["scatter_dims_to_operand_dims"], index_dim=n.index_vector_dim,
                      sizes=window_sizes(op, n), shape=hlo.shape_of(updates),
                      batching=(n["input_batching_dims"], n["scatter_indices_batching_dims"]))


GATHER = WayRound("gather-clamp", "a gather with an index out of range reads memory outside its operand",
                  ("cpu", "vulkan", "cuda"), _gather)
SCATTER = WayRound("scatter-drop", "a scatter with an index out of range writes memory outside its operand",
                   ("cpu", "vulkan", "cuda"), _scatter)
