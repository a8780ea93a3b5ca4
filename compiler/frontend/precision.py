"""What `precision` means for staging: the dtype of parameters, the compute dtype, the scale of the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.contract_values import Precision
from sexpgpu.compiler.frontend.ops.support.dtype import F32, I32
from sexpgpu.compiler.frontend.trace import Variable
from sexpgpu.compiler.frontend.values import Tensor

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.contract import Contract
    from sexpgpu.compiler.frontend.evaluator import Evaluator


def precision_of(contract: Contract) -> Precision | None:
    definition = contract.get("precision")
    return definition.value if definition is not None and isinstance(definition.value, Precision) else None


def set_dtypes(evaluator: Evaluator, precision: Precision | None) -> None:
    """Before anything of the step is staged."""
    if precision is None:
        return
    evaluator.parameter_dtype = precision.params
    if precision.compute is not F32:
        evaluator.staging.module.operation.attributes["sexp.compute"] = ir.StringAttr.get(precision.compute.mlir)


def scaled_loss(evaluator: Evaluator, precision: Precision | None, loss: Tensor | None) -> Tensor | None:
    """The loss through a marker that multiplies its cotangent."""
    if precision is None or precision.loss_scale is None or loss is None:
        return loss
    from sexpgpu.compiler.passes.autodiff.scaling import FIRST, GOOD, MARKER, SCALE  # the rules are many

    with evaluator.location(precision.span):
        if precision.loss_scale == "dynamic":
            facts = [_buffer(evaluator, Variable(SCALE, F32, (), FIRST, True, False, False, precision.span)),
                     _buffer(evaluator, Variable(GOOD, I32, (), 0, True, False, False, precision.span))]
        else:
            facts = [hlo.splat(precision.loss_scale, [], "f32")]
        value = hlo.marker(MARKER, [loss.value, *facts], [loss.value.type]).results[0]
    return Tensor(value, loss.dtype, loss.shape, loss.span)


def _buffer(evaluator: Evaluator, variable: Variable) -> ir.Value:
    symbol = evaluator.initialisers.symbol(variable)
    type_ = hlo.tensor_type(variable.shape, variable.dtype.mlir)
    return hlo.marker("buffer", [], [type_], {"name": ir.StringAttr.get(variable.name)}, [symbol]).results[0]
