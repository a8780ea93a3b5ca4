"""Sums over rows, and what is computed element by element around them, in one kernel; for processors.

The code generator makes a kernel of one reduction and of what follows it. A layer norm and its gradient were eight of
them, a softmax four, each a pass over memory, where a row that has been read once stays in the nearest cache. So each
group (`row_groups`) becomes a dispatch region of its own, which the code generator takes as it is.

What a later kernel reads of a group, and could compute again from what is in memory anyway, is computed again: the
normalised rows of a layer norm are not kept for its gradient. Measured in docs/benchmarks.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.columns import NUMBER, is_column_sum
from sexpgpu.compiler.passes.row_groups import (
    CHEAP,
    MADE,
    Group,
    closure,
    groups_of,
    is_constant,
    is_copied,
    is_elementwise,
    owner_of,
    producers,
    reads,
    shape_of,
)
from sexpgpu.compiler.passes.row_regions import Region
from sexpgpu.runtime.processor import STACK

#: A device binds 32 buffers a kernel.
MOST_BUFFERS = 24
#: Rows that are tiled together, whole: what is computed of them may lie on the stack.
ROWS = 8
#: Operations that are computed again rather than stored.
MOST_AGAIN = 8


class _Kernel:
    """One group on its way into a region. `ops` grows by the producers that the kernel does itself."""

    def __init__(self, group: Group, block: ir.Block, numbers: Iterator[int]) -> None:
        self.group = group
        self.region = Region(group, numbers)
        self.block = block
        self.places = {op.operation: i for i, op in enumerate(block.operations)}
        self.ops = set(group.ops)
        self._pull()

    # -- what it reads ------------------------------------------------------------------------------------------------

    def _inputs(self) -> list[ir.Value]:
        made = {op.results[0] for op in self.ops}
        return list(dict.fromkeys(v for op in sorted(self.ops, key=self.places.__getitem__) for v in op.operands
                                  if v not in made))

    def _pull(self) -> None:
        """Producers that nobody else reads, and those that cost no more to compute than to read."""
        grown = True
        while grown:
            grown = False
            inputs = self._inputs()
            for value in inputs:
                owner = owner_of(value)
                if owner is not None and owner in self.places and self._wanted(owner, value, inputs):
                    self.ops.add(owner)
                    grown = True
                    break

    def _wanted(self, owner: ir.Operation, value: ir.Value, inputs: list[ir.Value]) -> bool:
        if value in self.group.products:
            return False
        if is_constant(value) and not is_copied(owner):
            # Equal inside and outside, and so shared: it is the kernel's, or it is not.
            return owner.name != "stablehlo.constant" and all(u.owner.operation in self.ops for u in value.uses)
        if owner.name in MADE or NUMBER in owner.attributes:
            return True
        if not is_elementwise(owner) or shape_of(value) != self.group.shape:
            return False
        if not is_elementwise(owner, CHEAP):
            return False
        if all(u.owner.operation in self.ops for u in value.uses):
            return True
        if any(is_constant(v) and owner_of(v).name != "stablehlo.constant" and not is_copied(owner_of(v))
               for v in owner.operands):
            return False
        wide = {v for v in owner.operands if v not in inputs and not self._small(v)}
        return len(wide) <= 1

    def _small(self, value: ir.Value) -> bool:
        owner = owner_of(value)
        return shape_of(value) != self.group.shape or (owner is not None and (
            owner.name in (*MADE, "stablehlo.constant") or NUMBER in owner.attributes))

    # -- what others read of it ---------------------------------------------------------------------------------------

    def _outside(self, op: ir.Operation) -> list[ir.OpOperand]:
        return [u for u in op.results[0].uses if u.owner.operation not in self.ops]

    def _again(self, op: ir.Operation) -> list[ir.Operation] | None:
        """The operations that make the value again of what is stored; None where that costs more than to store it."""
        for use in self._outside(op):
            user = use.owner.operation
            if not (is_elementwise(user) or user.name == "stablehlo.reduce"):
                return None
        found: dict[ir.Operation, None] = {}
        waiting, wide = [op], set()
        while waiting:
            at = waiting.pop()
            found[at] = None
            if len(found) > MOST_AGAIN or not (is_elementwise(at, CHEAP) or at.name in MADE):
                return None
            for value in at.operands:
                owner = owner_of(value)
                if owner in self.ops and not self.group.is_row(value):
                    waiting.append(owner)
                elif shape_of(value) == self.group.shape and not is_constant(value):
                    wide.add(value)
        most = 2 if all(is_column_sum(use.owner.operation) for use in self._outside(op)) else 1
        return sorted(found, key=self.places.__getitem__) if len(wide) <= most else None

    # -- the region ---------------------------------------------------------------------------------------------------

    def build(self) -> None:
        ops = sorted(self.ops, key=self.places.__getitem__)
        members = self.group.ops
        again = {op: self._again(op) for op in members if self._outside(op) and shape_of(op.results[0]) ==
                 self.group.shape}
        rows = {v for chain in again.values() if chain for at in chain for v in at.operands
                if self.group.is_row(v) and owner_of(v) in self.ops}
        kept = [op for op in members if op.results[0] in rows or (self._outside(op) and not again.get(op))]
        if len(kept) + sum(not is_constant(v) for v in self._inputs()) > MOST_BUFFERS:
            return
        needed = closure(kept, producers, self.ops)
        wide = sum(shape_of(op.results[0]) == self.group.shape and op.name not in MADE for op in needed)
        if wide * ROWS * self.group.shape[-1] * 4 > STACK:
            return
        self._make_way(members)
        last = members[-1]
        with ir.InsertionPoint(last), last.location:
            stored = self.region.build(self._inputs(), [op for op in ops if op in needed], kept)
            for op, value in zip(kept, stored, strict=True):
                if not self.group.is_row(op.results[0]):
                    self._redirect(op, value)
            copies = dict(zip((op.results[0] for op in kept), stored, strict=True))
            for op in kept:
                if self.group.is_row(op.results[0]):
                    copies[op.results[0]] = hlo.reshape(copies[op.results[0]], shape_of(op.results[0]))
                    self._redirect(op, copies[op.results[0]])
            for op, chain in again.items():
                for use in self._outside(op) if chain else ():
                    use.owner.operation.operands[use.operand_number] = self._copy(chain, copies)
        for op in reversed(ops):
            if not any(True for _ in op.results[0].uses):
                op.erase()

    def _redirect(self, op: ir.Operation, value: ir.Value) -> None:
        for use in self._outside(op):
            use.owner.operation.operands[use.operand_number] = value

    def _copy(self, chain: list[ir.Operation], copies: Mapping[ir.Value, ir.Value]) -> ir.Value:
        """For one reader: what two share is stored."""
        known = dict(copies)
        for op in chain:
            if op.name == "stablehlo.broadcast_in_dim":
                known[op.results[0]] = self.region.broadcast(op, known.get(op.operands[0], op.operands[0]))
            else:
                fn.clone_one(op, known)
        return known[chain[-1].results[0]]

    def _make_way(self, members: list[ir.Operation]) -> None:
        """What stands between the members and needs one of them moves behind the last."""
        first, last = self.places[members[0]], self.places[members[-1]]
        mine, moved = set(members), []
        behind = {op.results[0] for op in members}
        for op in [o.operation for o in self.block.operations][first:last + 1]:
            if op not in mine and any(v in behind for v in reads(op)):
                behind.update(op.results)
                moved.append(op)
        after = members[-1]
        for op in moved:
            op.move_after(after)
            after = op

def _sweep(block: ir.Block) -> None:
    """What nobody reads would be stored."""
    for op in reversed([o.operation for o in block.operations]):
        pure = op.name in (*MADE, "stablehlo.constant", "stablehlo.reshape", "stablehlo.reduce") or is_elementwise(op)
        if pure and not any(True for r in op.results for _ in r.uses):
            op.erase()


def apply(module: ir.Module, options: NoOptions) -> None:
    numbers = itertools.count()
    for func in fn.functions(module):
        for block in fn.computing(func):
            _sweep(block)
            for group in groups_of(block):
                _Kernel(group, block, numbers).build()


PASS = Pass("rows", "sums over rows and what surrounds them in one kernel, for processors", apply, optional=True)
