"""Derivatives of gather and scatter: one is the other's transpose, with the same dimension numbers.

Indices of a gather are clamped by its definition; a scatter is not (and out-of-range ones corrupt memory in some
backends), so the transpose clamps them.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from sexpgpu.compiler.hlo import gather, scatter, shape_of, zeros_like
from sexpgpu.compiler.passes.autodiff.rules import NoDerivative, Primal, Thunk, rule
from sexpgpu.compiler.passes.legalize.indices import clamp
from sexpgpu.compiler.passes.reading import dimension_numbers, dims_of, reducer_of


@rule("stablehlo.gather")
def _gather(p: Primal) -> Sequence[Thunk | None]:
    x, indices = p.operands
    n = dimension_numbers(p.op.attributes["dimension_numbers"])
    sizes = dims_of(p.op, "slice_sizes")

    def of_x() -> ir.Value:
        highest = [shape_of(x)[d] - sizes[d] for d in n["start_index_map"]]
        return scatter(zeros_like(x), clamp(indices, n.index_vector_dim, highest), p.g,
                       window_dims=n["offset_dims"], inserted=n["collapsed_slice_dims"],
                       index_map=n["start_index_map"], index_dim=n.index_vector_dim, kind="add",
                       batching=(n["operand_batching_dims"], n["start_indices_batching_dims"]))

    return [of_x, None]


@rule("stablehlo.scatter")
def _scatter(p: Primal) -> Sequence[Thunk | None]:
    """Adding passes the cotangent through; replacing takes it away where something was written.

    With repeated indices a replacing scatter keeps any one of them; here each gets the cotangent.
    """
    kind = reducer_of(p.op)
    if len(p.operands) != 3 or kind not in ("stablehlo.add", "second"):
        raise NoDerivative("a scatter has a derivative when it adds or replaces")
    x, indices, updates = p.operands
    n = dimension_numbers(p.op.attributes["scatter_dimension_numbers"])
    window, inserted = n["update_window_dims"], n["inserted_window_dims"]
    batching = (n["input_batching_dims"], n["scatter_indices_batching_dims"])
    skipped = {*inserted, *batching[0]}
    windows = iter(window)
    sizes = [1 if d in skipped else shape_of(updates)[next(windows)] for d in range(len(shape_of(x)))]

    def of_updates() -> ir.Value:
        return gather(p.g, indices, offset_dims=window, collapsed=inserted, index_map=n["scatter_dims_to_operand_dims"],
                      index_dim=n.index_vector_dim, sizes=sizes, shape=shape_of(updates), batching=batching)

    def of_x() -> ir.Value:
        if kind == "stablehlo.add":
            return p.g
        return scatter(p.g, indices, zeros_like(updates), window_dims=window, inserted=inserted,
                       index_map=n["scatter_dims_to_operand_dims"], index_dim=n.index_vector_dim, kind="set",
                       batching=batching)

    return [of_x, None, of_updates]
