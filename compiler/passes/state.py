"""State tensors become globals; exports `init`, `optimizer_restart`, `state_get` and `state_set`.

A global is called `state.<name>`. The gradient accumulator is none of the state: `init` and `state_set` mark it empty
(`accumulate`). `optimizer_init` and the `init.*` functions are removed: they live on inside `init`.
"""

from __future__ import annotations

from collections import defaultdict
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
    """The first values of parameters and buffers.

    Random initialisers of one text differ in their stream only: they are drawn by one loop over the streams, so that
    a deep model's `init` is as short as a shallow one's. What is left, constants mostly, is inlined.
    """

    def __init__(self, module: ir.Module, seed: ir.Value) -> None:
        self._module, self._seed = module, seed
        self._table = ir.DictAttr(module.operation.attributes["sexp.initialisers"])

    def values(self, rows: Sequence[tuple[str, ir.Type]]) -> dict[str, ir.Value]:
        """The first value of each row, a name and a type; a stack of layers has the streams of its layers' names, so
        that each begins as it would alone."""
        found: dict[str, ir.Value] = {}
        drawn: dict[str, list[tuple[str, ir.RankedTensorType, list[str]]]] = defaultdict(list)
        functions: dict[str, ir.Operation] = {}
        for name, type_ in rows:
            func = self._function(name)
            shape = ir.RankedTensorType(type_).shape
            names, own = names_of(name, shape)
            if "stream" in _arguments(func):
                text = func.get_asm(use_local_scope=True).replace(fn.symbol(func), "", 1)
                functions.setdefault(text, func)
                alone = len(names) == 1 and len(own) == len(shape)
                streams = [fn.symbol(func).removeprefix("init.")] if alone else names
                drawn[text].append((name, ir.RankedTensorType(type_), streams))
                continue
            value = fn.inline(func, [self._seed] * len(_arguments(func)))[0]
            lead = len(shape) - len(own)
            found[name] = hlo.broadcast_in_dim(value, shape, range(lead, len(shape))) if lead else value
        for text, members in drawn.items():
            found.update(self._draw(functions[text], members))
        return found

    def _function(self, name: str) -> ir.Operation:
        func = fn.find(self._module, ir.FlatSymbolRefAttr(self._table[name]).value)
        assert func is not None, f"no initialiser of {name}"
        return func

    def _draw(self, func: ir.Operation, members: Sequence[tuple[str, ir.RankedTensorType, list[str]]]
              ) -> dict[str, ir.Value]:
        numbers = np.array([stream_of(name) for _, _, names in members for name in names], np.uint64)
        streams, count = hlo.constant(numbers, "ui64"), len(numbers)
        if count == 1:
            (name, type_, _), = members
            return {name: hlo.reshape(self._one(func, streams), type_.shape)}
        own = hlo.type_of(fn.terminator(func).operands[0])
        zeros = [hlo.splat(0, [], "i32")] * own.rank

        def step(index: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
            value = self._one(func, hlo.dynamic_slice(streams, [index], [1]))
            return [hlo.dynamic_update_slice(carried[0], hlo.reshape(value, [1, *own.shape]), [index, *zeros])]

        empty = hlo.splat(0, [count, *own.shape], own.element_type)
        stack = hlo.counted_loop(count, [empty], step)[0]
        found: dict[str, ir.Value] = {}
        start = 0
        for name, type_, names in members:
            stop = start + len(names)
            part = hlo.slice_(stack, [start] + [0] * own.rank, [stop, *own.shape])
            found[name] = hlo.reshape(part, type_.shape)
            start = stop
        return found

    def _one(self, func: ir.Operation, stream: ir.Value) -> ir.Value:
        given = {"seed": self._seed, "stream": stream}
        return fn.inline(func, [given[a] for a in _arguments(func)])[0]


def _arguments(func: ir.Operation) -> list[str]:
    return fn.argument_names(func) if fn.body(func).arguments else []


def apply(module: ir.Module, options: NoOptions) -> None:
    rows = state_rows(module)
    for name, type_ in reversed(rows):
        gl.declare(module, global_name(name), type_)
    values: dict[str, ir.Value] = {}
    with fn.new_function(module, "init", [hlo.tensor_type([], "i64")]) as (_, (seed,)):
        if declared := state_rows(module, "parameter", "buffer"):
            values.update(Initialisers(module, seed).values(declared))
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
    if (states := state_rows(module, "optimizer")) and optimizer is not None:
        types = dict(rows)
        with fn.new_function(module, "optimizer_restart", []):
            first = fn.inline(optimizer, [gl.load(global_name(n), types[n]) for n in trainable(module)])
            for (name, _type), value in zip(states, first, strict=True):
                gl.store(value, global_name(name))
            fn.return_values([])
    for func in fn.by_role(module, "init", "optimizer_init"):
        func.erase()


PASS = Pass("state", "globals for the state; exports init, optimizer_restart, state_get, state_set", apply)
