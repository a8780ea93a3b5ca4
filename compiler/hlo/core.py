"""Types, attributes and operations by name: what every group of operations is made with."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

from iree.compiler import ir

# The wheel has no Python module for these dialects; the bindings would search the import path for one each time they
# hand out an operation (0.1 ms each, most of the time of a pass). An empty module ends the search.
for _dialect in ("stablehlo", "chlo", "util"):
    sys.modules.setdefault(f"iree.compiler.dialects.{_dialect}", ModuleType(f"iree.compiler.dialects.{_dialect}"))

Dims = Sequence[int]


def type_of(value: ir.Value) -> ir.RankedTensorType:
    return ir.RankedTensorType(value.type)


def shape_of(value: ir.Value) -> tuple[int, ...]:
    return tuple(type_of(value).shape)


def element_type(value: ir.Value) -> ir.Type:
    return type_of(value).element_type


def tensor_type(shape: Dims, element: ir.Type | str) -> ir.RankedTensorType:
    """`element` is a type, or its text (`"f32"`, `"i64"`, `"ui8"`, `"i1"`)."""
    return ir.RankedTensorType.get(list(shape), ir.Type.parse(element) if isinstance(element, str) else element)


def i64_array(values: Dims) -> ir.Attribute:
    return ir.DenseI64ArrayAttr.get([int(v) for v in values])


def i64(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def make(name: str, results: Sequence[ir.Type], operands: Sequence[ir.Value],
         attributes: dict[str, ir.Attribute] | None = None, regions: int = 0) -> ir.Operation:
    """Any operation by name, verified when its module is."""
    return ir.Operation.create(name, results=list(results), operands=list(operands), attributes=attributes or {},
                               regions=regions)


def block(region: ir.Region, types: Sequence[ir.Type]) -> ir.Block:
    return ir.Block.create_at_start(region, list(types), [ir.Location.current] * len(types))


def return_(values: Sequence[ir.Value]) -> None:
    make("stablehlo.return", [], list(values))


#: The identity of each reduction a kind stands for, as a number of the element type.
