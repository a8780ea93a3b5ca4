"""The draft of the manifest that travels with the module, as JSON text in the module attribute `sexp.manifest`.

Also the types' short way to it: an element type's name in the language.
"""

from __future__ import annotations

import json
from typing import TypeAlias

from iree.compiler import ir
from sexpgpu.runtime.dtypes import DTYPES

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_BY_MLIR = {d.mlir: d.name for d in DTYPES.values()}


def read(module: ir.Module) -> dict[str, Json]:
    """An empty manifest where the module has none: passes run alone on any `.mlir`."""
    attributes = module.operation.attributes
    return json.loads(ir.StringAttr(attributes["sexp.manifest"]).value) if "sexp.manifest" in attributes else {}


def write(module: ir.Module, manifest: dict[str, Json]) -> None:
    module.operation.attributes["sexp.manifest"] = ir.StringAttr.get(json.dumps(manifest, ensure_ascii=False))


def names(entries: Json) -> list[str]:
    """The `name` of every entry of one of the manifest's tables."""
    return [str(e["name"]) for e in entries or []]


def dtype_name(element: ir.Type) -> str:
    """`f32`, `u8`, `bool`; a signless integer is a signed one."""
    return _BY_MLIR[str(element)]


def known_dtype(element: ir.Type) -> str | None:
    """As `dtype_name`, None for what the language has no name for."""
    return _BY_MLIR.get(str(element))


def describe(name: str, type_: ir.Type) -> dict[str, Json]:
    """A row of the parameter or state table."""
    tensor = ir.RankedTensorType(type_)
    return {"name": name, "shape": list(tensor.shape), "dtype": dtype_name(tensor.element_type)}
