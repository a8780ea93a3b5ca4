"""Exports `update` and `step`: the experiment's `@optimizer`, on accumulated gradients and right behind the backward.

Both call the private `@apply`, which holds the update rule once. `step` hands it the gradients of `@gradients` and
leaves the accumulator alone; `update` hands it the accumulator, scaled, and marks that empty. `@train` and `@optimizer`
are removed: they live on inside the two.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import accumulate as ac
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import globals as gl
from sexpgpu.compiler.passes import manifest as mf
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.state import global_name, state_rows, trainable


def _hyper_names(module: ir.Module, optimizer: ir.Operation, count: int) -> list[str]:
    """Schedules the optimizer takes: its `sexp.hypers`, else the manifest's first `count`."""
    if "sexp.hypers" in optimizer.attributes:
        return [ir.StringAttr(a).value for a in ir.ArrayAttr(optimizer.attributes["sexp.hypers"])]
    return mf.names(mf.read(module).get("schedules"))[:count]


def _define_apply(module: ir.Module, optimizer: ir.Operation) -> ir.Operation:
    """`@apply(hyper, gradients…)`: updates parameters and optimizer states; gives the norm and the skip flag, f32."""
    names, states = trainable(module), state_rows(module, "optimizer")
    types = dict(state_rows(module, "parameter"))
    count = len(fn.body(optimizer).arguments) - 2 * len(names) - len(states)
    schedules = mf.names(mf.read(module).get("schedules"))
    indices = [schedules.index(n) for n in _hyper_names(module, optimizer, count)]
    inputs = [ac.hypers_of(module), *(types[n] for n in names)]
    with fn.new_function(module, "apply", inputs, public=False) as (func, (hyper, *gradients)):
        results = fn.inline(optimizer, [
            *(gl.load(global_name(n), types[n]) for n in names), *gradients,
            *(gl.load(global_name(n), t) for n, t in states),
            *(hlo.reshape(hlo.slice_(hyper, [i], [i + 1]), []) for i in indices),
        ])
        *stored, norm, skipped = results
        for name, value in zip([*names, *(n for n, _ in states)], stored, strict=True):
            gl.store(value, global_name(name))
        fn.return_values([norm, hlo.convert(skipped, "f32")])
    return func


def _export_update(module: ir.Module, apply_: ir.Operation) -> None:
    with fn.new_function(module, "update", [ac.hypers_of(module), hlo.tensor_type([], "f32")]) as (_, (hyper, scale)):
        gradients = [hlo.multiply(gl.load(name, type_),
                                  hlo.broadcast_scalar(hlo.convert(scale, type_.element_type), type_.shape))
                     for name, type_ in ac.accumulator(module).items()]
        numbers = fn.call(apply_, [hyper, *gradients])
        ac.set_filled(False)
        fn.return_values([hlo.concatenate([hlo.reshape(v, [1]) for v in numbers], 0)])


def _export_step(module: ir.Module, apply_: ir.Operation) -> None:
    _, types = ac.training_inputs(module)
    with fn.new_function(module, "step", types) as (_, arguments):
        (metrics, *counters), gradients = ac.gradients(module, arguments)
        numbers = fn.call(apply_, [arguments[-1], *gradients])
        fn.return_values([hlo.concatenate([metrics, *(hlo.reshape(v, [1]) for v in numbers)], 0), *counters])


def apply(module: ir.Module, options: NoOptions) -> None:
    (train,) = fn.by_role(module, "train")
    (optimizer,) = fn.by_role(module, "optimizer")
    apply_ = _define_apply(module, optimizer)
    _export_step(module, apply_)
    _export_update(module, apply_)
    train.erase()
    optimizer.erase()


PASS = Pass("optimizer", "exports step and update: the update rule after the backward, or after accumulation", apply)
