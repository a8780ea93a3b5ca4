"""Dtypes: conversion, and what the compiler knows about a tensor's shape."""

from __future__ import annotations

import math

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.axes import axis_of
from sexpgpu.compiler.frontend.ops.support.dtype import check_number, convert, dtype_word
from sexpgpu.compiler.frontend.ops.support.staged import give, is_number, require_graph, tensor
from sexpgpu.compiler.frontend.values import Dim, Tensor

GROUP = "type"
SHAPE_GROUP = "shape"
KNOWN = "none: it is known at compile time"


@op("cast", "x dtype", group=GROUP, rule="a -> b",
    doc="To another dtype: fractions are cut off towards zero, booleans are 0 and 1, numbers are true where not 0.")
def cast(call: Call, x: object, dtype: object) -> Tensor:
    kind = dtype_word(call, "dtype", dtype)
    if is_number(x):
        require_graph(call)
        number = int(x) if kind.is_integer else x
        return give(call, hlo.splat(check_number(call, number, kind, call.where("x")), [], kind.mlir), kind, ())
    x = tensor(call, "x", x)
    return give(call, convert(x.value, x.dtype, kind), kind, x.shape)


@op("bitcast", "x dtype", group=GROUP, rule="a -> b of as many bits", grad="none: bits have none",
    doc="The same bits read as another dtype of the same width.")
def bitcast(call: Call, x: object, dtype: object) -> Tensor:
    x, kind = tensor(call, "x", x), dtype_word(call, "dtype", dtype)
    if "bool" in (x.dtype.kind, kind.kind) or x.dtype.bytes != kind.bytes:
        call.fail("E-TYPE-017", f"the bits of {x.dtype} as {kind}", at=call.where("dtype"),
                  label=f"not as wide as {x.dtype}", fix="`cast` converts values")
    shape = [int(d) for d in x.shape]
    value = x.value if kind is x.dtype else hlo.bitcast_convert(x.value, shape, kind.mlir)
    return give(call, value, kind, x.shape)


@op("shape", "x", group=SHAPE_GROUP, grad=KNOWN, doc="The sizes of a tensor's axes, a list of integers.")
def shape(call: Call, x: object) -> tuple[Dim, ...]:
    return tensor(call, "x", x).shape


@op("dim", "x axis", group=SHAPE_GROUP, grad=KNOWN, doc="The size of one axis.")
def dim(call: Call, x: object, axis: object) -> Dim:
    x = tensor(call, "x", x)
    return x.shape[axis_of(call, x, "axis", axis)]


@op("rank", "x", group=SHAPE_GROUP, grad=KNOWN, doc="How many axes a tensor has.")
def rank(call: Call, x: object) -> int:
    return tensor(call, "x", x).rank


@op("numel", "x", group=SHAPE_GROUP, grad=KNOWN, doc="How many elements a tensor has.")
def numel(call: Call, x: object) -> Dim:
    x = tensor(call, "x", x)
    return Dim(math.prod(int(d) for d in x.shape), call.maker)


@op("dtype", "x", group=GROUP, grad=KNOWN, doc="A tensor's dtype, a keyword.")
def dtype_of(call: Call, x: object) -> Keyword:
    return Keyword(tensor(call, "x", x).dtype.name)
