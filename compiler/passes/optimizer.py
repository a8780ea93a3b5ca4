"""Export `update`: the experiment's `@optimizer` on the mean of the accumulated gradients.

The new parameters and optimizer states are stored, and the accumulator is marked empty. `@optimizer` is removed: it
lives on inside.
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


def apply(module: ir.Module, options: NoOptions) -> None:
    (optimizer,) = fn.by_role(module, "optimizer")
    names, states = trainable(module), state_rows(module, "optimizer")
    types = dict(state_rows(module, "parameter"))
    count = len(fn.body(optimizer).arguments) - 2 * len(names) - len(states)
    schedules = mf.names(mf.read(module).get("schedules"))
    indices = [schedules.index(n) for n in _hyper_names(module, optimizer, count)]
    with fn.new_function(module, "update", [ac.hypers_of(module), hlo.tensor_type([], "f32")]) as (_, (hyper, scale)):
        results = fn.inline(optimizer, [
            *(gl.load(global_name(n), types[n]) for n in names),
            *(_mean(name, type_, scale, types[n]) for n, (name, type_) in
              zip(names, ac.accumulator(module).items(), strict=True)),
            *(gl.load(global_name(n), t) for n, t in states),
            *(hlo.reshape(hlo.slice_(hyper, [i], [i + 1]), []) for i in indices),
        ])
        *stored, norm, skipped = results
        for name, value in zip([*names, *(n for n, _ in states)], stored, strict=True):
            gl.store(value, global_name(name))
        ac.set_filled(False)
        fn.return_values([hlo.concatenate([hlo.reshape(hlo.convert(v, "f32"), [1]) for v in (norm, skipped)], 0)])
    optimizer.erase()


def _mean(name: str, held: ir.Type, scale: ir.Value, wanted: ir.Type) -> ir.Value:
    """The mean gradient, in the parameter's dtype, from its sum over microbatches."""
    total = gl.load(name, held)
    scale = hlo.broadcast_scalar(hlo.convert(scale, hlo.element_type(total)), hlo.shape_of(total))
    return hlo.convert(hlo.multiply(total, scale), ir.RankedTensorType(wanted).element_type)


PASS = Pass("optimizer", "exports update: the update rule, on the mean of the accumulated gradients", apply)
