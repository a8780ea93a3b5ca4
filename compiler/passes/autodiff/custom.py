"""The derivative that a program gives itself: the marker `custom_gradient` names the function that computes it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.autodiff import scaling
from sexpgpu.compiler.passes.autodiff.rules import Primal, Thunk, rule

MARKER = "custom_gradient"


def outputs_of(op: ir.Operation) -> int:
    """How many of the marker's operands are its results."""
    return _fact(op, "outputs")


def _fact(op: ir.Operation, name: str) -> int:
    return ir.IntegerAttr(ir.DictAttr(op.attributes["backend_config"])[name]).value


def _module(op: ir.Operation) -> ir.Operation:
    while op.parent is not None:
        op = op.parent.operation
    return op


def _function(op: ir.Operation) -> ir.Operation:
    name = ir.FlatSymbolRefAttr(ir.ArrayAttr(op.attributes["called_computations"])[0]).value
    block = _module(op).regions[0].blocks[0]
    return next(f.operation for f in block.operations if f.operation.name == "func.func" and fn.symbol(f) == name)


@rule("stablehlo.custom_call")
def _custom(p: Primal) -> Sequence[Thunk | None]:
    """The operands are the outputs, the inputs, and what the function uses besides; the inputs have cotangents.

    The function is given the results, which are the outputs with a derivative: a derivative of second order passes
    through them too.
    """
    op = p.op
    if hlo.marker_kind(op) == scaling.MARKER:
        return [lambda: hlo.multiply(p.g, op.operands[1]), *[None] * (len(op.operands) - 1)]
    assert hlo.marker_kind(op) == MARKER
    outputs, inputs = outputs_of(op), _fact(op, "inputs")

    @cache
    def cotangents() -> list[ir.Value]:
        given = [hlo.zeros_like(r) if g is None else g for r, g in zip(op.results, p.cotangents, strict=True)]
        return fn.inline(_function(op), [*op.results, *list(op.operands)[outputs:], *given])

    def of(i: int) -> Thunk | None:
        return (lambda: cotangents()[i - outputs]) if outputs <= i < outputs + inputs else None

    return [of(i) for i in range(len(op.operands))]
