"""What is left becomes the artifact: `ctx_<i>` exports, and the manifest as reflection of `init`.

Afterwards the module holds only what IREE knows: every attribute `sexp.*` is gone.
"""

from __future__ import annotations

import json

from iree.compiler import ir
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import manifest as mf
from sexpgpu.compiler.passes.base import NoOptions, Pass

REFLECTION_KEY = "sexpgpu.manifest"


def _export_ctx(module: ir.Module, manifest: dict[str, mf.Json]) -> None:
    schedules = {str(s["name"]): s for s in manifest.get("schedules") or []}
    for i, func in enumerate(fn.by_role(module, "ctx")):
        name, export = fn.symbol(func).removeprefix("ctx."), f"ctx_{i}"
        func.attributes["sym_name"] = ir.StringAttr.get(export)
        func.attributes["sym_visibility"] = ir.StringAttr.get("public")
        index = isinstance(fn.terminator(func).operands[0].type, ir.IntegerType)
        if index:
            manifest["curriculum"] = export
        else:
            schedules[name]["export"] = export


def apply(module: ir.Module, options: NoOptions) -> None:
    manifest = mf.read(module)
    _export_ctx(module, manifest)
    init = fn.find(module, "init")
    assert init is not None
    text = json.dumps(manifest, ensure_ascii=False, separators=(",", ":"))
    init.attributes["iree.reflection"] = ir.DictAttr.get({REFLECTION_KEY: ir.StringAttr.get(text)})
    for op in (module.operation, *fn.functions(module)):
        for name in [a for a in op.attributes if a.startswith("sexp.")]:
            del op.attributes[name]


PASS = Pass("artifact", "exports ctx_<i>; the manifest becomes reflection", apply)
