"""State tensors become globals; exports `init`, `state_get` and `state_set`.

A global is called `state.<name>`. The gradient accumulator is none of the state: `init` and `state_set` mark it empty
(`accumulate`). `optimizer_init` and what `init.*` function nobody calls are removed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import globals as gl
from sexpgpu.compiler.passes import manifest as mf
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.random import stream_of
from sexpgpu.runtime.dtypes import DTYPES
from sexpgpu.runtime.layers import names_of

#: The key of the optimizer's state that holds the average of its parameter.
EMA = "ema"


def global_name(state: str) -> str:
    return f"state.{state}"


def state_rows(module: ir.Module, *roles: str) -> list[tuple[str, ir.Type]]:
    """Name and type of the state tensors with these roles (all without), in the manifest's order."""
    rows = mf.read(module).get("state") or []
    return [(str(r["name"]), hlo.tensor_type(r["shape"], DTYPES[r["dtype"]].mlir))
            for r in rows if not roles or r["role"] in roles]


def trainable(module: ir.Module) -> list[str]:
    """The parameters that get gradients, in the order the optimizer takes them."""
    return [str(p["name"]) for p in mf.read(module).get("parameters") or [] if p["trainable"]]


class Initialisers:
    """The first values of parameters and buffers. Random initialisers of one text are compiled once and called, each
    time with another stream; what is left, constants mostly, is inlined."""

    def __init__(self, module: ir.Module) -> None:
        self._module = module
        self._table = ir.DictAttr(module.operation.attributes["sexp.initialisers"])
        self._shared: dict[str, ir.Operation] = {}

    def value(self, name: str, type_: ir.Type, seed: ir.Value) -> ir.Value:
        symbol = ir.FlatSymbolRefAttr(self._table[name]).value
        func = fn.find(self._module, symbol)
        assert func is not None
        arguments = fn.argument_names(func) if fn.body(func).arguments else []
        given = {"seed": seed}
        shape = ir.RankedTensorType(type_).shape
        names, own = names_of(name, shape)
        if "stream" not in arguments:
            value = fn.inline(func, [given[a] for a in arguments])[0]
            lead = len(shape) - len(own)
            return hlo.broadcast_in_dim(value, shape, range(lead, len(shape))) if lead else value
        once = self._once(func, symbol)
        if len(names) > 1 or len(own) < len(shape):
            return _layers(once, arguments, seed, names, type_)
        given["stream"] = hlo.splat(stream_of(symbol.removeprefix("init.")), [1], "ui64")
        return fn.call(once, [given[a] for a in arguments])[0]

    def _once(self, func: ir.Operation, symbol: str) -> ir.Operation:
        text = func.get_asm(use_local_scope=True).replace(symbol, "", 1)
        kept = self._shared.setdefault(text, func)
        kept.attributes["sexp.role"] = ir.StringAttr.get("initialiser")
        kept.attributes["noinline"] = ir.UnitAttr.get()
        return kept


def _layers(func: ir.Operation, arguments: list[str], seed: ir.Value, names: list[str], type_: ir.Type) -> ir.Value:
    """A stack of first values: each layer has the stream of its own name, so that it begins as it would alone."""
    shape, own = ir.RankedTensorType(type_).shape, hlo.shape_of(fn.terminator(func).operands[0])
    streams = hlo.constant(np.array([stream_of(name) for name in names], np.uint64), "ui64")
    zero = hlo.splat(0, [], "i32")

    def step(index: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        given = {"seed": seed, "stream": hlo.dynamic_slice(streams, [index], [1])}
        value = fn.call(func, [given[a] for a in arguments])[0]
        return [hlo.dynamic_update_slice(carried[0], hlo.reshape(value, [1, *own]), [index, *[zero] * len(own)])]

    empty = hlo.splat(0, [len(names), *own], hlo.element_type(fn.terminator(func).operands[0]))
    return hlo.reshape(hlo.counted_loop(len(names), [empty], step)[0], shape)


def apply(module: ir.Module, options: NoOptions) -> None:
    rows = state_rows(module)
    for name, type_ in reversed(rows):
        gl.declare(module, global_name(name), type_)
    values: dict[str, ir.Value] = {}
    initialisers = Initialisers(module) if "sexp.initialisers" in module.operation.attributes else None
    with fn.new_function(module, "init", [hlo.tensor_type([], "i64")]) as (_, (seed,)):
        for name, type_ in state_rows(module, "parameter", "buffer"):
            assert initialisers is not None, f"no initialiser of {name}"
            values[name] = initialisers.value(name, type_, seed)
        if (optimizer := fn.find(module, "optimizer_init")) is not None:
            states = fn.inline(optimizer, [values[n] for n in trainable(module)])
            values.update(zip((n for n, _ in state_rows(module, "optimizer")), states, strict=True))
        for name, _type in rows:
            gl.store(values[name], global_name(name))
        fn.return_values([])
    with fn.new_function(module, "state_get", []):
        fn.return_values([gl.load(global_name(n), t) for n, t in rows])
    with fn.new_function(module, "state_set", [t for _, t in rows]) as (_, given):
        for (name, _type), value in zip(rows, given, strict=True):
            gl.store(value, global_name(name))
        fn.return_values([])
    for func in fn.by_role(module, "init", "optimizer_init"):
        func.erase()


PASS = Pass("state", "globals for the state; exports init, state_get, state_set", apply)
