"""`@optimizer_init` and `@optimizer`: the update rule of the experiment's optimizer, over every trainable parameter.

For each parameter, in the order in which training first names them: the gradient is scaled so that the norm of all
gradients together is at most `:clip-norm`, its elements are clamped to ±`:clip-value`, the optimizer's `:update` gives
the new parameter and state, and decoupled weight decay takes lr · weight-decay · p off what has `:decay true`
(Loshchilov and Hutter 2019, arXiv:1711.05101). With `:skip-nonfinite`, a gradient norm that is not finite leaves
everything as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.contract_values import Optimizer
from sexpgpu.compiler.frontend.ops.support.dtype import F32, convert
from sexpgpu.compiler.frontend.optimizer_groups import Group
from sexpgpu.compiler.frontend.optimizer_rule import UpdateRule
from sexpgpu.compiler.frontend.optimizer_state import StateOf, initial_state, layered_state
from sexpgpu.compiler.frontend.staging import Function
from sexpgpu.compiler.frontend.trace import Phase, Trace, Variable
from sexpgpu.compiler.frontend.values import plist_items
from sexpgpu.diagnostics import Span, one_of
from sexpgpu.runtime.layers import names_of

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator


class OptimizerStaging:
    """`parameters` are the trainable ones."""

    def __init__(self, evaluator: Evaluator, optimizer: Optimizer, place: Span, parameters: Sequence[Variable]) -> None:
        self._evaluator, self._optimizer, self._place = evaluator, optimizer, place
        self._parameters = parameters
        self._hypers = [name for name, _ in optimizer.hypers()]
        self._states: list[StateOf | None] = []

    def check_groups(self) -> None:
        """E-CONTRACT-018 for a pattern that no trainable parameter has."""
        names = [p.name for p in self._parameters]
        every = [name for p in self._parameters for name in _layer_names(p)]
        for group in self._optimizer.groups:
            if not any(map(group.matches, every)):
                self._evaluator.reporter.error(
                    "E-CONTRACT-018", f"the pattern \"{group.pattern}\" of `:groups` matches no parameter",
                    self._optimizer.groups_span, f"\"{group.pattern}\" matches nothing",
                    fix=f"the parameters are {one_of(group.pattern, names)}")

    def keep_one_of_each(self) -> None:
        """What is wrong with the update of one parameter is wrong with all of its shape, dtype, group and decay: where
        only the findings are wanted, one of each is enough."""
        kinds = {(p.dtype.name, tuple(p.shape), p.decay, tuple(self._groups_of(p))): p
                 for p in reversed(self._parameters)}
        self._parameters = list(reversed(kinds.values()))

    @property
    def state_names(self) -> list[str]:
        return [f"{p.name}.{key}" for p, state in zip(self._parameters, self._states, strict=True)
                for key, _ in state or ()]

    def state_rows(self) -> list[dict]:
        """The rows of the manifest's state table."""
        tensors = [tensor for state in self._states for _, tensor in state or ()]
        return [{"name": name, "shape": [int(n) for n in t.shape], "dtype": t.dtype.name, "role": "optimizer"}
                for name, t in zip(self.state_names, tensors, strict=True)]

    def stage_init(self) -> None:
        types = [self._type(p) for p in self._parameters]
        with self._evaluator.staging.function("optimizer_init", "optimizer_init", types, self._place,
                                              Trace(Phase.OPTIMIZER)) as function:
            for p, argument in zip(self._parameters, function.arguments, strict=True):
                first = layered_state if p.layers else initial_state
                self._states.append([] if self._frozen(p) else first(
                    self._evaluator, self._optimizer, self._place, p, argument))
            function.results = [tensor.value for state in self._states for _, tensor in state or ()]
            function.note("sexp.states", self.state_names)

    def stage_update(self) -> None:
        parameters = [self._type(p) for p in self._parameters]
        states = [t.value.type for state in self._states for _, t in state or ()]
        hypers = [hlo.tensor_type([], "f32")] * len(self._hypers)
        with self._evaluator.staging.function("optimizer", "optimizer", [*parameters, *parameters, *states, *hypers],
                                              self._place, Trace(Phase.OPTIMIZER)) as function:
            n = len(parameters)
            arguments = function.arguments
            with self._evaluator.location(self._place):
                function.note("sexp.hypers", self._hypers)
                self._update(function, arguments[:n], arguments[n:2 * n], arguments[2 * n:2 * n + len(states)],
                             dict(zip(self._hypers, arguments[2 * n + len(states):], strict=True)))

    def _update(self, function: Function, parameters: Sequence[ir.Value], gradients: Sequence[ir.Value],
                states: Sequence[ir.Value], hypers: Mapping[str, ir.Value]) -> None:
        norm = _global_norm([(self._moving(g, p), p) for g, p in zip(gradients, self._parameters, strict=True)
                             if not self._frozen(p)])
        finite = hlo.is_finite(norm) if self._optimizer.skip_nonfinite else None
        factor = []
        if self._optimizer.clip_norm is not None:
            limit = hlo.splat(self._optimizer.clip_norm, [], "f32")
            factor = [hlo.divide(limit, hlo.maximum(norm, limit))]
        rule = UpdateRule(self._evaluator, self._optimizer, self._place)
        given = iter(states)
        new_parameters, new_states = [], []
        for p, old, gradient, state in zip(self._parameters, parameters, gradients, self._states, strict=True):
            before = [next(given) for _ in state or ()]
            made = None
            if state is not None and not self._frozen(p):
                made = self._by_group(rule, p, state, [old, gradient, *before], hypers, factor)
            value, *after = made if made is not None else [old, *before]
            new_parameters.append(_kept(finite, value, old))
            new_states += [_kept(finite, new, s) for new, s in zip(after, before, strict=True)]
        rule.close()
        skipped = hlo.splat(0, [], "i32") if finite is None else hlo.select(
            finite, hlo.splat(0, [], "i32"), hlo.splat(1, [], "i32"))
        function.results = [*new_parameters, *new_states, norm, skipped]

    # -- groups -------------------------------------------------------------------------------------------------------

    def _groups_of(self, p: Variable) -> list[Group | None]:
        """The group of each layer of a stack, or of the one parameter."""
        return [self._optimizer.group_of(name) for name in _layer_names(p)]

    def _frozen(self, p: Variable) -> bool:
        return all(group is not None and group.frozen for group in self._groups_of(p))

    def _moving(self, gradient: ir.Value, p: Variable) -> ir.Value:
        """The gradient with zeros for the layers of a stack that are frozen."""
        moves = [group is None or not group.frozen for group in self._groups_of(p)]
        return gradient if all(moves) else _of_layers(p, moves, gradient, hlo.zeros_like(gradient))

    def _by_group(self, rule: UpdateRule, p: Variable, state: StateOf, values: Sequence[ir.Value],
                  hypers: Mapping[str, ir.Value], factor: Sequence[ir.Value]) -> list[ir.Value] | None:
        """The new parameter and states, from old parameter, gradient and old states: the update of each group among
        the layers, and of each layer that of its own."""
        groups, made = self._groups_of(p), None
        old, _, *before = values
        for group in dict.fromkeys(groups):
            if group is not None and group.frozen:
                new = [old, *before]
            else:
                found = rule.apply(p, self._decay(p, group), state, [*values, *self._hypers_of(group, hypers), *factor])
                if found is None:
                    return None
                new = found
            made = new if made is None else [_of_layers(p, [g is group for g in groups], a, b)
                                             for a, b in zip(new, made, strict=True)]
        return made

    def _decay(self, p: Variable, group: Group | None) -> float:
        own = group.weight_decay if group is not None else None
        return (self._optimizer.weight_decay if own is None else own) if p.decay else 0.0

    def _hypers_of(self, group: Group | None, hypers: Mapping[str, ir.Value]) -> list[ir.Value]:
        """The hyper-parameters in the optimizer's order: those of the group replace the optimizer's."""
        own = {name: group.schedule_name(name) for name, _ in group.hyper} if group is not None else {}
        return [hypers[own.get(name, name)] for name, _ in plist_items(self._optimizer.hyper)]

    @staticmethod
    def _type(p: Variable) -> ir.Type:
        return hlo.tensor_type(p.shape, p.dtype.mlir)


def _layer_names(p: Variable) -> list[str]:
    """The name of each layer of a stack, or the one name."""
    return names_of(p.name, p.shape)[0] if p.layers else [p.name]


def _of_layers(p: Variable, chosen: Sequence[bool], value: ir.Value, other: ir.Value) -> ir.Value:
    """`value` in the chosen layers of a stack, and `other` in the rest."""
    import numpy as np  # few experiments come here, and it is half of a check

    mask = hlo.constant(np.array(chosen).reshape([int(n) for n in p.shape[:p.layers]]), "i1")
    return hlo.select(hlo.broadcast_in_dim(mask, hlo.shape_of(value), list(range(p.layers))), value, other)


#: The sum over gradients is cut into kernels of this many terms: IREE fuses a whole sum of scalars into one, and its
#: local device refuses a kernel of more than 64 constants (one for the place of each term).
NORM_TERMS = 16


def _global_norm(gradients: Sequence[tuple[ir.Value, Variable]]) -> ir.Value:
    """The Euclidean norm of all gradients as one vector, in f32."""
    total = hlo.splat(0.0, [], "f32")
    for i, (gradient, p) in enumerate(gradients):
        if i and i % NORM_TERMS == 0:
            total = hlo.optimization_barrier(total)
        g = convert(gradient, p.dtype, F32)
        total = hlo.add(total, hlo.reduce(hlo.multiply(g, g), range(len(p.shape)), "add"))
    return hlo.sqrt(total)


def _kept(finite: ir.Value | None, new: ir.Value, old: ir.Value) -> ir.Value:
    return new if finite is None else hlo.select(finite, new, old)
