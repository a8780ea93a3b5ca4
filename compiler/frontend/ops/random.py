"""Random numbers: counter-based bits, keyed by (seed, step, microbatch, rank, site), and what is made of them.

An operation here leaves a `sexp.random` marker, 32 bits an element, whose `site` no other has in its function; a pass
turns sites into a counter-based generator. Everything after the bits is plain arithmetic, the same on every target.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.sorting import order
from sexpgpu.compiler.frontend.ops.support.axes import counted, integer, shape_argument
from sexpgpu.compiler.frontend.ops.support.broadcast import Argument, operand
from sexpgpu.compiler.frontend.ops.support.dtype import BOOL, F32, I32, U64, convert, dtype_word
from sexpgpu.compiler.frontend.ops.support.staged import describe, give, is_number, number_argument, require_graph
from sexpgpu.compiler.frontend.values import Dim, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sexpgpu.runtime.dtypes import DType

GROUP = "random"
NO_GRAD = "to its parameters, none to the bits"


def bits(call: Call, shape: Sequence[int]) -> ir.Value:
    """Uniform 32-bit words, one an element."""
    require_graph(call)
    type_ = hlo.tensor_type([int(n) for n in shape], "ui32")
    site = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), call.site())
    return hlo.marker("random", call.rounds(), [type_], {"site": site}).result


@op("%site", "shape", group=GROUP, by_name=False, grad=NO_GRAD,
    doc="Where the words for a tensor of this shape begin: `%bernoulli` gives the same ones wherever it is asked.")
def site_of(call: Call, shape: object) -> Tensor:
    require_graph(call)
    sizes = shape_argument(call, "shape", shape)
    facts = {"site": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), call.site()),
             "words": hlo.i64(math.prod(int(n) for n in sizes))}
    made = hlo.marker("random_site", call.rounds(), [hlo.tensor_type([2], "ui64")], facts).result
    return give(call, made, U64, [2])


def words_at(site: ir.Value, shape: Sequence[int]) -> ir.Value:
    """The words of a site. On an axis of even length the generator gives block after block; on others and on more axes
    its order depends on the shape."""
    count = math.prod(int(n) for n in shape)
    words = hlo.rng_bits(site, [count + count % 2])
    return hlo.reshape(words if count % 2 == 0 else hlo.slice_(words, [0], [count]), shape)


def unit(words: ir.Value) -> ir.Value:
    """f32 in [0, 1): the upper 24 bits, all of which an f32 holds. Through i32, whose conversion every target does."""
    shape = hlo.shape_of(words)
    upper = hlo.shift_right_logical(words, hlo.splat(8, shape, "ui32"))
    whole = hlo.convert(hlo.convert(upper, "i32"), "f32")
    return hlo.multiply(whole, hlo.splat(2.0 ** -24, shape, "f32"))


def open_unit(words: ir.Value) -> ir.Value:
    """f32 in (0, 1), symmetric about a half: the middles of 2^23 equal parts."""
    shape = hlo.shape_of(words)
    upper = hlo.shift_right_logical(words, hlo.splat(9, shape, "ui32"))
    whole = hlo.add(hlo.convert(hlo.convert(upper, "i32"), "f32"), hlo.splat(0.5, shape, "f32"))
    return hlo.multiply(whole, hlo.splat(2.0 ** -23, shape, "f32"))


def normal_of(uniform: ir.Value) -> ir.Value:
    """The standard normal of a number in (0, 1), by the inverse of its distribution: √2 erf⁻¹(2u - 1)."""
    shape = hlo.shape_of(uniform)
    centred = hlo.subtract(hlo.multiply(uniform, hlo.splat(2.0, shape, "f32")), hlo.splat(1.0, shape, "f32"))
    return hlo.multiply(hlo.erf_inv(centred), hlo.splat(math.sqrt(2.0), shape, "f32"))


def scaled(call: Call, value: ir.Value, sizes: Sequence[int], scale: object, shift: object, dtype: DType) -> Tensor:
    """value · scale + shift, as the result in `dtype`; both may be numbers or scalar tensors of f32."""
    for factor, combine, neutral in ((scale, hlo.multiply, 1), (shift, hlo.add, 0)):
        if is_number(factor) and factor == neutral:
            continue
        value = combine(value, operand(call, Argument(factor, call.span), F32, sizes))
    return give(call, convert(value, F32, dtype), dtype, sizes)


def _parameter(call: Call, name: str, value: object) -> object:
    """A parameter of a distribution: a number, or a tensor of f32 that broadcasts to the shape."""
    if is_number(value):
        return value
    if isinstance(value, Tensor) and value.dtype is F32:
        return value
    call.fail("E-TYPE-003", f"`{name}` of `{call.op.name}` is a number or a tensor of f32, not {describe(value)}",
              at=call.where(name), label=f"this is {describe(value)}")


@op("random-uniform", "shape &key (low 0.0) (high 1.0) (dtype :f32)", group=GROUP, rule="[shape] -> [shape]",
    grad=NO_GRAD, doc="Uniform numbers from `:low` to below `:high`.")
def random_uniform(call: Call, shape: object, low: object, high: object, dtype: object) -> Tensor:
    sizes = shape_argument(call, "shape", shape)
    kind = float_word(call, dtype)
    low, high = _parameter(call, "low", low), _parameter(call, "high", high)
    value = unit(bits(call, sizes))
    if is_number(low) and is_number(high):
        return scaled(call, value, sizes, high - low, low, kind)
    ends = [operand(call, Argument(v, call.where(n)), F32, sizes) for n, v in (("low", low), ("high", high))]
    value = hlo.add(ends[0], hlo.multiply(value, hlo.subtract(ends[1], ends[0])))
    return give(call, convert(value, F32, kind), kind, sizes)


@op("random-normal", "shape &key (mean 0.0) (std 1.0) (dtype :f32)", group=GROUP, rule="[shape] -> [shape]",
    grad=NO_GRAD, doc="Normally distributed numbers of mean `:mean` and standard deviation `:std`.")
def random_normal(call: Call, shape: object, mean: object, std: object, dtype: object) -> Tensor:
    sizes = shape_argument(call, "shape", shape)
    kind = float_word(call, dtype)
    return scaled(call, normal_of(open_unit(bits(call, sizes))), sizes, _parameter(call, "std", std),
                  _parameter(call, "mean", mean), kind)


@op("random-truncated-normal", "shape &key (low -2.0) (high 2.0) (dtype :f32)", group=GROUP,
    rule="[shape] -> [shape]", grad=NO_GRAD,
    doc="Standard normal numbers, conditional on lying between `:low` and `:high`.")
def random_truncated_normal(call: Call, shape: object, low: object, high: object, dtype: object) -> Tensor:
    sizes = shape_argument(call, "shape", shape)
    kind = float_word(call, dtype)
    low, high = number_argument(call, "low", low), number_argument(call, "high", high)
    a, b = (0.5 * (1 + math.erf(v / math.sqrt(2.0))) for v in (low, high))
    shape_ = [int(n) for n in sizes]
    share = hlo.multiply(open_unit(bits(call, sizes)), hlo.splat(b - a, shape_, "f32"))
    value = normal_of(hlo.add(share, hlo.splat(a, shape_, "f32")))
    value = hlo.minimum(hlo.maximum(value, hlo.splat(float(low), shape_, "f32")),
                        hlo.splat(float(high), shape_, "f32"))
    return give(call, convert(value, F32, kind), kind, sizes)


@op("random-bernoulli", "shape &key (p 0.5)", group=GROUP, rule="[shape] -> bool [shape]",
    grad="none: it gives booleans", doc="True with probability `:p`, a number or a scalar tensor.")
def random_bernoulli(call: Call, shape: object, p: object) -> Tensor:
    sizes = shape_argument(call, "shape", shape)
    chance = _parameter(call, "p", p)
    return give(call, _true_with(call, chance, bits(call, sizes), sizes), BOOL, sizes)


def _true_with(call: Call, chance: object, words: ir.Value, sizes: Sequence[int]) -> ir.Value:
    if not is_number(chance):
        return hlo.compare("LT", unit(words), operand(call, Argument(chance, call.where("p")), F32, sizes))
    # A comparison of the words themselves: no conversion, and all 32 bits count.
    limit = min(max(round(chance * 2.0 ** 32), 0), 2 ** 32)
    if limit == 2 ** 32:
        return hlo.compare("LE", words, hlo.splat(2 ** 32 - 1, [int(n) for n in sizes], "ui32"))
    return hlo.compare("LT", words, hlo.splat(limit, [int(n) for n in sizes], "ui32"))


@op("%bernoulli", "site shape p", group=GROUP, by_name=False, grad=NO_GRAD,
    doc="`random-bernoulli` by the words of a site.")
def bernoulli_at(call: Call, site: Tensor, shape: object, p: object) -> Tensor:
    sizes = shape_argument(call, "shape", shape)
    return give(call, _true_with(call, _parameter(call, "p", p), words_at(site.value, sizes), sizes), BOOL, sizes)


@op("random-integers", "low high shape &key (dtype :i32)", group=GROUP, rule="a b [shape] -> int [shape]",
    grad="none: it gives integers",
    doc="Integers from `low` to below `high`, each as likely to within 2⁻³² of the range.")
def random_integers(call: Call, low: object, high: object, shape: object, dtype: object) -> Tensor:
    first, last = integer(call, "low", low), integer(call, "high", high)
    sizes = shape_argument(call, "shape", shape)
    kind = dtype_word(call, "dtype", dtype, I32)
    if not kind.is_integer:
        call.fail("E-TYPE-017", f"`random-integers` of dtype {kind}", at=call.where("dtype"), label=f"this is {kind}")
    span = last - first
    if not 1 <= span <= 2 ** 31:
        call.fail("E-SHAPE-006", f"`random-integers` from {int(first)} to {int(last)}", at=call.where("high"),
                  label="no integer lies between" if span < 1 else "a range above 2³¹")
    shape_ = [int(n) for n in sizes]
    rest = hlo.remainder(bits(call, sizes), hlo.splat(span, shape_, "ui32"))
    value = hlo.convert(rest, kind.mlir)
    if first:
        value = hlo.add(value, hlo.splat(int(first), shape_, kind.mlir))
    return give(call, value, kind, sizes)


@op("gumbel", "shape &key (dtype :f32)", group=GROUP, rule="[shape] -> [shape]", grad=NO_GRAD,
    doc="Gumbel noise: added to logits, its argmax is a sample of their softmax.")
def gumbel(call: Call, shape: object, dtype: object) -> Tensor:
    sizes = shape_argument(call, "shape", shape)
    kind = float_word(call, dtype)
    value = hlo.negate(hlo.log(hlo.negate(hlo.log(open_unit(bits(call, sizes))))))
    return give(call, convert(value, F32, kind), kind, sizes)


def float_word(call: Call, dtype: object) -> DType:
    """A dtype of floats; E-TYPE-017 otherwise."""
    kind = dtype_word(call, "dtype", dtype, F32)
    if not kind.is_float:
        call.fail("E-TYPE-017", f"`{call.op.name}` gives floats, and the dtype is {kind}", at=call.where("dtype"),
                  label=f"this is {kind}", fix="`random-integers` gives integers")
    return kind


@op("random-permutation", "n", group=GROUP, rule="n -> i32 [n]", grad="none: it gives indices",
    doc="The integers from 0 to below `n` in a random order; `take` with it shuffles.")
def random_permutation(call: Call, n: object) -> Tensor:
    count = integer(call, "n", n)
    if count < 1:
        call.fail("E-SHAPE-009", f"`random-permutation` of {int(count)}", at=call.where("n"),
                  label=f"size {int(count)}")
    counted(call, count, call.where("n"))
    words = hlo.bitcast_convert(bits(call, [count]), [int(count)], "i32")
    keys = Tensor(words, I32, (Dim(count),), call.span)
    return give(call, order(keys, 0, False), I32, [count])
