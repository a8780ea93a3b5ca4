"""Export `microbatch`: forward and backward, the gradients added to the accumulator.

A training step is one `microbatch` or several and then one `update`; there is no second way. (A step in one call, with
gradients that never leave it, was measured as fast as the two, and doubled what is compiled.)

The accumulator is one tensor a trainable parameter, of its shape and dtype (f32 for a narrower one): slices of one flat
buffer would carry their offsets into the update's kernels and make each a kernel of its own. A flag,
`accumulator.filled`, says whether the next microbatch adds or sets, so nothing is ever cleared. It is read on the
device: a branch on the host makes IREE lose track of the gradients that leave it, and their memory is never freed
(`tests/py/runtime/test_memory.py`). Exports
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
from sexpgpu.compiler.passes.autodiff.scaling import GOOD, SCALE
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.parameters import hyper_type
from sexpgpu.compiler.passes.state import global_name, state_rows, trainable

FILLED = "accumulator.filled"


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


def _filled() -> ir.Value:
    """The flag as a scalar tensor; by way of an i32, for a tensor of i1 is stored in bytes."""
    flag = gl.load(FILLED, ir.IntegerType.get_signless(1))
    number = hlo.make("arith.extui", [ir.IntegerType.get_signless(32)], [flag]).result
    held = hlo.make("tensor.from_elements", [hlo.tensor_type([], "i32")], [number]).result
    return hlo.compare("NE", held, hlo.splat(0, [], "i32"))


def training_arguments(module: ir.Module, given: Mapping[str, ir.Value]) -> dict[str, ir.Value]:
    """What `@train` may take: the export's arguments, and the state read from its globals."""
    values = dict(given)
    for kind, prefix in (("parameter", "param"), ("buffer", "buffer")):
        for name, type_ in state_rows(module, kind):
            values[f"{prefix}:{name}"] = gl.load(global_name(name), type_)
    return values


def store_buffers(module: ir.Module, results: Mapping[str, ir.Value]) -> None:
    """Where updates can be skipped, statistics of a batch whose loss is no number are left out as well: they would stay
    in the state that the skipped update leaves alone. A dynamic loss scale is halved by just such a batch."""
    guard = hlo.is_finite(results["loss"]) if mf.read(module).get("skips") else None
    for name, value in results.items():
        if not name.startswith("buffer:"):
            continue
        own = name.removeprefix("buffer:")
        held = global_name(own)
        if guard is not None and own not in (SCALE, GOOD):
            type_ = hlo.type_of(value)
            value = hlo.select(hlo.broadcast_scalar(guard, type_.shape), value, gl.load(held, type_))
        gl.store(value, held)


def training_inputs(train: ir.Operation, module: ir.Module) -> tuple[list[str], list[ir.Type]]:
    """Names and types of an export's arguments: the fields, `key`, `hyper`."""
    named = zip(fn.argument_names(train), fn.body(train).arguments, strict=True)
    fields = [(n, v.type) for n, v in named if n.startswith("field:")]
    return ([*(n for n, _ in fields), "key", "hyper"], [*(t for _, t in fields), key_type(), hypers_of(module)])


def _merge(filled: ir.Value, held: Sequence[ir.Value], fresh: Sequence[ir.Value]) -> list[ir.Value]:
    """`fresh`, plus what the accumulator holds if it holds anything."""
    return [hlo.select(hlo.broadcast_scalar(filled, hlo.shape_of(new)), hlo.add(old, new), new)
            for old, new in zip(held, fresh, strict=True)]


def _start_at_end(module: ir.Module, name: str, totals: Mapping[str, ir.RankedTensorType]) -> None:
    """The accumulator exists from here on, empty: a microbatch reads it before it looks at the flag."""
    func = fn.find(module, name)
    if func is not None:
        with ir.InsertionPoint(fn.terminator(func)), func.location:
            for held, type_ in totals.items():
                gl.store(hlo.splat(0, type_.shape, type_.element_type), held)
            set_filled(False)


def apply(module: ir.Module, options: NoOptions) -> None:
    (train,) = fn.by_role(module, "train")
    totals = accumulator(module)
    flat = flat_type(list(totals.values()))
    for name, type_ in totals.items():
        gl.declare(module, name, type_)
    gl.declare(module, FILLED, ir.IntegerType.get_signless(1))
    names, types = training_inputs(train, module)
    with fn.new_function(module, "microbatch", types) as (_, arguments):
        # Read first, so that whatever makes a gradient can add it by itself.
        filled, held = _filled(), [gl.load(name, type_) for name, type_ in totals.items()]
        results = fn.inline_named(train, training_arguments(module, dict(zip(names, arguments, strict=True))))
        store_buffers(module, results)
        fresh = [hlo.convert(results[f"grad:{n}"], t.element_type)
                 for n, t in zip(trainable(module), totals.values(), strict=True)]
        for name, value in zip(totals, _merge(filled, held, fresh), strict=True):
            gl.store(value, name)
        set_filled(True)
        fn.return_values([results[n] for n in ("metrics", "counters") if n in results])
    with fn.new_function(module, "accumulator_get", []):
        held = [gl.load(name, type_) for name, type_ in totals.items()]
        fn.return_values([flatten(held, flat.element_type)])
    with fn.new_function(module, "accumulator_set", [flat]) as (_, (value,)):
        for name, part in zip(totals, unflatten(value, list(totals.values())), strict=True):
            gl.store(part, name)
        set_filled(True)
        fn.return_values([])
    _start_at_end(module, "init", totals)
    _start_at_end(module, "state_set", totals)
    train.erase()


PASS = Pass("accumulate", "export microbatch: gradients added to the accumulator", apply)
