"""Values that are made of numbers alone, computed: what a mask is can be asked of its elements."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes.reading import dims_of

if TYPE_CHECKING:
    import numpy as np

#: Elements of a value that is still computed here.
MOST = 1 << 24
_COMPARE = {"GE": "greater_equal", "GT": "greater", "LE": "less_equal", "LT": "less", "EQ": "equal", "NE": "not_equal"}
_BINARY = {"stablehlo.add": "add", "stablehlo.subtract": "subtract", "stablehlo.and": "bitwise_and",
           "stablehlo.or": "bitwise_or"}


def number_of(value: ir.Value) -> float | None:
    """The number that a constant has everywhere."""
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    while op is not None and op.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
        value = op.operands[0]
        op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if op is None or op.name != "stablehlo.constant":
        return None
    dense = ir.DenseElementsAttr(op.attributes["value"])
    return float(dense.get_splat_value().value) if dense.is_splat else None


def known(value: ir.Value) -> np.ndarray | None:
    """The elements of a value of integers or booleans that depends on no argument; None for any other."""
    import numpy as np  # half of a check's time would be its import

    if isinstance(value.owner, ir.Block) or not isinstance(hlo.element_type(value), ir.IntegerType):
        return None
    shape, op = hlo.shape_of(value), value.owner.operation
    if prod(shape) > MOST:
        return None
    if op.name == "stablehlo.iota":
        axis = ir.IntegerAttr(op.attributes["iota_dimension"]).value
        along = [-1 if i == axis else 1 for i in range(len(shape))]
        return np.broadcast_to(np.arange(shape[axis]).reshape(along), shape)
    if op.name == "stablehlo.constant":
        dense = ir.DenseElementsAttr(op.attributes["value"])
        return np.full(shape, dense.get_splat_value().value) if dense.is_splat else np.array(dense).reshape(shape)
    parts = [p for v in op.operands if (p := known(v)) is not None]
    if not parts or len(parts) != len(op.operands):
        return None
    if op.name == "stablehlo.reshape":
        return parts[0].reshape(shape)
    if op.name == "stablehlo.broadcast_in_dim":
        dims = dims_of(op, "broadcast_dimensions")
        sizes = dict(zip(dims, parts[0].shape, strict=True))
        return np.broadcast_to(parts[0].reshape([sizes.get(i, 1) for i in range(len(shape))]), shape)
    if op.name == "stablehlo.compare":
        direction = str(op.attributes["comparison_direction"]).split()[-1].rstrip(">")
        return getattr(np, _COMPARE[direction])(*parts)
    return getattr(np, _BINARY[op.name])(*parts) if op.name in _BINARY else None
