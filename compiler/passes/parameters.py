"""Markers of state become arguments: afterwards every role function is pure.

`param`, `buffer` → arguments `param:<name>`, `buffer:<name>`; `update_buffer` → a result `buffer:<name>` (the last one
in program order; a `buffer` marker after an update reads the new value); `schedule` → a number out of the argument
`hyper`. The manifest gets `parameters` and `state`, the module `sexp.initialisers`: state name → init function.
Evaluations and exports change no state: their `update_buffer`s are dropped.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import manifest as mf
from sexpgpu.compiler.passes.base import NoOptions, Pass


def fact(op: ir.Operation, key: str) -> ir.Attribute:
    return ir.DictAttr(op.attributes["backend_config"])[key]


def text_fact(op: ir.Operation, key: str) -> str:
    return ir.StringAttr(fact(op, key)).value


class _Table:
    """What the markers said about each name, in order of the first marker."""

    def __init__(self) -> None:
        self.parameters: dict[str, mf.Json] = {}
        self.buffers: dict[str, mf.Json] = {}
        self.initialisers: dict[str, ir.Attribute] = {}

    def note(self, op: ir.Operation, kind: str, in_training: bool) -> None:
        name = text_fact(op, "name")
        self.initialisers.setdefault(name, ir.ArrayAttr(op.attributes["called_computations"])[0])
        row = mf.describe(name, op.results[0].type)
        if kind == "buffer":
            self.buffers.setdefault(name, row)
        else:
            # What only an evaluation reads gets no gradient, so it does not train.
            trainable = ir.BoolAttr(fact(op, "trainable")).value and in_training
            decay = ir.BoolAttr(fact(op, "decay")).value
            self.parameters.setdefault(name, row | {"trainable": trainable, "decay": decay})


def _lower(func: ir.Operation, table: _Table, schedules: list[str]) -> None:
    training = fn.role(func) == "train"
    buffers: dict[str, ir.Value] = {}
    updated: dict[str, ir.Value] = {}
    hypers: dict[str, ir.Value] = {}
    for op in fn.walk(fn.body(func)):
        match hlo.marker_kind(op):
            case "param":
                table.note(op, "param", training)
                new = fn.argument(func, f"param:{text_fact(op, 'name')}", op.results[0].type)
            case "buffer":
                table.note(op, "buffer", training)
                name = text_fact(op, "name")
                new = buffers.setdefault(name, fn.argument(func, f"buffer:{name}", op.results[0].type))
            case "update_buffer":
                assert op.parent.name == "func.func", "a buffer is updated at the top level of its function"
                if training:
                    buffers[text_fact(op, "name")] = updated[text_fact(op, "name")] = op.operands[0]
                op.erase()
                continue
            case "schedule":
                name = text_fact(op, "name")
                if name not in hypers:
                    hypers[name] = schedule_value(func, schedules.index(name), len(schedules))
                new = hypers[name]
            case _:
                continue
        fn.replace(op, new)
    fn.add_results(func, {f"buffer:{name}": value for name, value in updated.items()})


def hyper_type(count: int) -> ir.Type:
    """The argument that holds every schedule's value; never of size 0."""
    return hlo.tensor_type([max(1, count)], "f32")


def schedule_value(func: ir.Operation, index: int, count: int) -> ir.Value:
    """Schedule number `index` as a scalar, read at the function's start, where it dominates every use."""
    hyper = fn.argument(func, "hyper", hyper_type(count))
    with ir.InsertionPoint.at_block_begin(fn.body(func)), func.location:
        return hlo.reshape(hlo.slice_(hyper, [index], [index + 1]), [])


def _optimizer_state(module: ir.Module, manifest: dict[str, mf.Json]) -> list[mf.Json]:
    """Rows for the results of `@optimizer_init`: named by its `sexp.states`, else by the draft, else numbered."""
    init = fn.find(module, "optimizer_init")
    if init is None:
        return []
    types = [v.type for v in fn.terminator(init).operands]
    drafted = [str(r["name"]) for r in manifest.get("state") or [] if r.get("role") == "optimizer"]
    if "sexp.states" in init.attributes:
        names = [ir.StringAttr(a).value for a in ir.ArrayAttr(init.attributes["sexp.states"])]
    elif len(drafted) == len(types):
        names = drafted
    else:
        names = [f"optimizer.{i}" for i in range(len(types))]
    return [mf.describe(n, t) | {"role": "optimizer"} for n, t in zip(names, types, strict=True)]


def apply(module: ir.Module, options: NoOptions) -> None:
    manifest = mf.read(module)
    schedules = mf.names(manifest.get("schedules"))
    table = _Table()
    for func in fn.by_role(module, "train", "evaluate", "export"):
        _lower(func, table, schedules)
    manifest["parameters"] = list(table.parameters.values())
    state = [{k: row[k] for k in ("name", "shape", "dtype")} | {"role": kind}
             for kind, rows in (("parameter", table.parameters), ("buffer", table.buffers)) for row in rows.values()]
    manifest["state"] = [*state, *_optimizer_state(module, manifest)]
    module.operation.attributes["sexp.initialisers"] = ir.DictAttr.get(table.initialisers)
    mf.write(module, manifest)


PASS = Pass("parameters", "parameters, buffers and schedules become arguments; the state table", apply,
            lowers=("param", "buffer", "update_buffer", "schedule"))
