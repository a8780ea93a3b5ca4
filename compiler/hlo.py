"""A small typed layer over StableHLO: one function an operation, result types computed here.

The MLIR wheel has no Python module for the StableHLO dialect, so operations are made by name. Every function takes
`ir.Value`s of ranked, static tensor types, inserts at the current insertion point with the current location (both are
the caller's `with` blocks), and returns the result. Operands must already agree in shape and element type: the
frontend has checked the user's programs, and passes work on valid IR; what is asserted here is our own mistake.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

from iree.compiler import ir

if TYPE_CHECKING:
    import numpy as np

# The wheel has no Python module for these dialects; the bindings would search the import path for one each time they
# hand out an operation (0.1 ms each, most of the time of a pass). An empty module ends the search.
for _dialect in ("stablehlo", "chlo", "util"):
    sys.modules.setdefault(f"iree.compiler.dialects.{_dialect}", ModuleType(f"iree.compiler.dialects.{_dialect}"))

Dims = Sequence[int]


# -- types and attributes ---------------------------------------------------------------------------------------------

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


# -- constants --------------------------------------------------------------------------------------------------------

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


# -- elementwise ------------------------------------------------------------------------------------------------------

def _unary(name: str, x: ir.Value) -> ir.Value:
    return make(f"stablehlo.{name}", [x.type], [x]).result


def _binary(name: str, x: ir.Value, y: ir.Value) -> ir.Value:
    assert x.type == y.type, f"{name}: {x.type} and {y.type}"
    return make(f"stablehlo.{name}", [x.type], [x, y]).result


negate = partial(_unary, "negate")
abs_ = partial(_unary, "abs")
sign = partial(_unary, "sign")
exponential = partial(_unary, "exponential")
exponential_minus_one = partial(_unary, "exponential_minus_one")
log = partial(_unary, "log")
log_plus_one = partial(_unary, "log_plus_one")
sqrt = partial(_unary, "sqrt")
rsqrt = partial(_unary, "rsqrt")
cbrt = partial(_unary, "cbrt")
floor = partial(_unary, "floor")
ceil = partial(_unary, "ceil")
round_nearest_even = partial(_unary, "round_nearest_even")
sine = partial(_unary, "sine")
cosine = partial(_unary, "cosine")
tan = partial(_unary, "tan")
tanh = partial(_unary, "tanh")
logistic = partial(_unary, "logistic")
not_ = partial(_unary, "not")
optimization_barrier = partial(_unary, "optimization_barrier")

add = partial(_binary, "add")
subtract = partial(_binary, "subtract")
multiply = partial(_binary, "multiply")
divide = partial(_binary, "divide")
remainder = partial(_binary, "remainder")
power = partial(_binary, "power")
maximum = partial(_binary, "maximum")
minimum = partial(_binary, "minimum")
atan2 = partial(_binary, "atan2")
and_ = partial(_binary, "and")
or_ = partial(_binary, "or")
xor = partial(_binary, "xor")
shift_left = partial(_binary, "shift_left")
shift_right_logical = partial(_binary, "shift_right_logical")
shift_right_arithmetic = partial(_binary, "shift_right_arithmetic")


def erf(x: ir.Value) -> ir.Value:
    return make("chlo.erf", [x.type], [x]).result


def erf_inv(x: ir.Value) -> ir.Value:
    return make("chlo.erf_inv", [x.type], [x]).result


def is_finite(x: ir.Value) -> ir.Value:
    return make("stablehlo.is_finite", [tensor_type(shape_of(x), "i1")], [x]).result


def compare(direction: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """`direction` is EQ, NE, LT, LE, GT or GE; the comparison type follows from the element type."""
    assert x.type == y.type
    kind = element_type(x)
    if isinstance(kind, ir.IntegerType):
        compare_type = "UNSIGNED" if kind.is_unsigned or kind.width == 1 else "SIGNED"
    else:
        compare_type = "FLOAT"
    return make("stablehlo.compare", [tensor_type(shape_of(x), "i1")], [x, y], {
        "comparison_direction": ir.Attribute.parse(f"#stablehlo<comparison_direction {direction}>"),
        "compare_type": ir.Attribute.parse(f"#stablehlo<comparison_type {compare_type}>"),
    }).result


def select(condition: ir.Value, on_true: ir.Value, on_false: ir.Value) -> ir.Value:
    """`condition` has the shape of the branches, or is a scalar."""
    assert on_true.type == on_false.type
    return make("stablehlo.select", [on_true.type], [condition, on_true, on_false]).result


def convert(x: ir.Value, element: ir.Type | str) -> ir.Value:
    type_ = tensor_type(shape_of(x), element)
    return x if type_ == x.type else make("stablehlo.convert", [type_], [x]).result


def reduce_precision(x: ir.Value, exponent_bits: int, mantissa_bits: int) -> ir.Value:
    """Rounded to fewer bits, in the same element type."""
    i32 = ir.IntegerType.get_signless(32)
    return make("stablehlo.reduce_precision", [x.type], [x], {
        "exponent_bits": ir.IntegerAttr.get(i32, exponent_bits),
        "mantissa_bits": ir.IntegerAttr.get(i32, mantissa_bits),
    }).result


def bitcast_convert(x: ir.Value, shape: Dims, element: ir.Type | str) -> ir.Value:
    return make("stablehlo.bitcast_convert", [tensor_type(shape, element)], [x]).result


# -- shape ------------------------------------------------------------------------------------------------------------

def reshape(x: ir.Value, shape: Dims) -> ir.Value:
    if tuple(shape) == shape_of(x):
        return x
    return make("stablehlo.reshape", [tensor_type(shape, element_type(x))], [x]).result


def transpose(x: ir.Value, permutation: Dims) -> ir.Value:
    if list(permutation) == list(range(len(permutation))):
        return x
    shape = [shape_of(x)[p] for p in permutation]
    return make("stablehlo.transpose", [tensor_type(shape, element_type(x))], [x],
                {"permutation": i64_array(permutation)}).result


def broadcast_in_dim(x: ir.Value, shape: Dims, dims: Dims) -> ir.Value:
    """Axis i of `x` becomes axis `dims[i]`; axes of size 1 stretch."""
    if tuple(shape) == shape_of(x) and list(dims) == list(range(len(shape))):
        return x
    return make("stablehlo.broadcast_in_dim", [tensor_type(shape, element_type(x))], [x],
                {"broadcast_dimensions": i64_array(dims)}).result


def broadcast_scalar(x: ir.Value, shape: Dims) -> ir.Value:
    return broadcast_in_dim(x, shape, [])


def concatenate(xs: Sequence[ir.Value], dim: int) -> ir.Value:
    shape = list(shape_of(xs[0]))
    shape[dim] = sum(shape_of(x)[dim] for x in xs)
    return make("stablehlo.concatenate", [tensor_type(shape, element_type(xs[0]))], list(xs),
                {"dimension": i64(dim)}).result


def slice_(x: ir.Value, starts: Dims, limits: Dims, strides: Dims | None = None) -> ir.Value:
    steps = list(strides) if strides is not None else [1] * len(starts)
    shape = [-(-(b - a) // s) for a, b, s in zip(starts, limits, steps, strict=True)]
    return make("stablehlo.slice", [tensor_type(shape, element_type(x))], [x], {
        "start_indices": i64_array(starts), "limit_indices": i64_array(limits), "strides": i64_array(steps),
    }).result


def pad(x: ir.Value, value: ir.Value, low: Dims, high: Dims, interior: Dims | None = None) -> ir.Value:
    """`value` is a scalar tensor; negative low and high crop."""
    inner = list(interior) if interior is not None else [0] * len(low)
    shape = [lo + n + max(n - 1, 0) * i + hi for n, lo, hi, i in zip(shape_of(x), low, high, inner, strict=True)]
    return make("stablehlo.pad", [tensor_type(shape, element_type(x))], [x, value], {
        "edge_padding_low": i64_array(low), "edge_padding_high": i64_array(high), "interior_padding": i64_array(inner),
    }).result


def reverse(x: ir.Value, dims: Dims) -> ir.Value:
    if not dims:
        return x   # IREE has no form for it
    return make("stablehlo.reverse", [x.type], [x], {"dimensions": i64_array(dims)}).result


def dynamic_slice(x: ir.Value, starts: Sequence[ir.Value], sizes: Dims) -> ir.Value:
    return make("stablehlo.dynamic_slice", [tensor_type(sizes, element_type(x))], [x, *starts],
                {"slice_sizes": i64_array(sizes)}).result


def dynamic_update_slice(x: ir.Value, update: ir.Value, starts: Sequence[ir.Value]) -> ir.Value:
    return make("stablehlo.dynamic_update_slice", [x.type], [x, update, *starts]).result


# -- contraction and reduction ----------------------------------------------------------------------------------------

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


def block(region: ir.Region, types: Sequence[ir.Type]) -> ir.Block:
    return ir.Block.create_at_start(region, list(types), [ir.Location.current] * len(types))


def return_(values: Sequence[ir.Value]) -> None:
    make("stablehlo.return", [], list(values))


#: The identity of each reduction a kind stands for, as a number of the element type.
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


# -- indexing ---------------------------------------------------------------------------------------------------------

def gather(x: ir.Value, indices: ir.Value, *, offset_dims: Dims, collapsed: Dims, index_map: Dims, index_dim: int,
           sizes: Dims, shape: Dims, batching: tuple[Dims, Dims] = ((), ())) -> ir.Value:
    """StableHLO's gather; `shape` is the result's. Indices must be in range (they are clamped)."""
    numbers = (f"#stablehlo.gather<offset_dims = {list(offset_dims)}, collapsed_slice_dims = {list(collapsed)}, "
               f"operand_batching_dims = {list(batching[0])}, start_indices_batching_dims = {list(batching[1])}, "
               f"start_index_map = {list(index_map)}, index_vector_dim = {index_dim}>")
    return make("stablehlo.gather", [tensor_type(shape, element_type(x))], [x, indices], {
        "dimension_numbers": ir.Attribute.parse(numbers), "slice_sizes": i64_array(sizes),
    }).result


def scatter(x: ir.Value, indices: ir.Value, updates: ir.Value, *, window_dims: Dims, inserted: Dims, index_map: Dims,
            index_dim: int, kind: str = "add", batching: tuple[Dims, Dims] = ((), ())) -> ir.Value:
    """StableHLO's scatter with one combining operation (`"set"` replaces); repeated indices are allowed."""
    numbers = (f"#stablehlo.scatter<update_window_dims = {list(window_dims)}, inserted_window_dims = {list(inserted)}, "
               f"input_batching_dims = {list(batching[0])}, scatter_indices_batching_dims = {list(batching[1])}, "
               f"scatter_dims_to_operand_dims = {list(index_map)}, index_vector_dim = {index_dim}>")
    op = make("stablehlo.scatter", [x.type], [x, indices, updates], {
        "scatter_dimension_numbers": ir.Attribute.parse(numbers),
        "unique_indices": ir.BoolAttr.get(False), "indices_are_sorted": ir.BoolAttr.get(False),
    }, regions=1)
    scalar = tensor_type([], element_type(x))
    body = block(op.regions[0], [scalar, scalar])
    with ir.InsertionPoint(body):
        old, new = body.arguments
        return_([new if kind == "set" else make(f"stablehlo.{kind}", [scalar], [old, new]).result])
    return op.result


def sort(xs: Sequence[ir.Value], dim: int,
         before: Callable[[Sequence[ir.Value], Sequence[ir.Value]], ir.Value], *, stable: bool = True
         ) -> list[ir.Value]:
    """Sorts several tensors of one shape together; `before(left, right)` gets a scalar of each."""
    op = make("stablehlo.sort", [x.type for x in xs], list(xs),
              {"dimension": i64(dim), "is_stable": ir.BoolAttr.get(stable)}, regions=1)
    scalars = [tensor_type([], element_type(x)) for x in xs]
    body = block(op.regions[0], [s for s in scalars for _ in range(2)])
    with ir.InsertionPoint(body):
        arguments = list(body.arguments)
        return_([before(arguments[::2], arguments[1::2])])
    return list(op.results)


#: On a sort that `sort_indices` made.
KEYS = "sexp.keys"


def sort_indices(order: ir.Value, dim: int) -> ir.Value:
    """The i32 indices along `dim` that put i32 numbers in rising order, equal ones by index: no two pairs are equal."""
    index = iota(shape_of(order), dim, "i32")

    def before(a: Sequence[ir.Value], b: Sequence[ir.Value]) -> ir.Value:
        tie = and_(compare("EQ", a[0], b[0]), compare("LT", a[1], b[1]))
        return or_(compare("LT", a[0], b[0]), tie)

    _, found = sort([order, index], dim, before, stable=False)
    found.owner.attributes[KEYS] = ir.UnitAttr.get()
    return found


# -- windows ----------------------------------------------------------------------------------------------------------

def convolution(x: ir.Value, kernel: ir.Value, *, strides: Dims, padding: Sequence[tuple[int, int]],
                dilation: Dims, groups: int = 1, element: ir.Type | str | None = None) -> ir.Value:
    """Channels last: `x` [batch, space…, in], `kernel` [space…, in / groups, out] → [batch, space…, out]."""
    sx, sk = shape_of(x), shape_of(kernel)
    n = len(sx) - 2
    space = [(sx[i + 1] + lo + hi - ((sk[i] - 1) * dilation[i] + 1)) // strides[i] + 1
             for i, (lo, hi) in enumerate(padding)]
    names = ", ".join(str(i) for i in range(n))
    numbers = ir.Attribute.parse(f"#stablehlo.conv<[b, {names}, f]x[{names}, i, o]->[b, {names}, f]>")
    pads = ir.Attribute.parse(f"dense<{[list(p) for p in padding]}> : tensor<{n}x2xi64>")
    result = tensor_type([sx[0], *space, sk[-1]], element if element is not None else element_type(x))
    return make("stablehlo.convolution", [result], [x, kernel], {
        "window_strides": i64_array(strides), "padding": pads, "rhs_dilation": i64_array(dilation),
        "dimension_numbers": numbers, "feature_group_count": i64(groups), "batch_group_count": i64(1),
    }).result


def reduce_window(x: ir.Value, kind: str, *, window: Dims, strides: Dims, padding: Sequence[tuple[int, int]],
                  dilation: Dims | None = None) -> ir.Value:
    """A reduction over sliding windows of every axis; `kind` as in `reduce`; padding is the kind's identity."""
    element = element_type(x)
    scalar = tensor_type([], element)
    steps = list(dilation) if dilation is not None else [1] * len(window)
    shape = [(n + lo + hi - ((w - 1) * d + 1)) // s + 1 for n, w, s, d, (lo, hi)
             in zip(shape_of(x), window, strides, steps, padding, strict=True)]
    start = splat(identity(kind, element), [], element)
    op = make("stablehlo.reduce_window", [tensor_type(shape, element)], [x, start], {
        "window_dimensions": i64_array(window), "window_strides": i64_array(strides),
        "window_dilations": i64_array(steps),
        "padding": ir.Attribute.parse(f"dense<{[list(p) for p in padding]}> : tensor<{len(window)}x2xi64>"),
    }, regions=1)
    body = block(op.regions[0], [scalar, scalar])
    with ir.InsertionPoint(body):
        return_([make(f"stablehlo.{kind}", [scalar], list(body.arguments)).result])
    return op.result


# -- control ----------------------------------------------------------------------------------------------------------

def if_(predicate: ir.Value, on_true: Callable[[], Sequence[ir.Value]], on_false: Callable[[], Sequence[ir.Value]]
        ) -> list[ir.Value]:
    """Branches use outer values freely; both give the same types. `predicate` is a scalar `i1`."""
    regions: list[tuple[ir.Block, Sequence[ir.Value]]] = []
    # The branches tell the result types, and an operation needs them when it is made: stage into a block first.
    holder = make("stablehlo.if", [], [predicate], regions=2)
    for region, branch in zip(holder.regions, (on_true, on_false), strict=True):
        body = block(region, [])
        with ir.InsertionPoint(body):
            values = list(branch())
            return_(values)
        regions.append((body, values))
    types = [v.type for v in regions[0][1]]
    op = make("stablehlo.if", types, [predicate], regions=2)
    for region, (body, _) in zip(op.regions, regions, strict=True):
        body.append_to(region)
    holder.erase()
    return list(op.results)


def while_(initial: Sequence[ir.Value], condition: Callable[[Sequence[ir.Value]], ir.Value],
           step: Callable[[Sequence[ir.Value]], Sequence[ir.Value]]) -> list[ir.Value]:
    """`condition` and `step` get the carried values; outer values may be used freely."""
    types = [v.type for v in initial]
    op = make("stablehlo.while", types, list(initial), regions=2)
    test = block(op.regions[0], types)
    with ir.InsertionPoint(test):
        return_([condition(list(test.arguments))])
    body = block(op.regions[1], types)
    with ir.InsertionPoint(body):
        return_(list(step(list(body.arguments))))
    return list(op.results)


def counted_loop(trips: int, initial: Sequence[ir.Value],
                 step: Callable[[ir.Value, Sequence[ir.Value]], Sequence[ir.Value]]) -> list[ir.Value]:
    """`step(index, carried)` for index 0 … trips − 1, an i32 scalar; gives the carried values.

    The one form that IREE turns into a loop on the host, and that has a derivative: a `LT` with a bound from outside,
    an `add` of a step from outside.
    """
    start, one, bound = (splat(n, [], "i32") for n in (0, 1, trips))
    return while_([start, *initial], lambda c: compare("LT", c[0], bound),
                  lambda c: [add(c[0], one), *step(c[0], c[1:])])[1:]


#: On a loop through time: of a light body several rounds may stand in one, for what it costs to go around once. A loop
#: over layers, whose code would grow, has none.
CELL = "sexp.cell"


# -- random bits ------------------------------------------------------------------------------------------------------

def rng_bits(state: ir.Value, shape: Dims, element: str = "ui32") -> ir.Value:
    """Threefry bits: `state` is `tensor<2xui64>` (key, counter). The advanced state is dropped: keys are per site."""
    op = make("stablehlo.rng_bit_generator", [state.type, tensor_type(shape, element)], [state],
              {"rng_algorithm": ir.Attribute.parse("#stablehlo<rng_algorithm THREE_FRY>")})
    return op.results[1]


# -- markers ----------------------------------------------------------------------------------------------------------

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
