"""Dtypes: the words for them, conversion, and plain numbers that take a tensor's dtype."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.compiler.frontend.ops.registry import Call
from sexpgpu.compiler.frontend.ops.support.staged import describe, wrapped
from sexpgpu.diagnostics import Edit, Fix, Label, Span, did_you_mean, one_of
from sexpgpu.diagnostics.suggest import is_sure, of_another_library
from sexpgpu.runtime.dtypes import DTYPES, DType

if TYPE_CHECKING:
    from iree.compiler import ir

F32, I32, U32, U64, BOOL = (DTYPES[name] for name in ("f32", "i32", "u32", "u64", "bool"))

#: The largest finite number of each float dtype.
LARGEST = {"f64": math.inf, "f32": 3.4028234663852886e38, "bf16": 3.3895313892515355e38, "f16": 65504.0}


def dtype_word(call: Call, parameter: str, value: object, default: DType | None = None) -> DType:
    """The dtype a keyword (or a string) names; `default` for nil. E-TYPE-001 lists what there is."""
    if value is None and default is not None:
        return default
    name = value.name if isinstance(value, Keyword) else value
    if isinstance(name, str) and name.lstrip(":") in DTYPES:
        return DTYPES[name.lstrip(":")]
    shown = f"`:{value.name}`" if isinstance(value, Keyword) else describe(value)
    words = [f":{d}" for d in DTYPES]
    near = did_you_mean(f":{name}", words) if isinstance(name, str) else None
    call.fail("E-TYPE-001", f"{shown} is not a dtype", at=call.where(parameter), label="not a dtype",
              fix=Fix(f"the dtypes are {one_of(str(value), words)}",
                      (Edit(call.where(parameter), near),) if near else (), near is not None and _is_meant(name, near)))


def _is_meant(word: str, near: str) -> bool:
    """Whether `near` is a slip away from the word, or what another library's word says."""
    return is_sure(f":{word}", near) or of_another_library(f":{word}", [near]) is not None


def integer_range(dtype: DType) -> tuple[int, int]:
    bits = 8 * dtype.bytes
    return (0, (1 << bits) - 1) if dtype.kind == "unsigned" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def check_number(call: Call, number: int | float, dtype: DType, span: Span, other: Span | None = None) -> int | float:
    """`number` as one of `dtype`: E-TYPE-005 for a fraction among integers (the fix casts the tensor at `other`),
    E-TYPE-010 where it does not fit."""
    if dtype.kind == "bool":
        return bool(number)
    if dtype.is_float:
        if math.isfinite(number) and abs(number) > LARGEST[dtype.name]:
            call.fail("E-TYPE-010", f"{number!r} does not fit {dtype}, whose largest number is {LARGEST[dtype.name]:g}",
                      at=span, label=f"overflows {dtype}")
        return float(number)
    if isinstance(number, float):
        whole = math.isfinite(number) and number == int(number)
        fix: Fix | str | None = None
        if whole:
            fix = Fix(f"write the whole number `{int(number)}`", (Edit(span, str(int(number))),))
        elif other is not None:
            fix = Fix("cast the tensor: `(cast … :f32)`", wrapped(other, "(cast ", " :f32)"))
        call.fail("E-TYPE-005", f"`{call.op.name}` of a tensor of {dtype} and the float {number!r}", at=span,
                  label="a float",
                  secondary=() if other is None else (Label(other, f"a tensor of {dtype}"),), fix=fix)
    low, high = integer_range(dtype)
    if not low <= number <= high:
        call.fail("E-TYPE-010", f"{int(number)} does not fit {dtype}, which holds {low} to {high}", at=span,
                  label=f"outside of {dtype}")
    return int(number)


def convert(value: ir.Value, source: DType, target: DType) -> ir.Value:
    """Between any two dtypes, in the forms that IREE gets right (each is a finding of its own).

    A bool becomes a number by `select`: a converted `i1` that feeds a dot is negated under some flags. Small unsigned
    integers become floats through i32: directly, they are read as signed. An integer becomes bf16 through an f32 that
    is rounded to bf16 first: directly, the object asks for a function of a C library that is not there. Numbers become
    bools by a comparison.
    """
    if source is target:
        return value
    if source.kind == "bool":
        shape = hlo.shape_of(value)
        return hlo.select(value, hlo.splat(1, shape, target.mlir), hlo.splat(0, shape, target.mlir))
    if target.kind == "bool":
        return hlo.compare("NE", value, hlo.zeros_like(value))
    if source.name in ("u8", "u16") and target.is_float:
        return convert(hlo.convert(value, "i32"), I32, target)
    if target.name == "bf16" and source.is_integer:
        return hlo.convert(hlo.reduce_precision(hlo.convert(value, "f32"), 8, 7), "bf16")
    return hlo.convert(value, target.mlir)
