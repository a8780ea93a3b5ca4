"""`@optimizer_init` and `@optimizer`: the update rule of the experiment's optimizer, over every trainable parameter.

For each parameter, in the order in which training first names them: the gradient is scaled so that the norm of all
gradients together is at most `:clip-norm`, its elements are clamped to ±`:clip-value`, the optimizer's `:update` gives
the new parameter and state, and decoupled weight decay takes lr · weight-decay · p off what has `:decay true`
(Loshchilov and Hutter 2019, arXiv:1711.05101). With `:skip-nonfinite`, a gradient norm that is not finite leaves
everything as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iree.compiler import ir

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.contract_values import Optimizer
from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.compiler.frontend.evaluator import Abandoned
from sexpgpu.compiler.frontend.ops.support.dtype import convert
from sexpgpu.compiler.frontend.ops.support.staged import describe, show_shape
from sexpgpu.compiler.frontend.staging import Function
from sexpgpu.compiler.frontend.trace import Phase, Trace, Variable
from sexpgpu.compiler.frontend.values import POISON, Tensor, has_poison, is_plist, plist_items
from sexpgpu.diagnostics import Label, Span, one_of
from sexpgpu.runtime.dtypes import DTYPES

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator

F32 = DTYPES["f32"]


class OptimizerStaging:
    """`parameters` are the trainable ones."""

    def __init__(self, evaluator: Evaluator, optimizer: Optimizer, place: Span, parameters: Sequence[Variable]) -> None:
        self._evaluator, self._optimizer, self._place = evaluator, optimizer, place
        self._parameters = parameters
        self._hypers = [name for name, _ in optimizer.hypers()]
        self._states: list[list[tuple[str, Tensor]] | None] = []

    @property
    def state_names(self) -> list[str]:
        return [f"{p.name}.{key}" for p, state in zip(self._parameters, self._states, strict=True)
                for key, _ in state or ()]

    def state_rows(self) -> list[dict]:
        """The rows of the manifest's state table."""
        tensors = [tensor for state in self._states for _, tensor in state or ()]
        return [{"name": name, "shape": [int(n) for n in t.shape], "dtype": t.dtype.name, "role": "optimizer"}
                for name, t in zip(self.state_names, tensors, strict=True)]

    # -- state --------------------------------------------------------------------------------------------------------

    def stage_init(self) -> None:
        types = [self._type(p) for p in self._parameters]
        with self._evaluator.staging.function("optimizer_init", "optimizer_init", types, self._place,
                                              Trace(Phase.OPTIMIZER)) as function:
            results = []
            for p, argument in zip(self._parameters, function.arguments, strict=True):
                state = self._initial(p, Tensor(argument, p.dtype, p.shape, p.span))
                self._states.append(state)
                results += [tensor.value for _, tensor in state or ()]
            function.results = results
            function.note("sexp.states", self.state_names)

    def _initial(self, parameter: Variable, tensor: Tensor) -> list[tuple[str, Tensor]] | None:
        """The state of one parameter by key; None where it is wrong."""
        if self._optimizer.init is None or self._frozen(parameter):
            return []
        value = self._apply(self._optimizer.init, [tensor])
        if has_poison(value):
            return None
        if value is None:
            return []
        if not is_plist(value):
            return self._wrong(f"`:init` of the optimizer gives {describe(value)}, not a plist of state",
                               "write `:init (fn (p) (list :v (zeros-like p)))`")
        state = []
        for key, item in plist_items(value):
            number = self._as_tensor(item)
            if number is None:
                return self._wrong(f"the state `:{key}` of the optimizer is {describe(item)}, not a tensor or a number")
            state.append((key, number))
        return state

    def _as_tensor(self, value: object) -> Tensor | None:
        """A number is a scalar: an integer an i32, a fraction an f32."""
        if isinstance(value, Tensor):
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        dtype = DTYPES["i32" if isinstance(value, int) else "f32"]
        with self._evaluator.location(self._place):
            return Tensor(hlo.splat(value, [], dtype.mlir), dtype, (), self._place)

    # -- update -------------------------------------------------------------------------------------------------------

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
                states: Sequence[ir.Value], hypers: dict[str, ir.Value]) -> None:
        norm = _global_norm([(g, p) for g, p in zip(gradients, self._parameters, strict=True) if not self._frozen(p)])
        finite = hlo.is_finite(norm) if self._optimizer.skip_nonfinite else None
        factor = None
        if self._optimizer.clip_norm is not None:
            limit = hlo.splat(self._optimizer.clip_norm, [], "f32")
            factor = hlo.divide(limit, hlo.maximum(norm, limit))
        given = iter(states)
        new_parameters, new_states = [], []
        for p, old, gradient, state in zip(self._parameters, parameters, gradients, self._states, strict=True):
            before = [(key, next(given), like) for key, like in state or ()]
            made = None
            if state is not None and not self._frozen(p):
                made = self._updated(p, old, self._clipped(p, gradient, factor), before, self._hypers_of(p, hypers))
            value, after = made if made is not None else (old, [s for _, s, _ in before])
            new_parameters.append(_kept(finite, value, old))
            new_states += [_kept(finite, new, s) for new, (_, s, _) in zip(after, before, strict=True)]
        skipped = hlo.splat(0, [], "i32") if finite is None else hlo.select(
            finite, hlo.splat(0, [], "i32"), hlo.splat(1, [], "i32"))
        function.results = [*new_parameters, *new_states, norm, skipped]

    # -- groups -------------------------------------------------------------------------------------------------------

    def _frozen(self, p: Variable) -> bool:
        group = self._optimizer.group_of(p.name)
        return group is not None and group.frozen

    def _decay(self, p: Variable) -> float:
        group = self._optimizer.group_of(p.name)
        own = group.weight_decay if group is not None else None
        return (self._optimizer.weight_decay if own is None else own) if p.decay else 0.0

    def _hypers_of(self, p: Variable, hypers: dict[str, ir.Value]) -> dict[str, ir.Value]:
        """The hyper-parameters by their own names: those of the parameter's group replace the optimizer's."""
        found = {name: hypers[name] for name, _ in plist_items(self._optimizer.hyper)}
        group = self._optimizer.group_of(p.name)
        if group is not None:
            found |= {name: hypers[group.schedule_name(name)] for name, _ in group.hyper}
        return found

    def check_groups(self) -> None:
        """E-CONTRACT-018 for a pattern that no trainable parameter has."""
        names = [p.name for p in self._parameters]
        for group in self._optimizer.groups:
            if not any(map(group.matches, names)):
                self._evaluator.reporter.error(
                    "E-CONTRACT-018", f"the pattern \"{group.pattern}\" of `:groups` matches no parameter",
                    self._optimizer.groups_span, f"\"{group.pattern}\" matches nothing",
                    fix=f"the parameters are {one_of(group.pattern, names)}")

    # -- one parameter ------------------------------------------------------------------------------------------------

    def _clipped(self, p: Variable, gradient: ir.Value, factor: ir.Value | None) -> ir.Value:
        if factor is not None:
            scale = convert(factor, F32, p.dtype)
            gradient = hlo.multiply(gradient, hlo.broadcast_scalar(scale, p.shape))
        if self._optimizer.clip_value is not None:
            high = hlo.splat(self._optimizer.clip_value, p.shape, p.dtype.mlir)
            gradient = hlo.maximum(hlo.minimum(gradient, high), hlo.negate(high))
        return gradient

    def _updated(self, p: Variable, old: ir.Value, gradient: ir.Value, state: list[tuple[str, ir.Value, Tensor]],
                 hypers: dict[str, ir.Value]) -> tuple[ir.Value, list[ir.Value]] | None:
        """The new value and state of one parameter; None where the rule is wrong (reported)."""
        local = {name: convert(value, F32, p.dtype) for name, value in hypers.items()}

        def tensor(value: ir.Value, dtype=p.dtype, shape=p.shape) -> Tensor:
            return Tensor(value, dtype, shape, p.span)

        value = self._apply(self._optimizer.update, [
            tensor(old), tensor(gradient),
            _plist([(key, tensor(v, like.dtype, like.shape)) for key, v, like in state]),
            _plist([(name, tensor(v, p.dtype, ())) for name, v in local.items()])])
        if has_poison(value):
            return None
        found = dict(plist_items(value)) if is_plist(value) else {}
        if set(found) != {"param", "state"} and not (set(found) == {"param"} and not state):
            return self._wrong(f"`:update` of the optimizer gives {describe(value)}, not a plist of `:param` and `:state`",
                               "end it with `(list :param … :state …)`")
        after = found.get("state") or ()
        if not is_plist(after) or {k for k, _ in plist_items(after)} != {k for k, _, _ in state}:
            wanted = ", ".join(f"`:{k}`" for k, _, _ in state) or "nothing"
            return self._wrong(f"`:update` gives another state than `:init`, which has {wanted}")
        new = self._same(p, "`:param`", found["param"], p.dtype, p.shape)
        kept = dict(plist_items(after))
        states = [self._same(p, f"the state `:{key}`", self._as_tensor(kept[key]), like.dtype, like.shape)
                  for key, _, like in state]
        if new is None or any(s is None for s in states):
            return None
        decay = self._decay(p)
        if decay:
            rate = hlo.multiply(local["lr"], hlo.splat(decay, [], p.dtype.mlir))
            new = hlo.subtract(new, hlo.multiply(hlo.broadcast_scalar(rate, p.shape), old))
        return new, states

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

    def _apply(self, function: object, values: Sequence[object]) -> object:
        try:
            return self._evaluator.apply(function, values, self._place)
        except Abandoned:
            return POISON

    def _wrong(self, message: str, fix: str | None = None) -> None:
        self._evaluator.reporter.error("E-CONTRACT-022", message, self._optimizer.span, "this optimizer", fix=fix)

    @staticmethod
    def _type(p: Variable) -> ir.Type:
        return hlo.tensor_type(p.shape, p.dtype.mlir)


def _plist(items: Sequence[tuple[str, object]]) -> tuple:
    return tuple([x for name, value in items for x in (Keyword(name), value)])


def _global_norm(gradients: Sequence[tuple[ir.Value, Variable]]) -> ir.Value:
    """The Euclidean norm of all gradients as one vector, in f32."""
    total = hlo.splat(0.0, [], "f32")
    for gradient, p in gradients:
        g = convert(gradient, p.dtype, F32)
        total = hlo.add(total, hlo.reduce(hlo.multiply(g, g), range(len(p.shape)), "add"))
    return hlo.sqrt(total)


def _kept(finite: ir.Value | None, new: ir.Value, old: ir.Value) -> ir.Value:
    return new if finite is None else hlo.select(finite, new, old)
