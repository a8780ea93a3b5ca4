"""Order: sort, argsort, top-k. Stable, NaN last, as NumPy's.

The code generator's own sort is slow (a second for 4 × 8000). Short axes are ranked by comparing every pair, which
fuses; long ones go through a bitonic network, a loop of log²n rounds over (value, index) pairs. Only indices are
computed so; the values follow by `take-along`, whose gradient is theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.indexing import pick_along
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.axes import axis_of, counted, integer
from sexpgpu.compiler.frontend.ops.support.dtype import BOOL, I32, convert
from sexpgpu.compiler.frontend.ops.support.explain import Operand, origin_notes
from sexpgpu.compiler.frontend.ops.support.staged import give, rule_note, show_shape, tensor
from sexpgpu.compiler.frontend.values import Tensor, is_true

if TYPE_CHECKING:
    import numpy as np

GROUP = "index"

#: Axes up to this length are ranked by comparing every pair.
SHORT = 128
#: Up to this many elements, `top-k` takes one after the other.
FEW = 16


def _ordered(x: Tensor) -> tuple[ir.Value, bool]:
    """The values to compare, and whether NaN can be among them."""
    value = convert(x.value, BOOL, I32) if x.dtype is BOOL else x.value
    return value, x.dtype.is_float


def _before(a: ir.Value, b: ir.Value, i: ir.Value, j: ir.Value, floats: bool, descending: bool) -> ir.Value:
    """Whether element i of value a stands before element j of value b; NaN last either way, equal ones by index."""
    less = hlo.compare("GT" if descending else "LT", a, b)
    more = hlo.compare("LT" if descending else "GT", a, b)
    if floats:
        nan_a, nan_b = hlo.compare("NE", a, a), hlo.compare("NE", b, b)
        less = hlo.or_(less, hlo.and_(nan_b, hlo.not_(nan_a)))
        more = hlo.or_(more, hlo.and_(nan_a, hlo.not_(nan_b)))
    return hlo.or_(less, hlo.and_(hlo.not_(more), hlo.compare("LT", i, j)))


def order(x: Tensor, axis: int, descending: bool) -> ir.Value:
    """The indices along `axis` in order, i32, of the shape of `x`."""
    value, floats = _ordered(x)
    n = int(x.shape[axis])
    if n == 1:
        return hlo.splat(0, hlo.shape_of(value), "i32")
    return (_by_pairs if n <= SHORT else _by_network)(value, axis, n, floats, descending)


def _by_pairs(value: ir.Value, axis: int, n: int, floats: bool, descending: bool) -> ir.Value:
    """The place of each element is the number of those before it; the indices are that permutation's inverse."""
    shape = list(hlo.shape_of(value))
    # Axis `axis` counts the element, a new one behind it the other.
    pairs = [*shape[:axis + 1], n, *shape[axis + 1:]]
    one = [d if d <= axis else d + 1 for d in range(len(shape))]
    other = [d if d < axis else d + 1 for d in range(len(shape))]
    mine, theirs = hlo.broadcast_in_dim(value, pairs, one), hlo.broadcast_in_dim(value, pairs, other)
    i, j = hlo.iota(pairs, axis, "i32"), hlo.iota(pairs, axis + 1, "i32")
    ahead = hlo.select(_before(theirs, mine, j, i, floats, descending), hlo.splat(1, pairs, "i32"),
                       hlo.splat(0, pairs, "i32"))
    place = hlo.broadcast_in_dim(hlo.reduce(ahead, [axis + 1], "add"), pairs, one)
    hit = hlo.select(hlo.compare("EQ", place, j), i, hlo.splat(0, pairs, "i32"))
    return hlo.reduce(hit, [axis], "add")


def _rounds(size: int) -> np.ndarray:
    """Of each round of the network: the distance of the elements compared, and the length of the runs it sorts."""
    import numpy as np  # not where nothing is sorted: it would be a third of a check

    found = []
    run = 2
    while run <= size:
        distance = run // 2
        while distance:
            found.append((distance, run))
            distance //= 2
        run *= 2
    return np.array(found, np.int32)


def _by_network(value: ir.Value, axis: int, n: int, floats: bool, descending: bool) -> ir.Value:
    """Batcher 1968. The axis stands first, and is filled up to a power of two with indices that come last."""
    permutation = [axis, *(d for d in range(len(hlo.shape_of(value))) if d != axis)]
    x = hlo.transpose(value, permutation)
    rest = hlo.shape_of(x)[1:]
    x = hlo.reshape(x, [n, prod(rest)])
    size = 1 << (n - 1).bit_length()
    x = hlo.pad(x, hlo.splat(0, [], hlo.element_type(x)), [0, 0], [size - n, 0])
    shape = [size, hlo.shape_of(x)[1]]
    row = hlo.iota([size], 0, "i32")
    table = _rounds(size)
    steps = hlo.constant(table, "i32")

    def step(round_: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        mine, index = carried
        distance, run = (hlo.broadcast_scalar(hlo.reshape(hlo.dynamic_slice(
            steps, [round_, hlo.splat(c, [], "i32")], [1, 1]), []), [size]) for c in (0, 1))
        partner = hlo.xor(row, distance)

        def at_partner(v: ir.Value) -> ir.Value:
            return hlo.gather(v, partner, offset_dims=[1], collapsed=[0], index_map=[0], index_dim=1,
                              sizes=[1, shape[1]], shape=shape)

        theirs, their_index = at_partner(mine), at_partner(index)
        none = hlo.splat(0, [size], "i32")
        # The lower one of a pair keeps what comes first, in every second run what comes last.
        low = hlo.compare("EQ", hlo.and_(row, distance), none)
        rising = hlo.compare("EQ", hlo.and_(row, run), none)
        wants_first = hlo.broadcast_in_dim(hlo.compare("EQ", low, rising), shape, [0])
        end = hlo.splat(n, shape, "i32")
        filler, their_filler = hlo.compare("GE", index, end), hlo.compare("GE", their_index, end)
        first = _before(mine, theirs, index, their_index, floats, descending)
        first = hlo.select(hlo.or_(filler, their_filler), hlo.compare("LT", index, their_index), first)
        keep = hlo.compare("EQ", first, wants_first)
        return [hlo.select(keep, mine, theirs), hlo.select(keep, index, their_index)]

    found = hlo.counted_loop(len(table), [x, hlo.iota(shape, 0, "i32")], step)[1]
    found = hlo.reshape(hlo.slice_(found, [0, 0], [n, shape[1]]), [n, *rest])
    return hlo.transpose(found, [permutation.index(d) for d in range(len(permutation))])


@op("argsort", "x &key (axis -1) (descending false)", group=GROUP, rule="[… n …] -> i32 [… n …]",
    grad="none: it gives indices",
    doc="The indices that put an axis in order: stable, NaN last.")
def argsort(call: Call, x: object, axis: object, descending: object) -> Tensor:
    x = tensor(call, "x", x)
    along = axis_of(call, x, "axis", axis)
    counted(call, x.shape[along], call.where("x"))
    return give(call, order(x, along, is_true(descending)), I32, x.shape)


@op("sort", "x &key (axis -1) (descending false)", group=GROUP, rule="[… n …] -> [… n …]",
    doc="The elements of an axis in order, NaN last. The gradient of each goes to where it came from.")
def sort(call: Call, x: object, axis: object, descending: object) -> Tensor:
    x = tensor(call, "x", x)
    along = axis_of(call, x, "axis", axis)
    counted(call, x.shape[along], call.where("x"))
    return give(call, pick_along(x, order(x, along, is_true(descending)), along), x.dtype, x.shape)


@op("top-k", "x k &key (axis -1)", group=GROUP, rule="[… n …], k -> [… k …], i32 [… k …]",
    doc="`(list values indices)` of the k largest elements along an axis, the largest first; of equal ones the first. "
        "NaN counts as the largest.")
def top_k(call: Call, x: object, k: object, axis: object) -> tuple[Tensor, Tensor]:
    x = tensor(call, "x", x)
    along = axis_of(call, x, "axis", axis)
    count = integer(call, "k", k)
    size = int(x.shape[along])
    counted(call, size, call.where("x"))
    if not 1 <= count <= size:
        call.fail("E-SHAPE-006", f"`top-k` of {int(count)} along an axis of {size}", at=call.where("k"),
                  label=f"{int(count)} of {size}",
                  notes=[*rule_note(call), *origin_notes([Operand("the tensor", call.where("x"), x.shape, (along,))]),
                         f"the tensor is {show_shape(x.shape)}"])
    value, floats = _ordered(x)
    indices = _largest(value, along, count, floats)
    dims = [count if a == along else d for a, d in enumerate(x.shape)]
    return (give(call, pick_along(x, indices, along), x.dtype, dims), give(call, indices, I32, dims))


def _largest(value: ir.Value, axis: int, count: int, floats: bool) -> ir.Value:
    """The indices of the largest: for a few, one after the other among those not yet taken."""
    shape = hlo.shape_of(value)
    low, high = [0] * len(shape), list(shape)
    if count > FEW:
        # From behind, so that NaN, which comes last, comes first, and equal ones keep their order.
        turned = _reversed_order(value, axis, floats)
        high[axis] = count
        return hlo.slice_(turned, low, high)
    position = hlo.iota(shape, axis, "i32")
    kind = hlo.element_type(value)
    least = hlo.splat(hlo.identity("maximum", kind), shape, kind)
    others = [d for d in range(len(shape)) if d != axis]
    taken: ir.Value | None = None
    found = []
    for _ in range(count):
        left = value if taken is None else hlo.select(taken, least, value)
        best = hlo.broadcast_in_dim(hlo.reduce(left, [axis], "maximum"), shape, others)
        hit = hlo.compare("EQ", value, best)
        if floats:
            hit = hlo.or_(hit, hlo.and_(hlo.compare("NE", value, value), hlo.compare("NE", best, best)))
        if taken is not None:
            hit = hlo.and_(hit, hlo.not_(taken))
        at = hlo.reduce(hlo.select(hit, position, hlo.splat(shape[axis] - 1, shape, "i32")), [axis], "minimum")
        found.append(hlo.reshape(at, [1 if d == axis else n for d, n in enumerate(shape)]))
        here = hlo.compare("EQ", position, hlo.broadcast_in_dim(at, shape, others))
        taken = here if taken is None else hlo.or_(taken, here)
    return hlo.concatenate(found, axis) if len(found) > 1 else found[0]


def _reversed_order(value: ir.Value, axis: int, floats: bool) -> ir.Value:
    """From the largest, NaN first: the ascending order of the axis turned round, from behind."""
    n = hlo.shape_of(value)[axis]
    turned = hlo.reverse(value, [axis])
    rising = (_by_pairs if n <= SHORT else _by_network)(turned, axis, n, floats, False)
    shape = hlo.shape_of(rising)
    return hlo.reverse(hlo.subtract(hlo.splat(n - 1, shape, "i32"), rising), [axis])
