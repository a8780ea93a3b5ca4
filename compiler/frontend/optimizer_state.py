"""The optimizer's state of each parameter, as `:init` gives it."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, TypeAlias

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.budget import Abandoned
from sexpgpu.compiler.frontend.contract_values import Optimizer
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.optimizer_layers import over_layers
from sexpgpu.compiler.frontend.trace import Variable
from sexpgpu.compiler.frontend.values import Tensor, has_poison, is_plist, plist_items
from sexpgpu.diagnostics import Span
from sexpgpu.diagnostics.record import replace
from sexpgpu.runtime.dtypes import DTYPES

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator

#: The state that holds the running average of a parameter, which evaluations read (`:ema`).
EMA = "ema"

#: The state of one parameter: its tensors by key, in the order of `:init`'s plist.
StateOf: TypeAlias = "list[tuple[str, Tensor]]"


def number_as_tensor(value: object, span: Span) -> object:
    """A number in state is a scalar: an integer an i32, a fraction an f32. Anything else is itself."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    dtype = DTYPES["i32" if isinstance(value, int) else "f32"]
    return Tensor(hlo.splat(value, [], dtype.mlir), dtype, (), span)


def layered_state(evaluator: Evaluator, optimizer: Optimizer, place: Span, parameter: Variable, value: ir.Value
                  ) -> StateOf | None:
    """The state of a stack of parameters: the stacks of each layer's."""
    layers, lead = prod(parameter.shape[:parameter.layers]), parameter.shape[:parameter.layers]
    own = replace(parameter, shape=parameter.own_shape, layers=0)
    holder = ir.Operation.create("scf.execute_region", regions=1)
    try:
        block = hlo.block(holder.regions[0], [hlo.tensor_type(own.shape, own.dtype.mlir)])
        with ir.InsertionPoint(block):
            state = initial_state(evaluator, optimizer, place, own, block.arguments[0])
        if state is None:
            return None
        with evaluator.location(place):
            flat = hlo.reshape(value, [layers, *own.shape])
            stacks = over_layers(block, [t.value for _, t in state], [flat], layers)
            return [(key, Tensor(hlo.reshape(stack, [*lead, *t.shape]), t.dtype, (*lead, *t.shape), t.span))
                    for (key, t), stack in zip(state, stacks, strict=True)]
    finally:
        holder.erase()


def initial_state(evaluator: Evaluator, optimizer: Optimizer, place: Span, parameter: Variable, value: ir.Value
                  ) -> StateOf | None:
    """What `:init` gives for one parameter, staged; None where it is wrong (reported)."""
    state = _own_state(evaluator, optimizer, place, parameter, value)
    if state is None or optimizer.ema is None:
        return state
    if any(key == EMA for key, _ in state):
        evaluator.reporter.error("E-CONTRACT-022", f"the state `:{EMA}` of the optimizer is the average that `:ema` "
                                 "keeps", optimizer.span, "this optimizer", fix="another name is free")
        return None
    return [*state, (EMA, Tensor(value, parameter.dtype, parameter.shape, parameter.span))]


def _own_state(evaluator: Evaluator, optimizer: Optimizer, place: Span, parameter: Variable, value: ir.Value
               ) -> StateOf | None:
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
