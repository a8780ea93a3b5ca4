"""Reductions: `:axis` is an axis, a list of axes, or absent for all; `:keep true` keeps them with size 1.

f16 and bf16 are summed in f32. Small integers and bools are summed in 32 bits, as NumPy and JAX widen them. NaN wins in
`max`, `min`, `argmax` and `argmin`; of equal elements `argmax` and `argmin` give the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.axes import axes_of, axis_of, counted
from sexpgpu.compiler.frontend.ops.support.dtype import BOOL, F32, I32, U32, convert
from sexpgpu.compiler.frontend.ops.support.staged import (
    Reduced,
    cast_fix,
    float_tensor,
    give,
    is_number,
    tensor,
    with_origins,
)
from sexpgpu.compiler.frontend.values import Dim, Tensor, is_true
from sexpgpu.runtime.dtypes import DType

if TYPE_CHECKING:
    from iree.compiler import ir

GROUP = "reductions"
SIGNATURE = "x &key axis (keep false)"
RULE = "[… n …] -> […]"
NO_GRAD = "none: it is constant almost everywhere"


def reduced_dims(x: Tensor, axes: tuple[int, ...], keep: bool) -> list[int]:
    """The result's sizes: the axes gone, or kept with size 1."""
    if keep:
        return [Dim(1) if i in axes else d for i, d in enumerate(x.shape)]
    return [d for i, d in enumerate(x.shape) if i not in axes]


def finish(call: Call, x: Tensor, axes: tuple[int, ...], keep: bool, value: ir.Value, dtype: DType) -> Tensor:
    """The reduced value as the result, with the kept axes put back."""
    dims = reduced_dims(x, axes, keep)
    if keep:
        return give(call, hlo.reshape(value, dims), dtype, dims)
    kept = with_origins(call, reduced_dims(x, axes, True))
    return Reduced(value, dtype, with_origins(call, dims), call.maker.span or call.span, kept)


def count(x: Tensor, axes: tuple[int, ...]) -> int:
    return math.prod(int(x.shape[a]) for a in axes)


def wide(x: Tensor) -> tuple[ir.Value, DType]:
    """The value in the dtype a sum is accumulated in."""
    if x.dtype.name in ("f16", "bf16"):
        return convert(x.value, x.dtype, F32), F32
    if x.dtype.kind == "bool" or x.dtype.name in ("i8", "i16"):
        return convert(x.value, x.dtype, I32), I32
    if x.dtype.name in ("u8", "u16"):
        return convert(x.value, x.dtype, U32), U32
    return x.value, x.dtype


def sum_of(value: ir.Value, axes: tuple[int, ...]) -> ir.Value:
    return hlo.reduce(value, axes, "add") if axes else value


def mean_of(value: ir.Value, axes: tuple[int, ...], n: int) -> ir.Value:
    """A sum times 1/n: a constant that fuses into what follows, where a division would not."""
    total = sum_of(value, axes)
    return hlo.multiply(total, hlo.splat(1.0 / n, hlo.shape_of(total), hlo.element_type(total)))


def narrow(value: ir.Value, x: Tensor, dtype: DType) -> tuple[ir.Value, DType]:
    """Back to the operand's dtype where it was only widened to accumulate floats."""
    return (convert(value, dtype, x.dtype), x.dtype) if x.dtype.is_float else (value, dtype)


def numbers(x: object) -> tuple | None:
    """A list of compile-time numbers, which reductions also take."""
    return x if isinstance(x, tuple) and x and all(is_number(v) for v in x) else None


@op("sum", SIGNATURE, group=GROUP, rule=RULE, doc="Sum over the axes.")
def sum_(call: Call, x: object, axis: object, keep: object) -> object:
    if (listed := numbers(x)) is not None:
        return sum(listed)
    x = tensor(call, "x", x)
    axes = axes_of(call, x, "axis", axis)
    value, dtype = wide(x)
    return finish(call, x, axes, is_true(keep), *narrow(sum_of(value, axes), x, dtype))


@op("prod", SIGNATURE, group=GROUP, rule=RULE, doc="Product over the axes.")
def prod(call: Call, x: object, axis: object, keep: object) -> object:
    if (listed := numbers(x)) is not None:
        return math.prod(listed)
    x = tensor(call, "x", x)
    axes = axes_of(call, x, "axis", axis)
    value, dtype = wide(x)
    value = hlo.reduce(value, axes, "multiply") if axes else value
    return finish(call, x, axes, is_true(keep), *narrow(value, x, dtype))


def averaged(call: Call, x: object) -> tuple[Tensor, ir.Value, DType]:
    """The operand of a mean or a variance, as floats to accumulate: bools are 0 and 1, integers are refused."""
    x = tensor(call, "x", x)
    if x.dtype is BOOL:
        return x, convert(x.value, BOOL, F32), F32
    float_tensor(call, "x", x)
    return x, *wide(x)


@op("mean", SIGNATURE, group=GROUP, rule=RULE, doc="Arithmetic mean over the axes; of booleans, the share that holds.")
def mean(call: Call, x: object, axis: object, keep: object) -> object:
    if (listed := numbers(x)) is not None:
        return sum(listed) / len(listed)
    x, value, dtype = averaged(call, x)
    axes = axes_of(call, x, "axis", axis)
    result = mean_of(value, axes, count(x, axes))
    return finish(call, x, axes, is_true(keep), *narrow(result, x, dtype))


def variance(value: ir.Value, x: Tensor, axes: tuple[int, ...], spare: int) -> ir.Value:
    """Two passes: the mean of squared distances from the mean, which does not cancel."""
    shape = hlo.shape_of(value)
    n = count(x, axes)
    centre = hlo.broadcast_in_dim(mean_of(value, axes, n), shape, [i for i in range(len(shape)) if i not in axes])
    distance = hlo.subtract(value, centre)
    return mean_of(hlo.multiply(distance, distance), axes, n - spare)


def _spread(name: str, doc: str, finishing: Callable[[ir.Value], ir.Value]) -> None:
    @op(name, SIGNATURE + " (ddof 0)", group=GROUP, rule=RULE, doc=doc)
    def spread(call: Call, x: object, axis: object, keep: object, ddof: object) -> Tensor:
        x, value, dtype = averaged(call, x)
        axes = axes_of(call, x, "axis", axis)
        spare = ddof if isinstance(ddof, int) else 0
        if count(x, axes) <= spare:
            call.fail("E-SHAPE-006", f"`{name}` over {count(x, axes)} element with `:ddof {spare}`",
                      at=call.where("ddof"), label="nothing is left to divide by")
        result = finishing(variance(value, x, axes, spare))
        return finish(call, x, axes, is_true(keep), *narrow(result, x, dtype))


_spread("var", "Variance over the axes; `:ddof 1` divides by n - 1.", lambda v: v)
_spread("std", "Standard deviation over the axes; `:ddof 1` divides by n - 1.", hlo.sqrt)


def _extreme(name: str, kind: str, choose: Callable, doc: str) -> None:
    @op(name, SIGNATURE, group=GROUP, rule=RULE, doc=doc)
    def extreme(call: Call, x: object, axis: object, keep: object) -> object:
        if (listed := numbers(x)) is not None:
            return choose(listed)
        x = tensor(call, "x", x)
        if x.dtype is BOOL:
            word = "any" if name == "max" else "all"
            call.fail("E-TYPE-017", f"`{name}` of booleans", at=call.where("x"), label="this is bool",
                      fix=f"`{word}` says whether {'one' if name == 'max' else 'every one'} holds")
        axes = axes_of(call, x, "axis", axis)
        value = hlo.reduce(x.value, axes, kind) if axes else x.value
        return finish(call, x, axes, is_true(keep), value, x.dtype)


_extreme("max", "maximum", max, "Largest element over the axes.")
_extreme("min", "minimum", min, "Smallest element over the axes.")


def _truth(name: str, kind: str, choose: Callable, doc: str) -> None:
    @op(name, SIGNATURE, group=GROUP, rule="bool […] -> bool", grad=NO_GRAD, doc=doc)
    def truth(call: Call, x: object, axis: object, keep: object) -> object:
        if isinstance(x, tuple) and not any(isinstance(v, Tensor) for v in x):
            return choose(is_true(v) for v in x)
        x = tensor(call, "x", x)
        if x.dtype is not BOOL:
            call.fail("E-TYPE-009", f"`{name}` takes booleans, and its tensor is {x.dtype}", at=call.where("x"),
                      label=f"this is {x.dtype}", fix=cast_fix(call.where("x"), "bool"))
        axes = axes_of(call, x, "axis", axis)
        value = hlo.reduce(x.value, axes, kind) if axes else x.value
        return finish(call, x, axes, is_true(keep), value, BOOL)


_truth("any", "or", any, "Whether one element holds.")
_truth("all", "and", all, "Whether every element holds.")


def _argument(name: str, kind: str, doc: str) -> None:
    @op(name, SIGNATURE, group=GROUP, rule="[… n …] -> i32 […]", grad="none: it gives indices", doc=doc)
    def argument(call: Call, x: object, axis: object, keep: object) -> Tensor:
        x = tensor(call, "x", x)
        value, dtype = (convert(x.value, BOOL, I32), I32) if x.dtype is BOOL else (x.value, x.dtype)
        if axis is None:
            axes = tuple(range(x.rank))
            value = hlo.reshape(value, [math.prod(int(d) for d in x.shape)])
            along = 0
        else:
            along = axis_of(call, x, "axis", axis)
            axes = (along,)
        counted(call, hlo.shape_of(value)[along], call.where("x"))
        return finish(call, x, axes, is_true(keep), first_index(value, along, kind, dtype.is_float), I32)


def first_index(value: ir.Value, axis: int, kind: str, floats: bool) -> ir.Value:
    """Two plain reductions, which vectorise: the extreme, then the least index that holds it (or a NaN)."""
    shape = hlo.shape_of(value)
    best = hlo.reduce(value, [axis], kind)
    best = hlo.broadcast_in_dim(best, shape, [i for i in range(len(shape)) if i != axis])
    hit = hlo.compare("EQ", value, best)
    if floats:
        hit = hlo.or_(hit, hlo.compare("NE", value, value))
    index = hlo.select(hit, hlo.iota(shape, axis, "i32"), hlo.splat(shape[axis] - 1, shape, "i32"))
    return hlo.reduce(index, [axis], "minimum")


_argument("argmax", "maximum", "Index of the largest element along one axis, or in the flattened tensor.")
_argument("argmin", "minimum", "Index of the smallest element along one axis, or in the flattened tensor.")


@op("norm", SIGNATURE + " (order 2)", group=GROUP, rule=RULE,
    doc="Vector norm over the axes: `:order` 2 (Euclidean), 1 or `inf`.")
def norm(call: Call, x: object, axis: object, keep: object, order: object) -> Tensor:
    x = float_tensor(call, "x", x)
    axes = axes_of(call, x, "axis", axis)
    value, dtype = wide(x)
    if order == 2:
        value = hlo.sqrt(sum_of(hlo.multiply(value, value), axes))
    elif order == 1:
        value = sum_of(hlo.abs_(value), axes)
    elif order == math.inf:
        value = hlo.reduce(hlo.abs_(value), axes, "maximum") if axes else hlo.abs_(value)
    else:
        call.fail("E-TYPE-013", f"the order of `norm` is 1, 2 or inf, not {order!r}", at=call.where("order"),
                  label="not an order of `norm`")
    return finish(call, x, axes, is_true(keep), *narrow(value, x, dtype))
