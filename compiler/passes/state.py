"""State tensors become globals; exports `init`, `state_get` and `state_set`.

A global is called `state.<name>`. The gradient accumulator is none of the state: `init` and `state_set` mark it empty
(`accumulate`). The functions `init.*` and `optimizer_init` are inlined and removed.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import globals as gl
from sexpgpu.compiler.passes import manifest as mf
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.runtime.dtypes import DTYPES


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


def _initial(module: ir.Module, name: str, seed: ir.Value) -> ir.Value:
    table = ir.DictAttr(module.operation.attributes["sexp.initialisers"])
    func = fn.find(module, ir.FlatSymbolRefAttr(table[name]).value)
    assert func is not None
    return fn.inline(func, [seed] * len(fn.body(func).arguments))[0]


def apply(module: ir.Module, options: NoOptions) -> None:
    rows = state_rows(module)
    for name, type_ in reversed(rows):
        gl.declare(module, global_name(name), type_)
    values: dict[str, ir.Value] = {}
    with fn.new_function(module, "init", [hlo.tensor_type([], "i64")]) as (_, (seed,)):
        for name, _type in state_rows(module, "parameter", "buffer"):
            values[name] = _initial(module, name, seed)
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
