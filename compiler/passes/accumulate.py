"""Export `microbatch`: gradients of one microbatch, added to one flat buffer.

The buffer holds every gradient in the optimizer's order, flattened, in f32 (f64 when a parameter is f64). It exists
from the first `microbatch` on: a flag on the host, `accumulator.filled`, says whether the next microbatch adds or sets,
so nothing is cleared, and a run of fused steps never allocates it. Exports `accumulator_get` and `accumulator_set`
let ranks sum it.
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

BUFFER = "accumulator"
FILLED = "accumulator.filled"


def key_type() -> ir.Type:
    return hlo.tensor_type([4], "i64")


def hypers_of(module: ir.Module) -> ir.Type:
    return hyper_type(len(mf.read(module).get("schedules") or []))


def buffer_type(module: ir.Module) -> ir.RankedTensorType:
    types = dict(state_rows(module, "parameter"))
    chosen = [ir.RankedTensorType(types[n]) for n in trainable(module)]
    wide = any(str(t.element_type) == "f64" for t in chosen)
    return hlo.tensor_type([sum(_numel(t) for t in chosen)], "f64" if wide else "f32")


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
        values.append(hlo.reshape(hlo.slice_(flat, [start], [end]), type_.shape))
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


def _merge(total: ir.RankedTensorType, fresh: ir.Value) -> ir.Value:
    """`fresh`, plus what the buffer holds if it holds anything."""
    filled = gl.load(FILLED, ir.IntegerType.get_signless(1))
    choice = hlo.make("scf.if", [total], [filled], regions=2)
    with ir.InsertionPoint(ir.Block.create_at_start(choice.regions[0], [])):
        hlo.make("scf.yield", [], [hlo.add(gl.load(BUFFER, total), fresh)])
    with ir.InsertionPoint(ir.Block.create_at_start(choice.regions[1], [])):
        hlo.make("scf.yield", [], [fresh])
    return choice.result


def _clear_at_end(module: ir.Module, name: str) -> None:
    func = fn.find(module, name)
    if func is not None:
        with ir.InsertionPoint(fn.terminator(func)), func.location:
            set_filled(False)


def apply(module: ir.Module, options: NoOptions) -> None:
    (train,) = fn.by_role(module, "train")
    total = buffer_type(module)
    gl.declare(module, BUFFER, total)
    gl.declare(module, FILLED, ir.IntegerType.get_signless(1))
    names, types = training_inputs(module)
    with fn.new_function(module, "microbatch", types) as (_, arguments):
        given = dict(zip(names, arguments, strict=True))
        results = fn.inline_named(train, training_arguments(module, given))
        fresh = flatten([results[f"grad:{n}"] for n in trainable(module)], total.element_type)
        gl.store(_merge(total, fresh), BUFFER)
        set_filled(True)
        store_buffers(results)
        fn.return_values([results[n] for n in ("metrics", "counters") if n in results])
    with fn.new_function(module, "accumulator_get", []):
        fn.return_values([gl.load(BUFFER, total)])
    with fn.new_function(module, "accumulator_set", [total]) as (_, (value,)):
        gl.store(value, BUFFER)
        set_filled(True)
        fn.return_values([])
    _clear_at_end(module, "init")
    _clear_at_end(module, "state_set")


PASS = Pass("accumulate", "export microbatch: gradients into one flat buffer", apply)
