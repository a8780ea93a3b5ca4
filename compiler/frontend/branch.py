"""A condition that is known only at run time: both branches are staged, and one value is selected.

On a scalar tensor the branches are computed side by side and selected between, unless one of them is costly (a
product, a loop): then they become the regions of `stablehlo.if`. On a scalar of `ctx` they become `scf.if`. Both
branches must have one type; a plain number takes the dtype of the tensor it meets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.branch_types import Leaf, Mismatch, flatten, host_leaves, rebuild, tensor_leaves
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.values import POISON, HostScalar, Tensor, has_poison
from sexpgpu.diagnostics import Label, Span

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator

#: Operations worth a region of their own: what they cost is more than what a branch costs.
_COSTLY = {"stablehlo.dot_general", "stablehlo.convolution", "stablehlo.while", "stablehlo.if", "stablehlo.sort",
           "stablehlo.reduce_window", "stablehlo.scatter", "stablehlo.gather"}

#: Branches with more operations than this are regions too.
_LONG = 64

Thunk = Callable[[], object]


def staged_branch(evaluator: Evaluator, condition: Tensor | HostScalar, on_true: Thunk, on_false: Thunk, place: Span,
                  span: Span) -> object:
    """`condition` stands at `place`, the whole form at `span`."""
    host = isinstance(condition, HostScalar)
    if host and condition.kind != "bool":
        return _no_condition(evaluator, place, "a value of `ctx` that is no boolean")
    if not host and (condition.dtype.kind != "bool" or condition.shape):
        return _no_condition(evaluator, place, describe(condition))
    with evaluator.location(span):
        holders = [ir.Operation.create("scf.execute_region", regions=1) for _ in range(2)]
        blocks, values = [], []
        for holder, thunk in zip(holders, (on_true, on_false), strict=True):
            # A place for the branch until it is known what becomes of it.
            block = ir.Block.create_at_start(holder.regions[0], [])
            evaluator.trace.branches += 1
            try:
                with ir.InsertionPoint(block):
                    values.append(thunk())
            finally:
                evaluator.trace.branches -= 1
            blocks.append(block)
        result = POISON
        if not any(map(has_poison, values)):
            try:
                join = _join_host if host else _join_tensors
                result = join(condition, blocks, values, span)
            except Mismatch as error:
                evaluator.reporter.error("E-TYPE-014", f"the branches of `if` have two types: {error}", span,
                                         "computes both branches",
                                         secondary=[Label(s, t) for s, t in error.labels if s is not None],
                                         notes=["the condition is known at run time only, so both branches are staged"])
        for holder in holders:
            holder.erase()
        return result


def _no_condition(evaluator: Evaluator, place: Span, what: str) -> object:
    evaluator.reporter.error("E-TYPE-009", f"a condition is a boolean or a scalar tensor of booleans, not {what}",
                             place, f"this is {what}",
                             fix="compare it, reduce it with `any` or `all`, or select elements with `where`; "
                                 "`(nil? x)` asks whether there is one")
    return POISON


def _join_tensors(condition: Tensor, blocks: Sequence[ir.Block], values: Sequence[object], span: Span) -> object:
    pairs = flatten(*values)
    leaves = tensor_leaves(pairs, blocks, span)
    staged = [leaf for leaf in leaves if leaf.values is not None]
    if _costly(blocks):
        results = _region_op("stablehlo.if", "stablehlo.return", condition.value, blocks, staged)
    else:
        here = ir.InsertionPoint.current
        for block in blocks:
            for op in list(block.operations):
                op.operation.detach_from_parent()
                here.insert(op)
        results = [hlo.select(condition.value, *leaf.values) for leaf in staged]
    return rebuild(values[0], leaves, iter(results), span)


def _join_host(condition: HostScalar, blocks: Sequence[ir.Block], values: Sequence[object], span: Span) -> object:
    leaves = host_leaves(flatten(*values), blocks, span)
    staged = [leaf for leaf in leaves if leaf.values is not None]
    results = _region_op("scf.if", "scf.yield", condition.value, blocks, staged)
    return rebuild(values[0], leaves, iter(results), span)


def _region_op(name: str, terminator: str, condition: ir.Value, blocks: Sequence[ir.Block],
               leaves: Sequence[Leaf]) -> list[ir.Value]:
    for i, block in enumerate(blocks):
        with ir.InsertionPoint(block):
            ir.Operation.create(terminator, operands=[leaf.values[i] for leaf in leaves])
    op = ir.Operation.create(name, results=[leaf.values[0].type for leaf in leaves], operands=[condition], regions=2)
    for region, block in zip(op.regions, blocks, strict=True):
        block.append_to(region)
    return list(op.results)


def _costly(blocks: Sequence[ir.Block]) -> bool:
    names = [[op.operation.name for op in block.operations] for block in blocks]
    return any(len(ops) > _LONG or not _COSTLY.isdisjoint(ops) for ops in names)
