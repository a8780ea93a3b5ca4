"""Counted loops: a `while` whose number of rounds is known, and which round a row of a stack belongs to.

A loop counts when its condition is `counter < bound` and the counter grows by a constant, all three known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn


def known(value: ir.Value) -> int | None:
    """The number of a scalar integer constant."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "stablehlo.constant" or hlo.shape_of(value):
        return None
    return int(np.array(ir.DenseElementsAttr(owner.attributes["value"])).item())


@dataclass(frozen=True, slots=True)
class Count:
    """The counter is carried value `index`; round r sees `start + r · step`."""

    index: int
    start: int
    step: int
    trips: int


def count_of(op: ir.Operation) -> Count | None:
    test, body = op.regions[0].blocks[0], op.regions[1].blocks[0]
    decision = fn.last(test).operands[0].owner
    if isinstance(decision, ir.Block) or decision.name != "stablehlo.compare" or \
            "LT" not in str(decision.attributes["comparison_direction"]):
        return None
    arguments = list(test.arguments)
    counter, bound = decision.operands
    if counter not in arguments:
        return None
    index = arguments.index(counter)
    if bound in arguments:
        # A bound that is carried along unchanged.
        at = arguments.index(bound)
        if fn.last(body).operands[at] != body.arguments[at]:
            return None
        bound = op.operands[at]
    grown = fn.last(body).operands[index].owner
    if isinstance(grown, ir.Block) or grown.name != "stablehlo.add" or \
            body.arguments[index] not in list(grown.operands):
        return None
    by = [v for v in grown.operands if v != body.arguments[index]]
    start, limit, step = known(op.operands[index]), known(bound), known(by[0]) if by else None
    if start is None or limit is None or step is None or step <= 0:
        return None
    return Count(index, start, step, max(0, -(-(limit - start) // step)))


#: In which order the rounds go through the rows of a stack.
Order = Literal["forward", "reverse"]


def order_of(index: ir.Value, counter: ir.Value, count: Count) -> Order | None:
    """Whether `index`, in the body, is the number of the round, or counts down from the last one to 0."""
    if count.step != 1 or count.start != 0:
        return None
    if index == counter:
        return "forward"
    owner = index.owner
    if not isinstance(owner, ir.Block) and owner.name == "stablehlo.subtract" and owner.operands[1] == counter \
            and known(owner.operands[0]) == count.trips - 1:
        return "reverse"
    return None


def is_row(whole: Sequence[int], part: Sequence[int]) -> bool:
    """Whether `part` is the shape of one row of `whole`, with the first axis kept."""
    return len(part) > 0 and part[0] == 1 and list(part[1:]) == list(whole[1:])


@dataclass(frozen=True, slots=True)
class Written:
    """A carried stack of which each round writes its own row and reads nothing: `op` is the update, at `place` in the
    body."""

    order: Order
    op: ir.Operation
    place: int


def written(body: ir.Block, index: int, count: Count) -> Written | None:
    """Whether carried value `index` is a stack that the loop fills, every row once."""
    stack, result = body.arguments[index], fn.last(body).operands[index]
    op = result.owner
    if isinstance(op, ir.Block) or op.name != "stablehlo.dynamic_update_slice" or op.operands[0] != stack:
        return None
    if sum(1 for _ in stack.uses) != 1 or sum(1 for _ in result.uses) != 1 or op.operation.block != body:
        return None
    if hlo.shape_of(stack)[0] != count.trips or not is_row(hlo.shape_of(stack), hlo.shape_of(op.operands[1])):
        return None
    order = order_of(op.operands[2], body.arguments[count.index], count)
    place = next(i for i, other in enumerate(body.operations) if other.operation == op.operation)
    return None if order is None else Written(order, op.operation, place)
