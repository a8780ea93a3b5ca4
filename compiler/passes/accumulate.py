"""Export `microbatch`: gradients of one microbatch, added to the accumulator.

Forward and backward stand once, in the private `@gradients`, which `microbatch` and `step` call: an artifact compiles
half as long as with a copy in each.

The accumulator is one tensor a trainable parameter, of its shape and dtype (f32 for a narrower one), so that `update`
compiles to the same kernels as `step`: slices of one flat buffer would carry their offsets into the kernels and make
each a kernel of its own. It exists from the first `microbatch` on: a flag on the host, `accumulator.filled`, says
whether the next microbatch adds or sets, so nothing is cleared, and a run of fused steps never allocates it. Exports
`accumulator_get` and `accumulator_set` let ranks sum it: there it is one flat vector, every gradient in the optimizer's
order, in f32 (f64 when a parameter is f64).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import globals as gl
from sexpgpu.compiler.passes import manifest as mf
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.parameters import hyper_type
from sexpgpu.compiler.passes.state import global_name, state_rows, trainable

FILLED = "accumulator.filled"
GRADIENTS = "gradients"


def key_type() -> ir.Type:
    return hlo.tensor_type([4], "i64")


def hypers_of(module: ir.Module) -> ir.Type:
    return hyper_type(len(mf.read(module).get("schedules") or []))


def accumulator(module: ir.Module) -> dict[str, ir.RankedTensorType]:
    """Names and types of the accumulator's globals, in the optimizer's order."""
    types = dict(state_rows(module, "parameter"))
    return {f"accumulator.{n}": _summed(ir.RankedTensorType(types[n])) for n in trainable(module)}


def _summed(type_: ir.RankedTensorType) -> ir.RankedTensorType:
    """Sums of bf16 and f16 are kept in f32."""
    narrow = str(type_.element_type) in ("bf16", "f16")
    return hlo.tensor_type(type_.shape, "f32") if narrow else type_


def flat_type(types: Sequence[ir.RankedTensorType]) -> ir.RankedTensorType:
    wide = any(str(t.element_type) == "f64" for t in types)
    return hlo.tensor_type([sum(_numel(t) for t in types)], "f64" if wide else "f32")


def _numel(type_: ir.RankedTensorType) -> int:
    count = 1
    for n in type_.shape:
        count *= n
    return count


def flatten(gradients: Sequence[ir.Value], element: ir.Type) -> ir.Value:
    rows = [hlo.reshape(hlo.convert(g, element), [_numel(hlo.type_of(g))]) for g in gradients]
    return hlo.concatenate(rows, 0) if len(rows) > 1 else rows[0]


def unflatten(flat: ir.Value, types: Sequence[ir.RankedTensorType]) -> list[ir.Value]:
    values, start = [], 0
    for type_ in types:
        end = start + _numel(type_)
        values.append(hlo.convert(hlo.reshape(hlo.slice_(flat, [start], [end]), type_.shape), type_.element_type))
        start = end
    return values


def set_filled(value: bool) -> None:
    constant = hlo.make("arith.constant", [ir.IntegerType.get_signless(1)], [], {"value": ir.BoolAttr.get(value)})
    gl.store(constant.result, FILLED)


def training_arguments(module: ir.Module, given: Mapping[str, ir.Value]) -> dict[str, ir.Value]:
    """What `@train` may take: the export's arguments, and the state read from its globals."""
    values = dict(given)
    for kind, prefix in (("parameter", "param"), ("buffer", "buffer")):
        for name, type_ in state_rows(module, kind):
            values[f"{prefix}:{name}"] = gl.load(global_name(name), type_)
    return values


def store_buffers(results: Mapping[str, ir.Value]) -> None:
    for name, value in results.items():
        if name.startswith("buffer:"):
            gl.store(value, global_name(name.removeprefix("buffer:")))


def training_inputs(module: ir.Module) -> tuple[list[str], list[ir.Type]]:
    """Names and types of an export's arguments: the fields, `key`, `hyper`."""
    (train,) = fn.by_role(module, "train")
    named = zip(fn.argument_names(train), fn.body(train).arguments, strict=True)
    fields = [(n, v.type) for n, v in named if n.startswith("field:")]
    return ([*(n for n, _ in fields), "key", "hyper"], [*(t for _, t in fields), key_type(), hypers_of(module)])


def _define_gradients(module: ir.Module, train: ir.Operation) -> None:
    """`@gradients(fields…, key, hyper)`: the state from its globals; metrics, counters, then every gradient."""
    names, types = training_inputs(module)
    with fn.new_function(module, GRADIENTS, types, public=False) as (_, arguments):
        given = dict(zip(names, arguments, strict=True))
        results = fn.inline_named(train, training_arguments(module, given))
        store_buffers(results)
        signals = [results[n] for n in ("metrics", "counters") if n in results]
        fn.return_values([*signals, *(results[f"grad:{n}"] for n in trainable(module))])


def gradients(module: ir.Module, arguments: Sequence[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
    """Calls `@gradients` on an export's arguments: the metrics (and counters), and the gradients."""
    func = fn.find(module, GRADIENTS)
    assert func is not None
    results = fn.call(func, arguments)
    count = len(results) - len(trainable(module))
    return results[:count], results[count:]


def _merge(totals: Mapping[str, ir.RankedTensorType], fresh: Sequence[ir.Value]) -> list[ir.Value]:
    """`fresh`, plus what the accumulator holds if it holds anything."""
    filled = gl.load(FILLED, ir.IntegerType.get_signless(1))
    choice = hlo.make("scf.if", [v.type for v in fresh], [filled], regions=2)
    with ir.InsertionPoint(ir.Block.create_at_start(choice.regions[0], [])):
        held = [gl.load(name, type_) for name, type_ in totals.items()]
        sums = [hlo.add(old, new) for old, new in zip(held, fresh, strict=True)]
        hlo.make("scf.yield", [], sums)
    with ir.InsertionPoint(ir.Block.create_at_start(choice.regions[1], [])):
        hlo.make("scf.yield", [], list(fresh))
    return list(choice.results)


def _clear_at_end(module: ir.Module, name: str) -> None:
    func = fn.find(module, name)
    if func is not None:
        with ir.InsertionPoint(fn.terminator(func)), func.location:
            set_filled(False)


def apply(module: ir.Module, options: NoOptions) -> None:
    (train,) = fn.by_role(module, "train")
    totals = accumulator(module)
    flat = flat_type(list(totals.values()))
    for name, type_ in totals.items():
        gl.declare(module, name, type_)
    gl.declare(module, FILLED, ir.IntegerType.get_signless(1))
    _define_gradients(module, train)
    _, types = training_inputs(module)
    with fn.new_function(module, "microbatch", types) as (_, arguments):
        signals, fresh = gradients(module, arguments)
        for name, value in zip(totals, _merge(totals, fresh), strict=True):
            gl.store(value, name)
        set_filled(True)
        fn.return_values(signals)
    with fn.new_function(module, "accumulator_get", []):
        held = [gl.load(name, type_) for name, type_ in totals.items()]
        fn.return_values([flatten(held, flat.element_type)])
    with fn.new_function(module, "accumulator_set", [flat]) as (_, (value,)):
        for name, part in zip(totals, unflatten(value, list(totals.values())), strict=True):
            gl.store(part, name)
        set_filled(True)
        fn.return_values([])
    _clear_at_end(module, "init")
    _clear_at_end(module, "state_set")


PASS = Pass("accumulate", "export microbatch: gradients added to the accumulator", apply)
