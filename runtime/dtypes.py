"""The element types of the language, one table: name, NumPy type, MLIR type, bytes.

Every layer takes its dtypes from here. Imports nothing heavy: NumPy types are named, not imported.
"""

from __future__ import annotations

from sexpgpu.diagnostics.record import record


@record
class DType:
    """`numpy` is a NumPy dtype name (bf16 travels as `uint16` bits there); `mlir` is the element type's text."""

    name: str
    numpy: str
    mlir: str
    bytes: int
    kind: str  # "float", "signed", "unsigned" or "bool"

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("signed", "unsigned")

    def __str__(self) -> str:
        return self.name


DTYPES: dict[str, DType] = {
    d.name: d
    for d in (
        DType("f32", "float32", "f32", 4, "float"),
        DType("bf16", "uint16", "bf16", 2, "float"),
        DType("f16", "float16", "f16", 2, "float"),
        DType("f64", "float64", "f64", 8, "float"),
        DType("i8", "int8", "i8", 1, "signed"),
        DType("i16", "int16", "i16", 2, "signed"),
        DType("i32", "int32", "i32", 4, "signed"),
        DType("i64", "int64", "i64", 8, "signed"),
        DType("u8", "uint8", "ui8", 1, "unsigned"),
        DType("u16", "uint16", "ui16", 2, "unsigned"),
        DType("u32", "uint32", "ui32", 4, "unsigned"),
        DType("u64", "uint64", "ui64", 8, "unsigned"),
        DType("bool", "bool", "i1", 1, "bool"),
    )
}
