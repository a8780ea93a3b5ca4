"""Loops that fill a stack with constants: IREE takes them for constants to compute at load time, and never finishes
("maximum iteration count exceeded in fixed point pipeline").

The stack is made to depend on an integer argument of the function, in a way that changes nothing: where the last bit of
the first of its numbers is less than 0. The way-round needs no barrier, whose memory would never be freed.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.legalize.wayround import WayRound


def _constant(value: ir.Value) -> bool:
    """Whether it is computed from constants alone."""
    seen: set[ir.Value] = set()
    pending = [value]
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if isinstance(owner, ir.Block) or not owner.name.startswith("stablehlo.") or \
                owner.name == "stablehlo.custom_call" or len(owner.operation.regions):
            return False
        pending += owner.operands
    return True


def _given(op: ir.Operation) -> set[ir.Value]:
    """The values in the body of a loop that depend on more than constants and the rounds' numbers."""
    body = op.regions[1].blocks[0]
    returned = fn.last(body).operands
    depends = {v for v in fn.captured(op) if not _constant(v)}
    depends |= {a for a, first in zip(body.arguments, op.operands, strict=True) if not _constant(first)}
    size = -1
    while size != len(depends):
        size = len(depends)
        for inner in body.operations:
            sources = [*inner.operands, *(fn.captured(inner.operation) if len(inner.operation.regions) else ())]
            if any(v in depends for v in sources):
                depends.update(inner.operation.results)
        depends |= {a for a, after in zip(body.arguments, returned, strict=True) if after in depends}
    return depends


def _stacks(op: ir.Operation) -> list[int]:
    """The carried values that the loop fills with constants."""
    body, found = op.regions[1].blocks[0], []
    for i, after in enumerate(fn.last(body).operands):
        owner = after.owner
        if not isinstance(owner, ir.Block) and owner.name == "stablehlo.dynamic_update_slice" and \
                owner.operands[0] == body.arguments[i]:
            found.append(i)
    if not found:
        return []
    depends = _given(op)
    return [i for i in found if fn.last(body).operands[i] not in depends]


def _argument(op: ir.Operation) -> ir.Value | None:
    """The first argument of integers of the function around it."""
    while op.name not in ("func.func", "util.func"):
        op = op.parent.operation
    return next((a for a in op.regions[0].blocks[0].arguments if isinstance(a.type, ir.RankedTensorType)
                 and isinstance(a.type.element_type, ir.IntegerType) and a.type.element_type.width > 1), None)


def _never(number: ir.Value) -> ir.Value:
    """False, as a scalar of booleans."""
    rank, kind = len(hlo.shape_of(number)), hlo.element_type(number)
    one = hlo.reshape(hlo.slice_(number, [0] * rank, [1] * rank), [])
    one = one if kind.is_signless else hlo.convert(one, "i32")
    bit = hlo.and_(one, hlo.splat(1, [], hlo.element_type(one)))
    return hlo.compare("LT", bit, hlo.splat(0, [], hlo.element_type(one)))


def _tie(op: ir.Operation, indices: Sequence[int], number: ir.Value) -> None:
    with ir.InsertionPoint(op), op.location:
        never = _never(number)
        for i in indices:
            type_ = hlo.type_of(op.operands[i])
            other = hlo.splat(1, type_.shape, type_.element_type)
            op.operands[i] = hlo.select(hlo.broadcast_scalar(never, type_.shape), other, op.operands[i])


def _rewrite(op: ir.Operation) -> None:
    if op.name == "stablehlo.while" and (stacks := _stacks(op)) and (number := _argument(op)) is not None:
        _tie(op, stacks, number)


CONSTANT_LOOP = WayRound("constant-loop", "a loop that fills a stack with constants does not compile",
                         ("cpu", "vulkan", "cuda"), _rewrite)
