"""Whether the loss reaches a trainable parameter at all: there is nothing to train otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.values import Tensor
from sexpgpu.diagnostics import Label, Span

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator


def check_reach(evaluator: Evaluator, loss: Tensor, place: Span) -> None:
    """E-GRAD-002 where every path from the loss is cut: by an integer, a comparison, or `stop-gradient`."""
    if _reaches(loss.value):
        return
    evaluator.reporter.error("E-GRAD-002", "the loss does not depend on a trainable parameter", place,
                             "nothing to train", secondary=[Label(loss.span, "this is the loss")],
                             fix="every path is cut by an integer, a comparison or `stop-gradient`, or the model "
                                 "declares no parameter")


def _reaches(loss: ir.Value) -> bool:
    seen: set[int] = set()
    stack = [loss]
    while stack:
        value = stack.pop()
        owner = value.owner
        if not isinstance(owner, (ir.Operation, ir.OpView)):
            continue  # an argument of a block: a field, or a carry whose operation is visited through its result
        op = owner.operation
        if hash(op) in seen or not _is_float(value):
            continue
        seen.add(hash(op))
        kind = hlo.marker_kind(op)
        if kind == "param":
            facts = ir.DictAttr(op.attributes["backend_config"])
            if ir.BoolAttr(facts["trainable"]).value:
                return True
            continue
        if kind == "stop_gradient":
            continue
        stack.extend(op.operands)
        for region in op.regions:
            for block in region.blocks:
                for inner in block.operations:
                    stack.extend(inner.operation.operands)
    return False


def _is_float(value: ir.Value) -> bool:
    return not isinstance(hlo.element_type(value), ir.IntegerType)
