"""Exports `update` and `step`: the experiment's `@optimizer`, on accumulated gradients and fused behind the backward.

`step` is forward, backward and update in one function and leaves the accumulator alone; `update` reads it, scaled, and
marks it empty. `@train` and `@optimizer` are removed: they live on inlined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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


def _update(module: ir.Module, optimizer: ir.Operation, parameters: Mapping[str, ir.Value],
            gradients: Sequence[ir.Value], hyper: ir.Value) -> list[ir.Value]:
    """Applies `@optimizer` and stores what it gives; returns the gradient norm and the skip flag, f32 each."""
    names = trainable(module)
    states = state_rows(module, "optimizer")
    count = len(fn.body(optimizer).arguments) - 2 * len(names) - len(states)
    schedules = mf.names(mf.read(module).get("schedules"))
    indices = [schedules.index(n) for n in _hyper_names(module, optimizer, count)]
    results = fn.inline(optimizer, [
        *(parameters[n] for n in names), *gradients, *(gl.load(global_name(n), t) for n, t in states),
        *(hlo.reshape(hlo.slice_(hyper, [i], [i + 1]), []) for i in indices),
    ])
    *stored, norm, skipped = results
    for name, value in zip([*names, *(n for n, _ in states)], stored, strict=True):
        gl.store(value, global_name(name))
    return [norm, hlo.convert(skipped, "f32")]


def _export_update(module: ir.Module, optimizer: ir.Operation) -> None:
    types = dict(state_rows(module, "parameter"))
    with fn.new_function(module, "update", [ac.hypers_of(module), hlo.tensor_type([], "f32")]) as (_, (hyper, scale)):
        gradients = []
        for parameter, (name, type_) in zip(trainable(module), ac.accumulator(module).items(), strict=True):
            factor = hlo.broadcast_scalar(hlo.convert(scale, type_.element_type), type_.shape)
            mean = hlo.multiply(gl.load(name, type_), factor)
            gradients.append(hlo.convert(mean, ir.RankedTensorType(types[parameter]).element_type))
        parameters = {n: gl.load(global_name(n), types[n]) for n in types}
        numbers = _update(module, optimizer, parameters, gradients, hyper)
        ac.set_filled(False)
        fn.return_values([hlo.concatenate([hlo.reshape(v, [1]) for v in numbers], 0)])


def _export_step(module: ir.Module, train: ir.Operation, optimizer: ir.Operation) -> None:
    names, types = ac.training_inputs(module)
    with fn.new_function(module, "step", types) as (_, arguments):
        given = ac.training_arguments(module, dict(zip(names, arguments, strict=True)))
        results = fn.inline_named(train, given)
        parameters = {n: given[f"param:{n}"] for n, _ in state_rows(module, "parameter")}
        gradients = [results[f"grad:{n}"] for n in trainable(module)]
        numbers = _update(module, optimizer, parameters, gradients, given["hyper"])
        ac.store_buffers(results)
        metrics = hlo.concatenate([results["metrics"], *(hlo.reshape(v, [1]) for v in numbers)], 0)
        fn.return_values([metrics, *([results["counters"]] if "counters" in results else [])])


def apply(module: ir.Module, options: NoOptions) -> None:
    (train,) = fn.by_role(module, "train")
    (optimizer,) = fn.by_role(module, "optimizer")
    _export_step(module, train, optimizer)
    _export_update(module, optimizer)
    train.erase()
    optimizer.erase()


PASS = Pass("optimizer", "exports step and update: the update rule fused and on accumulated gradients", apply)
