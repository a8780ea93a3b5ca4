"""Products and reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from iree.compiler import ir
from sexpgpu.compiler.hlo.constants import splat
from sexpgpu.compiler.hlo.core import Dims, block, element_type, i64_array, make, return_, shape_of, tensor_type


def dot_general(a: ir.Value, b: ir.Value, *, contract: tuple[Dims, Dims], batch: tuple[Dims, Dims] = ((), ()),
                element: ir.Type | str | None = None) -> ir.Value:
    """Result axes: the batch axes, then what is left of `a`, then what is left of `b`."""
    sa, sb = shape_of(a), shape_of(b)
    shape = [sa[i] for i in batch[0]]
    shape += [n for i, n in enumerate(sa) if i not in batch[0] and i not in contract[0]]
    shape += [n for i, n in enumerate(sb) if i not in batch[1] and i not in contract[1]]
    numbers = (f"#stablehlo.dot<lhs_batching_dimensions = {list(batch[0])}, "
               f"rhs_batching_dimensions = {list(batch[1])}, lhs_contracting_dimensions = {list(contract[0])}, "
               f"rhs_contracting_dimensions = {list(contract[1])}>")
    return make("stablehlo.dot_general", [tensor_type(shape, element if element is not None else element_type(a))],
                [a, b], {"dot_dimension_numbers": ir.Attribute.parse(numbers)}).result


def identity(kind: str, element: ir.Type) -> int | float | bool:
    if kind in ("add", "or", "xor"):
        return 0
    if kind == "multiply":
        return 1
    if kind == "and":
        return -1 if not (isinstance(element, ir.IntegerType) and element.width == 1) else True
    assert kind in ("maximum", "minimum"), kind
    low = kind == "maximum"
    if not isinstance(element, ir.IntegerType):
        return float("-inf") if low else float("inf")
    bits = element.width
    if bits == 1:
        return not low
    if element.is_unsigned:
        return 0 if low else (1 << bits) - 1
    return -(1 << (bits - 1)) if low else (1 << (bits - 1)) - 1


def reduce(x: ir.Value, dims: Dims, kind: str) -> ir.Value:
    """`kind` is the StableHLO operation that combines: add, multiply, maximum, minimum, and, or, xor."""
    element = element_type(x)
    scalar = tensor_type([], element)
    start = splat(identity(kind, element), [], element)
    shape = [n for i, n in enumerate(shape_of(x)) if i not in dims]
    op = make("stablehlo.reduce", [tensor_type(shape, element)], [x, start], {"dimensions": i64_array(dims)}, regions=1)
    body = block(op.regions[0], [scalar, scalar])
    with ir.InsertionPoint(body):
        return_([make(f"stablehlo.{kind}", [scalar], list(body.arguments)).result])
    return op.result


def reduce_many(xs: Sequence[ir.Value], starts: Sequence[ir.Value], dims: Dims,
                combine: Callable[[Sequence[ir.Value], Sequence[ir.Value]], Sequence[ir.Value]]) -> list[ir.Value]:
    """A reduction of several tensors at once; `combine(left, right)` gets and gives scalars (argmax and the like)."""
    scalars = [tensor_type([], element_type(x)) for x in xs]
    shape = [n for i, n in enumerate(shape_of(xs[0])) if i not in dims]
    results = [tensor_type(shape, element_type(x)) for x in xs]
    op = make("stablehlo.reduce", results, [*xs, *starts], {"dimensions": i64_array(dims)}, regions=1)
    body = block(op.regions[0], [*scalars, *scalars])
    with ir.InsertionPoint(body):
        n = len(xs)
        args = list(body.arguments)
        return_(list(combine(args[:n], args[n:])))
    return list(op.results)
