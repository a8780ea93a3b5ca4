"""Sorts of keys in rounds of elementwise operations, for GPUs, whose code generators sort a row on one thread.

A few keys are found one after the other, each the least of those beyond the last. Short axes are ranked by comparing
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


def _most(shape: Sequence[int], kind: ir.Type) -> ir.Value:
    return hlo.splat(hlo.identity("minimum", kind), shape, kind)


def _one_by_one(x: ir.Value, axis: int, count: int) -> ir.Value:
    shape = hlo.shape_of(x)
    others, found, left = [d for d in range(len(shape)) if d != axis], [], x
    for _ in range(count):
        best = hlo.reduce(left, [axis], "minimum")
        found.append(hlo.reshape(best, [1 if d == axis else n for d, n in enumerate(shape)]))
        beyond = hlo.compare("GT", x, hlo.broadcast_in_dim(best, shape, others))
        left = hlo.select(beyond, x, _most(shape, hlo.element_type(x)))
    return hlo.concatenate(found, axis) if count > 1 else found[0]


def _by_pairs(x: ir.Value, axis: int) -> ir.Value:
    """The place of each key is the number of those below it."""
    shape, kind = list(hlo.shape_of(x)), hlo.element_type(x)
    # Axis `axis` counts the key, a new one behind it the other.
    pairs = [*shape[:axis + 1], shape[axis], *shape[axis + 1:]]
    one = [d if d <= axis else d + 1 for d in range(len(shape))]
    other = [d if d < axis else d + 1 for d in range(len(shape))]
    mine, theirs = hlo.broadcast_in_dim(x, pairs, one), hlo.broadcast_in_dim(x, pairs, other)
    below = hlo.select(hlo.compare("LT", theirs, mine), hlo.splat(1, pairs, "i32"), hlo.splat(0, pairs, "i32"))
    place = hlo.broadcast_in_dim(hlo.reduce(below, [axis + 1], "add"), pairs, one)
    hit = hlo.compare("EQ", place, hlo.iota(pairs, axis + 1, "i32"))
    return hlo.reduce(hlo.select(hit, mine, _most(pairs, kind)), [axis], "minimum")


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
    (n, *rest), kind = hlo.shape_of(x), hlo.element_type(x)
    size = 1 << (n - 1).bit_length()
    shape = [size, prod(rest)]
    x = hlo.pad(hlo.reshape(x, [n, shape[1]]), _most([], kind), [0, 0], [size - n, 0])
    row, table = hlo.iota([size], 0, "i32"), _rounds(size)
    steps = hlo.constant(table, "i32")

    def step(round_: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        (mine,) = carried
        distance, run = (hlo.broadcast_scalar(hlo.reshape(hlo.dynamic_slice(
            steps, [round_, hlo.splat(c, [], "i32")], [1, 1]), []), [size]) for c in (0, 1))
        theirs = hlo.gather(mine, hlo.xor(row, distance), offset_dims=[1], collapsed=[0], index_map=[0], index_dim=1,
                            sizes=[1, shape[1]], shape=shape)
        none = hlo.splat(0, [size], "i32")
        # The lower one of a pair keeps the lesser key, in every second run the greater.
        low = hlo.compare("EQ", hlo.and_(row, distance), none)
        rising = hlo.compare("EQ", hlo.and_(row, run), none)
        wants_less = hlo.broadcast_in_dim(hlo.compare("EQ", low, rising), shape, [0])
        return [hlo.select(wants_less, hlo.minimum(mine, theirs), hlo.maximum(mine, theirs))]

    found = hlo.counted_loop(len(table), [x], step)[0]
    found = hlo.reshape(hlo.slice_(found, [0, 0], [n, shape[1]]), [n, *rest])
    return hlo.transpose(found, [order.index(d) for d in range(len(order))])


def _sort(s: KeySort) -> ir.Value:
    x = s.op.operands[0]
    if s.few:
        return _one_by_one(x, s.axis, s.first)
    found = (_by_pairs if s.n <= SHORT else _by_network)(x, s.axis)
    limits = [s.first if d == s.axis else n for d, n in enumerate(hlo.shape_of(x))]
    return hlo.slice_(found, [0] * len(limits), limits) if s.first < s.n else found


def apply(module: ir.Module, options: NoOptions) -> None:
    rewrite(module, _sort)


PASS = Pass("sort-rounds", "sorts of keys in rounds of elementwise operations, for GPUs", apply)
