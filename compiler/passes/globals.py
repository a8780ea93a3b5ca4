"""State on the device: `util.global`s, one tensor each, and the operations on them.

Globals, not donated arguments: donation is silently wrong in IREE where anything reads the old value after the update.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler.hlo import make


def declare(module: ir.Module, name: str, type_: ir.Type) -> None:
    """A mutable global without a first value, at the module's start; `init` or `state_set` gives it one."""
    with ir.InsertionPoint.at_block_begin(module.body):
        make("util.global", [], [], {
            "sym_name": ir.StringAttr.get(name), "sym_visibility": ir.StringAttr.get("private"),
            "type": ir.TypeAttr.get(type_), "is_mutable": ir.UnitAttr.get(),
        })


def type_of(module: ir.Module, name: str) -> ir.Type:
    for op in module.body.operations:
        if op.operation.name == "util.global" and ir.StringAttr(op.attributes["sym_name"]).value == name:
            return ir.TypeAttr(op.attributes["type"]).value
    raise AssertionError(f"no global @{name}")


def load(name: str, type_: ir.Type) -> ir.Value:
    return make("util.global.load", [type_], [], {"global": ir.FlatSymbolRefAttr.get(name)}).result


def store(value: ir.Value, name: str) -> None:
    make("util.global.store", [], [value], {"global": ir.FlatSymbolRefAttr.get(name)})
