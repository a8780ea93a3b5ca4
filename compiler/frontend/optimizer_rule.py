"""The update of one parameter: clipping, the optimizer's `:update`, decoupled weight decay.

Parameters of one shape, dtype, decay and state have one update, so it is traced once, aside, and copied for each: the
optimizer of a deep model would otherwise be most of the work of checking it. What draws random numbers is traced anew,
for each site has a number of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.budget import Abandoned
from sexpgpu.compiler.frontend.contract_values import Optimizer
from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.compiler.frontend.ops.support.dtype import F32, convert
from sexpgpu.compiler.frontend.ops.support.staged import describe, show_shape
from sexpgpu.compiler.frontend.optimizer_layers import over_layers
from sexpgpu.compiler.frontend.optimizer_state import StateOf, number_as_tensor
from sexpgpu.compiler.frontend.trace import Variable
from sexpgpu.compiler.frontend.values import POISON, Tensor, has_poison, is_plist, plist_items
from sexpgpu.diagnostics import Label, Span
from sexpgpu.diagnostics.record import record, replace

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator


@record(eq=False)
class Template:
    """A traced update: `block` takes the values that `UpdateRule.apply` is given; `results` is None where it is
    wrong."""

    block: ir.Block
    results: list[ir.Value] | None

    def copy(self, values: Sequence[ir.Value]) -> list[ir.Value] | None:
        """The update on these values, at the insertion point."""
        if self.results is None:
            return None
        mapping = dict(zip(self.block.arguments, values, strict=True))
        for op in self.block.operations:
            made = op.operation.clone(ir.InsertionPoint.current)
            _remap(made, mapping)
            mapping.update(zip(op.operation.results, made.results, strict=True))
        return [mapping.get(value, value) for value in self.results]


def _remap(op: ir.Operation, mapping: Mapping[ir.Value, ir.Value]) -> None:
    for i, operand in enumerate(op.operands):
        new = mapping.get(operand)
        if new is not None:
            op.operands[i] = new
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                _remap(inner.operation, mapping)


class UpdateRule:
    """The optimizer's update, to be applied to parameter after parameter; `close` when all are done."""

    def __init__(self, evaluator: Evaluator, optimizer: Optimizer, place: Span) -> None:
        self._evaluator, self._optimizer, self._place = evaluator, optimizer, place
        self._hypers = [name for name, _ in plist_items(optimizer.hyper)]
        self._templates: dict[tuple, Template] = {}
        self._holders: list[ir.Operation] = []

    def apply(self, p: Variable, decay: float, state: StateOf, values: Sequence[ir.Value]) -> list[ir.Value] | None:
        """The new parameter and its states, from the old one, its gradient, its states, the hyper-parameters in their
        order and, where gradients are clipped by norm, their factor. None where the rule is wrong (reported)."""
        if p.layers:
            return self._layered(p, decay, state, values)
        template = self._template(p, decay, state, [value.type for value in values])
        return template.copy(values)

    def _layered(self, p: Variable, decay: float, state: StateOf, values: Sequence[ir.Value]) -> list[ir.Value] | None:
        """The update of each layer of a stack."""
        lead = p.shape[:p.layers]
        layers = prod(lead)
        own = replace(p, shape=p.own_shape, layers=0)
        own_state = [(key, replace(t, shape=t.shape[p.layers:])) for key, t in state]
        count = 2 + len(state)
        flat = [hlo.reshape(v, [layers, *hlo.shape_of(v)[p.layers:]]) for v in values[:count]]
        types = [hlo.tensor_type(hlo.shape_of(v)[1:], hlo.element_type(v)) for v in flat]
        template = self._template(own, decay, own_state, [*types, *(v.type for v in values[count:])])
        if template.results is None:
            return None
        stacks = over_layers(template.block, template.results, [*flat, *values[count:]], layers)
        return [hlo.reshape(v, [*lead, *hlo.shape_of(v)[1:]]) for v in stacks]

    def _template(self, p: Variable, decay: float, state: StateOf, types: Sequence[ir.Type]) -> Template:
        key = (p.dtype.name, tuple(p.shape), decay, tuple([(k, t.dtype.name, tuple(t.shape)) for k, t in state]))
        template = self._templates.get(key)
        if template is None:
            before = self._evaluator.trace.sites
            template = self._trace(p, decay, state, types)
            if self._evaluator.trace.sites == before:
                self._templates[key] = template
        return template

    def close(self) -> None:
        for holder in self._holders:
            holder.erase()

    def _trace(self, p: Variable, decay: float, state: StateOf, types: Sequence[ir.Type]) -> Template:
        holder = ir.Operation.create("scf.execute_region", regions=1)
        self._holders.append(holder)
        block = ir.Block.create_at_start(holder.regions[0], list(types), [ir.Location.current] * len(types))
        with ir.InsertionPoint(block):
            old, gradient, *more = block.arguments
            states, more = more[:len(state)], more[len(state):]
            hypers = dict(zip(self._hypers, more, strict=False))
            factor = more[len(self._hypers)] if len(more) > len(self._hypers) else None
            return Template(block, self._updated(p, decay, old, self._clipped(p, gradient, factor),
                                                 [(k, v, like) for (k, like), v in zip(state, states, strict=True)],
                                                 hypers))

    def _clipped(self, p: Variable, gradient: ir.Value, factor: ir.Value | None) -> ir.Value:
        if factor is not None:
            gradient = hlo.multiply(gradient, hlo.broadcast_scalar(convert(factor, F32, p.dtype), p.shape))
        if self._optimizer.clip_value is not None:
            high = hlo.splat(self._optimizer.clip_value, p.shape, p.dtype.mlir)
            gradient = hlo.maximum(hlo.minimum(gradient, high), hlo.negate(high))
        return gradient

    def _updated(self, p: Variable, decay: float, old: ir.Value, gradient: ir.Value,
                 state: Sequence[tuple[str, ir.Value, Tensor]], hypers: Mapping[str, ir.Value]
                 ) -> list[ir.Value] | None:
        average = None
        if self._optimizer.ema is not None:
            *state, (_, average, _) = state
        local = {name: convert(value, F32, p.dtype) for name, value in hypers.items()}
        value = self._apply([
            Tensor(old, p.dtype, p.shape, p.span), Tensor(gradient, p.dtype, p.shape, p.span),
            _plist([(key, Tensor(v, like.dtype, like.shape, p.span)) for key, v, like in state]),
            _plist([(name, Tensor(v, p.dtype, (), p.span)) for name, v in local.items()])])
        if has_poison(value):
            return None
        found = dict(plist_items(value)) if is_plist(value) else {}
        if set(found) != {"param", "state"} and not (set(found) == {"param"} and not state):
            return self._wrong(f"`:update` of the optimizer gives {describe(value)}, not a plist of `:param` and "
                               "`:state`", "end it with `(list :param … :state …)`")
        after = found.get("state") or ()
        if not is_plist(after) or {k for k, _ in plist_items(after)} != {k for k, _, _ in state}:
            wanted = ", ".join(f"`:{k}`" for k, _, _ in state) or "nothing"
            return self._wrong(f"`:update` gives another state than `:init`, which has {wanted}")
        kept = dict(plist_items(after))
        new = self._same(p, "`:param`", found["param"], p.dtype, p.shape)
        states = [self._same(p, f"the state `:{key}`", number_as_tensor(kept[key], self._place), like.dtype, like.shape)
                  for key, _, like in state]
        if new is None or any(s is None for s in states):
            return None
        if decay:
            rate = hlo.multiply(local["lr"], hlo.splat(decay, [], p.dtype.mlir))
            new = hlo.subtract(new, hlo.multiply(hlo.broadcast_scalar(rate, p.shape), old))
        if average is None:
            return [new, *states]
        keep, share = (hlo.splat(n, p.shape, p.dtype.mlir) for n in (self._optimizer.ema, 1 - self._optimizer.ema))
        return [new, *states, hlo.add(hlo.multiply(average, keep), hlo.multiply(new, share))]

    def _same(self, p: Variable, what: str, value: object, dtype: object, shape: Sequence[int]) -> ir.Value | None:
        """The value in the graph, which must have the dtype and shape that it replaces."""
        if isinstance(value, Tensor) and value.dtype is dtype and tuple(value.shape) == tuple(shape):
            return value.value
        found = describe(value)
        self._evaluator.reporter.error(
            "E-CONTRACT-022", f"`:update` gives {found} for {what} of `{p.name}`, not {dtype} {show_shape(shape)}",
            self._optimizer.span, f"gives {found}",
            secondary=[Label(value.span, "this is its value")] if isinstance(value, Tensor) else [])
        return None

    def _apply(self, values: Sequence[object]) -> object:
        try:
            return self._evaluator.apply(self._optimizer.update, values, self._place)
        except Abandoned:
            return POISON

    def _wrong(self, message: str, fix: str | None = None) -> None:
        self._evaluator.reporter.error("E-CONTRACT-022", message, self._optimizer.span, "this optimizer", fix=fix)


def _plist(items: Sequence[tuple[str, object]]) -> tuple:
    return tuple([x for name, value in items for x in (Keyword(name), value)])
