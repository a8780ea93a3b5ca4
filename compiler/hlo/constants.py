"""Constants, and what counts."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler.hlo.core import Dims, element_type, i64, make, shape_of, tensor_type

if TYPE_CHECKING:
    import numpy as np


def splat(number: int | float | bool, shape: Dims, element: ir.Type | str) -> ir.Value:
    """A constant tensor with one number everywhere; signed and unsigned integers wrap to the width."""
    type_ = tensor_type(shape, element)
    kind = type_.element_type
    if isinstance(kind, ir.IntegerType):
        number = int(number) & ((1 << kind.width) - 1)
        if number >> (kind.width - 1):   # the binding takes the bits as a signed number
            number -= 1 << kind.width
        scalar = ir.IntegerAttr.get(kind, number)
    else:
        scalar = ir.FloatAttr.get(kind, float(number))
    return make("stablehlo.constant", [type_], [], {"value": ir.DenseElementsAttr.get_splat(type_, scalar)}).result


def _float_text(number: float, kind: ir.Type) -> str:
    """Infinities and NaN have only a bit-pattern spelling in MLIR; the rest is the shortest that reads back."""
    if math.isfinite(number):
        text = repr(number)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    name = str(kind)
    if name == "bf16":   # the upper half of an f32
        return f"0x{struct.pack('>f', number)[:2].hex().upper()}"
    return f"0x{struct.pack({'f64': '>d', 'f32': '>f', 'f16': '>e'}[name], number).hex().upper()}"


def constant(array: np.ndarray, element: ir.Type | str) -> ir.Value:
    """A small constant tensor. Not for weights: those are made by `init`."""
    import numpy as np  # half of a check's time would be its import

    array = np.asarray(array)
    type_ = tensor_type(array.shape, element)
    if array.size == 1:
        return splat(array.reshape(()).item(), array.shape, type_.element_type)
    text = _nested(array, type_.element_type)
    return make("stablehlo.constant", [type_], [],
                {"value": ir.Attribute.parse(f"dense<{text}> : {type_}")}).result


def _nested(array: np.ndarray, kind: ir.Type) -> str:
    if array.ndim:
        return "[" + ", ".join(_nested(a, kind) for a in array) + "]"
    if isinstance(kind, ir.IntegerType):
        return ("true" if array else "false") if kind.width == 1 else str(int(array))
    return _float_text(float(array), kind)


def zeros_like(value: ir.Value) -> ir.Value:
    return splat(0, shape_of(value), element_type(value))


def iota(shape: Dims, dim: int, element: ir.Type | str) -> ir.Value:
    return make("stablehlo.iota", [tensor_type(shape, element)], [], {"iota_dimension": i64(dim)}).result
