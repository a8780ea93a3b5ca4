"""The optimizer's state of each parameter, as `:init` gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.contract_values import Optimizer
from sexpgpu.compiler.frontend.evaluator import Abandoned
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.trace import Variable
from sexpgpu.compiler.frontend.values import Tensor, has_poison, is_plist, plist_items
from sexpgpu.diagnostics import Span
from sexpgpu.runtime.dtypes import DTYPES

if TYPE_CHECKING:
    from iree.compiler import ir
    from sexpgpu.compiler.frontend.evaluator import Evaluator

#: The state of one parameter: its tensors by key, in the order of `:init`'s plist.
StateOf: TypeAlias = "list[tuple[str, Tensor]]"


def number_as_tensor(value: object, span: Span) -> object:
    """A number in state is a scalar: an integer an i32, a fraction an f32. Anything else is itself."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    dtype = DTYPES["i32" if isinstance(value, int) else "f32"]
    return Tensor(hlo.splat(value, [], dtype.mlir), dtype, (), span)


def initial_state(evaluator: Evaluator, optimizer: Optimizer, place: Span, parameter: Variable, value: ir.Value
                  ) -> StateOf | None:
    """What `:init` gives for one parameter, staged; None where it is wrong (reported)."""
    if optimizer.init is None:
        return []
    try:
        made = evaluator.apply(optimizer.init, [Tensor(value, parameter.dtype, parameter.shape, parameter.span)], place)
    except Abandoned:
        return None
    if has_poison(made):
        return None
    if made is None:
        return []
    if not is_plist(made):
        evaluator.reporter.error(
            "E-CONTRACT-022", f"`:init` of the optimizer gives {describe(made)}, not a plist of state", optimizer.span,
            "this optimizer", fix="write `:init (fn (p) (list :v (zeros-like p)))`")
        return None
    state: StateOf = []
    for key, item in plist_items(made):
        with evaluator.location(place):
            tensor = number_as_tensor(item, place)
        if not isinstance(tensor, Tensor):
            evaluator.reporter.error(
                "E-CONTRACT-022", f"the state `:{key}` of the optimizer is {describe(item)}, not a tensor or a number",
                optimizer.span, "this optimizer")
            return None
        state.append((key, tensor))
    return state
