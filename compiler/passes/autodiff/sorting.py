"""Derivatives of sorting: cotangents go back to where the elements came from.

The sort is replaced by one that also carries positions along, so the permutation costs no second sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.autodiff.rules import Primal, Thunk, rule


def scatter_along(g: ir.Value, positions: ir.Value, dim: int, shape: Sequence[int]) -> ir.Value:
    """Zeros of `shape`, plus `g[…, j, …]` at `positions[…, j, …]` along `dim`; the other axes stay."""
    part = hlo.shape_of(positions)
    columns = [positions if d == dim else hlo.iota(part, d, hlo.element_type(positions)) for d in range(len(part))]
    indices = hlo.concatenate([hlo.reshape(c, [*part, 1]) for c in columns], len(part))
    every = list(range(len(part)))
    return hlo.scatter(hlo.splat(0, shape, hlo.element_type(g)), indices, g, window_dims=[], inserted=every,
                       index_map=every, index_dim=len(part))


@rule("stablehlo.sort")
def _sort(p: Primal) -> Sequence[Thunk | None]:
    op, operands = p.op, p.operands
    dim = ir.IntegerAttr(op.attributes["dimension"]).value
    shape = hlo.shape_of(operands[0])

    @cache
    def positions() -> ir.Value:
        with ir.InsertionPoint(op):
            new = hlo.make("stablehlo.sort", [*(v.type for v in operands), hlo.tensor_type(shape, "i32")],
                           [*operands, hlo.iota(shape, dim, "i32")],
                           {k: op.attributes[k] for k in ("dimension", "is_stable") if k in op.attributes}, regions=1)
            old = op.regions[0].blocks[0]
            index = hlo.tensor_type([], "i32")
            block = hlo.block(new.regions[0], [*(a.type for a in old.arguments), index, index])
            with ir.InsertionPoint(block):
                mapping = dict(zip(old.arguments, list(block.arguments)[:-2], strict=True))
                for inner in old.operations:
                    fn.clone_one(inner.operation, mapping)
        for before, after in zip(op.results, list(new.results)[:-1], strict=True):
            before.replace_all_uses_with(after)
        op.erase()
        return new.results[len(operands)]

    return [None if g is None else (lambda g=g: scatter_along(g, positions(), dim, shape)) for g in p.cotangents]


@rule("chlo.top_k")
def _top_k(p: Primal) -> Sequence[Thunk | None]:
    g, indices, shape = p.cotangents[0], p.op.results[1], hlo.shape_of(p.operands[0])
    if g is None:
        return [None]
    return [lambda: scatter_along(g, indices, len(shape) - 1, shape)]
