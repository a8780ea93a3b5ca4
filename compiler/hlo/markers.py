"""Random bits, and the operations of our own that passes lower."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from sexpgpu.compiler.hlo.core import Dims, make, tensor_type


def rng_bits(state: ir.Value, shape: Dims, element: str = "ui32") -> ir.Value:
    """Threefry bits: `state` is `tensor<2xui64>` (key, counter). The advanced state is dropped: keys are per site."""
    op = make("stablehlo.rng_bit_generator", [state.type, tensor_type(shape, element)], [state],
              {"rng_algorithm": ir.Attribute.parse("#stablehlo<rng_algorithm THREE_FRY>")})
    return op.results[1]


def marker(kind: str, operands: Sequence[ir.Value], results: Sequence[ir.Type],
           config: dict[str, ir.Attribute] | None = None, called: Sequence[str] = ()) -> ir.Operation:
    """What the language adds to StableHLO: a side-effecting `custom_call @sexp.<kind>` with a dictionary of facts."""
    return make("stablehlo.custom_call", results, operands, {
        "call_target_name": ir.StringAttr.get(f"sexp.{kind}"),
        "has_side_effect": ir.BoolAttr.get(True),
        "api_version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4),
        "backend_config": ir.DictAttr.get(config or {}),
        "called_computations": ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(name) for name in called]),
    })


def marker_kind(op: ir.Operation | ir.OpView) -> str | None:
    """`"param"` for a `custom_call @sexp.param`; None for any other operation."""
    if op.operation.name != "stablehlo.custom_call":
        return None
    target = ir.StringAttr(op.attributes["call_target_name"]).value
    return target[5:] if target.startswith("sexp.") else None
