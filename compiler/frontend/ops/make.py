"""Tensors out of nothing: constants, ranges, triangles. `zeros` and `ones` are also initialisers, being functions of a
shape."""

from __future__ import annotations

import math

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.axes import MOST_ELEMENTS, integer, shape_argument
from sexpgpu.compiler.frontend.ops.support.broadcast import stretch
from sexpgpu.compiler.frontend.ops.support.dtype import BOOL, F32, I32, check_number, convert, dtype_word
from sexpgpu.compiler.frontend.ops.support.staged import (
    describe,
    give,
    is_number,
    number_argument,
    require_graph,
    tensor,
)
from sexpgpu.compiler.frontend.values import Tensor
from sexpgpu.runtime.dtypes import DType

GROUP = "make"
CONSTANT = "none: it is a constant"


def filled(call: Call, shape: object, number: int | float, dtype: DType) -> Tensor:
    require_graph(call)
    sizes = shape_argument(call, "shape", shape)
    return give(call, hlo.splat(number, [int(n) for n in sizes], dtype.mlir), dtype, sizes)


@op("zeros", "shape &key (dtype :f32)", group=GROUP, rule="[shape] -> [shape]", grad=CONSTANT,
    doc="Zeros everywhere. Also an initialiser: `:init zeros`.")
def zeros(call: Call, shape: object, dtype: object) -> Tensor:
    return filled(call, shape, 0, dtype_word(call, "dtype", dtype, F32))


@op("ones", "shape &key (dtype :f32)", group=GROUP, rule="[shape] -> [shape]", grad=CONSTANT,
    doc="Ones everywhere. Also an initialiser: `:init ones`.")
def ones(call: Call, shape: object, dtype: object) -> Tensor:
    return filled(call, shape, 1, dtype_word(call, "dtype", dtype, F32))


def number_dtype(number: object) -> DType:
    return BOOL if isinstance(number, bool) else I32 if isinstance(number, int) else F32


@op("full", "shape value &key dtype", group=GROUP, rule="[shape] [] -> [shape]",
    doc="One number everywhere; a scalar tensor does as well. Integers give i32 and floats f32 unless `:dtype` says.")
def full(call: Call, shape: object, value: object, dtype: object) -> Tensor:
    require_graph(call)
    sizes = shape_argument(call, "shape", shape)
    if is_number(value):
        kind = dtype_word(call, "dtype", dtype, number_dtype(value))
        number = check_number(call, value, kind, call.where("value"))
        return give(call, hlo.splat(number, [int(n) for n in sizes], kind.mlir), kind, sizes)
    x = tensor(call, "value", value)
    if x.rank:
        call.fail("E-SHAPE-004", f"the value of `full` is a scalar, not {describe(x)}", at=call.where("value"),
                  label=f"this has {x.rank} axes", fix="`broadcast-to` stretches a tensor")
    kind = dtype_word(call, "dtype", dtype, x.dtype)
    return give(call, stretch(convert(x.value, x.dtype, kind), sizes), kind, sizes)


def _like(name: str, number: int) -> None:
    @op(name, "x &key dtype", group=GROUP, rule="[shape] -> [shape]", grad=CONSTANT,
        doc=f"{'Zeros' if number == 0 else 'Ones'} of the shape and dtype of `x`.")
    def like(call: Call, x: object, dtype: object) -> Tensor:
        x = tensor(call, "x", x)
        kind = dtype_word(call, "dtype", dtype, x.dtype)
        return give(call, hlo.splat(number, [int(d) for d in x.shape], kind.mlir), kind, x.shape)


_like("zeros-like", 0)
_like("ones-like", 1)


@op("arange", "start &optional stop step &key dtype", group=GROUP, rule="n -> [n]", grad=CONSTANT,
    doc="`(arange n)` counts from 0, `(arange start stop step)` to below `stop`. i32, or f32 where a float is given.")
def arange(call: Call, start: object, stop: object, step: object, dtype: object) -> Tensor:
    require_graph(call)
    given = number_argument(call, "start", start)
    first, last = (0, given) if stop is None else (given, number_argument(call, "stop", stop))
    pace = 1 if step is None else number_argument(call, "step", step)
    floats = any(isinstance(v, float) for v in (first, last, pace))
    kind = dtype_word(call, "dtype", dtype, F32 if floats else I32)
    if not all(-MOST_ELEMENTS <= v <= MOST_ELEMENTS for v in (first, last, pace)):   # nor NaN
        call.fail("E-SHAPE-009", f"`arange` from {first} to {last} by {pace} has no end", label="too large")
    size = math.ceil((last - first) / pace) if pace else 0
    if size > MOST_ELEMENTS:
        call.fail("E-SHAPE-009", f"`arange` from {first} to {last} by {pace} has {size:,} elements", label="too large")
    if size < 1:
        call.fail("E-SHAPE-009", f"`arange` from {first} to {last} by {pace} has no elements", label="empty",
                  notes=["tensors without elements do not exist"])
    size = last if first == 0 and pace == 1 and isinstance(last, int) else size
    wide = kind if kind.is_float or kind.is_integer else I32
    value = hlo.iota([int(size)], 0, wide.mlir)
    for number, combine, neutral in ((pace, hlo.multiply, 1), (first, hlo.add, 0)):
        if number != neutral:
            checked = check_number(call, number, wide, call.where("start"))
            value = combine(value, hlo.splat(checked, [int(size)], wide.mlir))
    return give(call, convert(value, wide, kind), kind, [size])


@op("linspace", "start stop count &key (dtype :f32)", group=GROUP, rule="a b n -> [n]", grad=CONSTANT,
    doc="`count` numbers at equal distances, both ends included.")
def linspace(call: Call, start: object, stop: object, count: object, dtype: object) -> Tensor:
    require_graph(call)
    n = integer(call, "count", count)
    if n < 1:
        call.fail("E-SHAPE-009", f"`linspace` of {n} numbers", at=call.where("count"), label=f"size {n}")
    start, stop = number_argument(call, "start", start), number_argument(call, "stop", stop)
    kind = dtype_word(call, "dtype", dtype, F32)
    step = (stop - start) / (n - 1) if n > 1 else 0.0
    # Counted from both ends, so that both are exact.
    index = hlo.iota([int(n)], 0, "f32")
    low = hlo.add(hlo.multiply(index, hlo.splat(step, [int(n)], "f32")), hlo.splat(float(start), [int(n)], "f32"))
    back = hlo.subtract(hlo.splat(float(n - 1), [int(n)], "f32"), index)
    high = hlo.subtract(hlo.splat(float(stop), [int(n)], "f32"), hlo.multiply(back, hlo.splat(step, [int(n)], "f32")))
    half = hlo.compare("LT", index, hlo.splat(n / 2, [int(n)], "f32"))
    value = hlo.select(half, low, high) if n > 1 else hlo.splat(float(start), [1], "f32")
    return give(call, convert(value, F32, kind), kind, [n])


@op("eye", "rows &optional columns &key (dtype :f32)", group=GROUP, rule="n m -> [n m]", grad=CONSTANT,
    doc="Ones on the diagonal, zeros elsewhere.")
def eye(call: Call, rows: object, columns: object, dtype: object) -> Tensor:
    require_graph(call)
    sizes = shape_argument(call, "rows", (rows, rows if columns is None else columns))
    kind = dtype_word(call, "dtype", dtype, F32)
    return give(call, convert(triangle(sizes, "EQ", 0), BOOL, kind), kind, sizes)


def triangle(sizes: tuple[int, ...], direction: str, offset: int):
    """A mask over the last two axes: row + offset (direction) column."""
    shape = [int(n) for n in sizes]
    row = hlo.iota(shape, len(shape) - 2, "i32")
    if offset:
        row = hlo.add(row, hlo.splat(offset, shape, "i32"))
    return hlo.compare(direction, row, hlo.iota(shape, len(shape) - 1, "i32"))


def _half(name: str, direction: str, doc: str) -> None:
    @op(name, "x &optional (offset 0)", group=GROUP, rule="[… m n] -> [… m n]", doc=doc)
    def half(call: Call, x: object, offset: object) -> Tensor:
        x = tensor(call, "x", x)
        shift = integer(call, "offset", offset)
        if x.rank < 2:
            call.fail("E-SHAPE-004", f"`{name}` takes a matrix, not {describe(x)}", at=call.where("x"),
                      label="fewer than two axes", notes=[f"rule: `{name}`: [… m n] -> [… m n]"])
        kept = triangle(x.shape, direction, shift)
        return give(call, hlo.select(kept, x.value, hlo.zeros_like(x.value)), x.dtype, x.shape)


_half("tril", "GE", "The lower triangle: zeros above the diagonal that is `offset` to the right.")
_half("triu", "LE", "The upper triangle: zeros below the diagonal that is `offset` to the right.")
