"""Derivatives of `dot_general`: again `dot_general`s, in the order of operands that needs no transpose afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from sexpgpu.compiler.hlo import convert, dot_general, element_type, shape_of, transpose
from sexpgpu.compiler.passes.autodiff.rules import Primal, Thunk, rule
from sexpgpu.compiler.passes.reading import dot_numbers


def _side(p: Primal, own: int) -> ir.Value:
    """The cotangent of operand `own` (0 or 1).

    The result's axes are the batch axes, the free axes of the left, those of the right. Contracting the cotangent with
    the other operand over the other's free axes leaves the batch axes, the own free axes and the contracted ones; which
    of the last two comes first is decided by the order of the operands.
    """
    numbers = dot_numbers(p.op)
    x, other = p.operands[own], p.operands[1 - own]
    batch, batch_other = numbers.batch[own], numbers.batch[1 - own]
    contract, contract_other = numbers.contract[own], numbers.contract[1 - own]
    free = [i for i in range(len(shape_of(x))) if i not in batch and i not in contract]
    free_other = [i for i in range(len(shape_of(other))) if i not in batch_other and i not in contract_other]
    base = len(batch)
    first, second = (free, free_other) if own == 0 else (free_other, free)
    g_free_other = [base + i + (len(first) if own == 0 else 0) for i in range(len(free_other))]
    assert len(shape_of(p.g)) == base + len(first) + len(second)

    g = convert(p.g, element_type(other))
    # The contracted axes come in the order they have in the other operand.
    by_other = [contract[contract_other.index(i)] for i in sorted(contract_other)]
    g_batch = list(range(base))
    g_first = [*batch, *free, *by_other]
    other_first = [*batch, *by_other, *free]
    if other_first == sorted(other_first):
        order = other_first
        left, right, over, batches = other, g, (free_other, g_free_other), (batch_other, g_batch)
    else:
        order = g_first
        left, right, over, batches = g, other, (g_free_other, free_other), (g_batch, batch_other)
    result = dot_general(left, right, contract=over, batch=batches, element=element_type(p.out))
    inverse = [order.index(i) for i in range(len(order))]
    return convert(transpose(result, inverse), element_type(x))


@rule("stablehlo.dot_general")
def _dot_general(p: Primal) -> Sequence[Thunk | None]:
    return [lambda: _side(p, 0), lambda: _side(p, 1)]


@rule("stablehlo.dot")
def _dot(p: Primal) -> Sequence[Thunk | None]:
    """The older form: the last axis of the left with the first of the right."""
    return _dot_general(p)
