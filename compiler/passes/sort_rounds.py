"""Sorts that give indices in rounds of elementwise operations, for GPUs: the code generator sorts a row on one thread.

A few are found one after the other. Short axes are ranked by comparing
every pair, which fuses; long ones go through a bitonic network (Batcher 1968), a loop of log²n rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.key_sorts import KeySort, rewrite

#: Axes up to this length are ranked by comparing every pair.
SHORT = 128
#: The largest number there is to sort.
MOST = (1 << 31) - 1


def _before(a: ir.Value, b: ir.Value, i: ir.Value, j: ir.Value) -> ir.Value:
    """Whether number a at index i stands before number b at index j."""
    return hlo.or_(hlo.compare("LT", a, b), hlo.and_(hlo.compare("EQ", a, b), hlo.compare("LT", i, j)))


def _one_by_one(x: ir.Value, axis: int, count: int) -> ir.Value:
    """Each time the first of the least among those not yet taken."""
    shape = hlo.shape_of(x)
    others = [d for d in range(len(shape)) if d != axis]
    index, most = hlo.iota(shape, axis, "i32"), hlo.splat(MOST, shape, "i32")
    taken, found = hlo.splat(False, shape, "i1"), []
    for _ in range(count):
        best = hlo.broadcast_in_dim(hlo.reduce(hlo.select(taken, most, x), [axis], "minimum"), shape, others)
        hit = hlo.and_(hlo.compare("EQ", x, best), hlo.not_(taken))
        at = hlo.reduce(hlo.select(hit, index, most), [axis], "minimum")
        found.append(hlo.reshape(at, [1 if d == axis else n for d, n in enumerate(shape)]))
        taken = hlo.or_(taken, hlo.compare("EQ", index, hlo.broadcast_in_dim(at, shape, others)))
    return hlo.concatenate(found, axis) if count > 1 else found[0]


def _by_pairs(x: ir.Value, axis: int) -> ir.Value:
    """The place of each number is the count of those before it; the indices are that permutation's inverse."""
    shape = list(hlo.shape_of(x))
    # Axis `axis` counts the number, a new one behind it the other.
    pairs = [*shape[:axis + 1], shape[axis], *shape[axis + 1:]]
    one = [d if d <= axis else d + 1 for d in range(len(shape))]
    other = [d if d < axis else d + 1 for d in range(len(shape))]
    mine, theirs = hlo.broadcast_in_dim(x, pairs, one), hlo.broadcast_in_dim(x, pairs, other)
    i, j, none = hlo.iota(pairs, axis, "i32"), hlo.iota(pairs, axis + 1, "i32"), hlo.splat(0, pairs, "i32")
    ahead = hlo.select(_before(theirs, mine, j, i), hlo.splat(1, pairs, "i32"), none)
    place = hlo.broadcast_in_dim(hlo.reduce(ahead, [axis + 1], "add"), pairs, one)
    return hlo.reduce(hlo.select(hlo.compare("EQ", place, j), i, none), [axis], "add")


def _rounds(size: int) -> np.ndarray:
    """Of each round of the network: the distance of the keys compared, and the length of the runs it sorts."""
    found, run = [], 2
    while run <= size:
        distance = run // 2
        while distance:
            found.append((distance, run))
            distance //= 2
        run *= 2
    return np.array(found, np.int32)


def _by_network(x: ir.Value, axis: int) -> ir.Value:
    """The axis stands first, filled up to a power of two with what comes last."""
    order = [axis, *(d for d in range(len(hlo.shape_of(x))) if d != axis)]
    x = hlo.transpose(x, order)
    n, *rest = hlo.shape_of(x)
    shape = [1 << (n - 1).bit_length(), prod(rest)]
    x = hlo.pad(hlo.reshape(x, [n, shape[1]]), hlo.splat(MOST, [], "i32"), [0, 0], [shape[0] - n, 0])
    row, table = hlo.iota(shape[:1], 0, "i32"), _rounds(shape[0])
    steps = hlo.constant(table, "i32")

    def step(round_: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        distance, run = (hlo.broadcast_scalar(hlo.reshape(hlo.dynamic_slice(
            steps, [round_, hlo.splat(c, [], "i32")], [1, 1]), []), shape[:1]) for c in (0, 1))
        partner = hlo.xor(row, distance)
        theirs = [hlo.gather(v, partner, offset_dims=[1], collapsed=[0], index_map=[0], index_dim=1,
                             sizes=[1, shape[1]], shape=shape) for v in carried]
        none = hlo.splat(0, shape[:1], "i32")
        # The lower one of a pair keeps what comes first, in every second run what comes last.
        low = hlo.compare("EQ", hlo.and_(row, distance), none)
        rising = hlo.compare("EQ", hlo.and_(row, run), none)
        wants_first = hlo.broadcast_in_dim(hlo.compare("EQ", low, rising), shape, [0])
        keep = hlo.compare("EQ", _before(carried[0], theirs[0], carried[1], theirs[1]), wants_first)
        return [hlo.select(keep, mine, other) for mine, other in zip(carried, theirs, strict=True)]

    found = hlo.counted_loop(len(table), [x, hlo.iota(shape, 0, "i32")], step)[1]
    found = hlo.reshape(hlo.slice_(found, [0, 0], [n, shape[1]]), [n, *rest])
    return hlo.transpose(found, [order.index(d) for d in range(len(order))])


def _sort(s: KeySort) -> ir.Value:
    if s.few:
        return _one_by_one(s.order, s.axis, s.first)
    found = (_by_pairs if s.n <= SHORT else _by_network)(s.order, s.axis)
    limits = [s.first if d == s.axis else n for d, n in enumerate(hlo.shape_of(s.order))]
    return hlo.slice_(found, [0] * len(limits), limits) if s.first < s.n else found


def apply(module: ir.Module, options: NoOptions) -> None:
    rewrite(module, _sort)


PASS = Pass("sort-rounds", "sorts that give indices in rounds of elementwise operations, for GPUs", apply)
