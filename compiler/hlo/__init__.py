"""A small typed layer over StableHLO: one function an operation, result types computed here.

The MLIR wheel has no Python module for the StableHLO dialect, so operations are made by name. Every function takes
`ir.Value`s of ranked, static tensor types, inserts at the current insertion point with the current location (both are
the caller's `with` blocks), and returns the result. Operands must already agree in shape and element type: the
frontend has checked the user's programs, and passes work on valid IR; what is asserted here is our own mistake.
"""

from __future__ import annotations

from sexpgpu.compiler.hlo.constants import constant, iota, splat, zeros_like
from sexpgpu.compiler.hlo.control import CELL, counted_loop, if_, while_
from sexpgpu.compiler.hlo.core import (
    Dims,
    block,
    element_type,
    i64,
    i64_array,
    make,
    return_,
    shape_of,
    tensor_type,
    type_of,
)
from sexpgpu.compiler.hlo.elementwise import (
    abs_,
    add,
    and_,
    atan2,
    bitcast_convert,
    cbrt,
    ceil,
    compare,
    convert,
    cosine,
    divide,
    erf,
    erf_inv,
    exponential,
    exponential_minus_one,
    floor,
    is_finite,
    log,
    log_plus_one,
    logistic,
    maximum,
    minimum,
    multiply,
    negate,
    not_,
    optimization_barrier,
    or_,
    power,
    reduce_precision,
    remainder,
    round_nearest_even,
    rsqrt,
    select,
    shift_left,
    shift_right_arithmetic,
    shift_right_logical,
    sign,
    sine,
    sqrt,
    subtract,
    tan,
    tanh,
    xor,
)
from sexpgpu.compiler.hlo.indexing import KEYS, gather, scatter, sort, sort_indices
from sexpgpu.compiler.hlo.markers import marker, marker_kind, rng_bits
from sexpgpu.compiler.hlo.reduction import dot_general, identity, reduce, reduce_many
from sexpgpu.compiler.hlo.shape import (
    broadcast_in_dim,
    broadcast_scalar,
    concatenate,
    dynamic_slice,
    dynamic_update_slice,
    pad,
    reshape,
    reverse,
    slice_,
    transpose,
)
from sexpgpu.compiler.hlo.windows import convolution, reduce_window

__all__ = [
    "CELL", "KEYS", "Dims", "abs_", "add", "and_", "atan2", "bitcast_convert", "block", "broadcast_in_dim",
    "broadcast_scalar", "cbrt", "ceil", "compare", "concatenate", "constant", "convert", "convolution", "cosine",
    "counted_loop", "divide", "dot_general", "dynamic_slice", "dynamic_update_slice", "element_type", "erf",
    "erf_inv", "exponential", "exponential_minus_one", "floor", "gather", "i64", "i64_array", "identity", "if_",
    "iota", "is_finite", "log", "log_plus_one", "logistic", "make", "marker", "marker_kind", "maximum", "minimum",
    "multiply", "negate", "not_", "optimization_barrier", "or_", "pad", "power", "reduce", "reduce_many",
    "reduce_precision", "reduce_window", "remainder", "reshape", "return_", "reverse", "rng_bits",
    "round_nearest_even", "rsqrt", "scatter", "select", "shape_of", "shift_left", "shift_right_arithmetic",
    "shift_right_logical", "sign", "sine", "slice_", "sort", "sort_indices", "splat", "sqrt", "subtract", "tan",
    "tanh", "tensor_type", "transpose", "type_of", "while_", "xor", "zeros_like",
]
