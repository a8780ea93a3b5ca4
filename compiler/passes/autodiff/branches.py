"""Derivatives of `if` and `case`: the same choice again, each branch run forward and then backward.

What a branch captures takes the cotangents. The branch is computed a second time: its values live only inside it. So is
the body of a `remat`, a `case` of one branch, from values that wait for its cotangents, or the two computations would
be made one again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.autodiff.reverse import backpropagate, is_real
from sexpgpu.compiler.passes.autodiff.rules import Primal, Thunk, rule
from sexpgpu.compiler.passes.functions import captured
from sexpgpu.compiler.passes.waiting import after


def replay(block: ir.Block, arguments: Sequence[ir.Value]) -> tuple[list[ir.Operation], list[ir.Value]]:
    """Clones a region's block at the insertion point: the new operations, and what it returns."""
    mapping = dict(zip(block.arguments, arguments, strict=True))
    *ops, end = [op.operation for op in block.operations]
    clones = [fn.clone_one(op, mapping) for op in ops]
    return clones, [mapping.get(v, v) for v in end.operands]


REMAT = "sexp.remat"


def inline_remat(op: ir.Operation) -> None:
    """The one branch in the place of its `case`."""
    with ir.InsertionPoint(op):
        for old, new in zip(op.results, replay(op.regions[0].blocks[0], [])[1], strict=True):
            old.replace_all_uses_with(new)
    op.erase()


def _waiting(values: Sequence[ir.Value]) -> list[ir.Value]:
    """What is computed, not given, is made to wait for the cotangents; where nothing is, the given does."""
    computed = [v for v in values if is_real(v) and not isinstance(v.owner, ir.Block)]
    return computed or [v for v in values if is_real(v)]


def _again(p: Primal, wanted: Sequence[ir.Value], outside: Sequence[ir.Value]) -> list[ir.Value]:
    """The body of a `remat` on the way back."""
    block = p.op.regions[0].blocks[0]
    arrived = [g for g in p.cotangents if g is not None]
    waiting = _waiting(outside)
    mapping = dict(zip(outside, outside, strict=True)) | dict(zip(waiting, after(arrived[0], waiting), strict=True))
    *ops, end = [op.operation for op in block.operations]
    clones = [fn.clone_one(op, mapping) for op in ops]
    seeds = [(mapping.get(v, v), g) for v, g in zip(end.operands, p.cotangents, strict=True) if g is not None]
    found = backpropagate(clones, seeds, [mapping[v] for v in wanted])
    return [hlo.zeros_like(v) if g is None else g for v, g in zip(wanted, found, strict=True)]


@rule("stablehlo.if", "stablehlo.case")
def _choice(p: Primal) -> Sequence[Thunk | None]:
    outside = captured(p.op)
    wanted = [v for v in outside if v in p.active]
    predicate = p.operands[0]

    @cache
    def cotangents() -> list[ir.Value]:
        if REMAT in p.op.attributes:
            return _again(p, wanted, outside)
        types = [v.type for v in wanted]
        op = hlo.make(p.op.name, types, [predicate], regions=len(p.op.regions))
        for region, old in zip(op.regions, p.op.regions, strict=True):
            with ir.InsertionPoint(hlo.block(region, [])):
                ops, values = replay(old.blocks[0], [])
                seeds = [(v, g) for v, g in zip(values, p.cotangents, strict=True) if g is not None]
                found = backpropagate(ops, seeds, wanted)
                hlo.return_([hlo.zeros_like(v) if g is None else g for v, g in zip(wanted, found, strict=True)])
        return list(op.results)

    def of(value: ir.Value) -> Thunk | None:
        return (lambda: cotangents()[wanted.index(value)]) if value in wanted else None

    return [None, *(of(v) for v in outside)]
