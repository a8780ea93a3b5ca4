"""Loops that fill stacks run in blocks, so that their time is linear in the number of rounds.

A stack that is carried through a loop is copied whole in each round by the code generator, which does not see that the
old one is dead. A block of rounds fills a small stack, and an outer loop moves that into the large one: a round copies
a block, not the whole (two levels below 256 rounds, three above). Applies to carried values of which each round writes
its own row and reads none (`counted.written`); the last block may be shorter, so its bound is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.counted import Count, Written, count_of, written

#: Loops of no more rounds than this stay as they are.
SHORT = 8
#: From this many rounds on there are three levels.
LONG = 256


def levels_of(rounds: int) -> list[int]:
    """How many parts each level has, the innermost first: their product is at least `rounds`."""
    depth = 2 if rounds < LONG else 3
    inner = []
    left = rounds
    for level in range(depth, 1, -1):
        size = max(2, round(left ** (1 / level)))
        size = next((s for s in range(size, size + 3) if left % s == 0), size)
        inner.append(size)
        left = -(-left // size)
    return [*inner, left]


@dataclass(frozen=True, slots=True)
class _Filling:
    """A loop with the stacks it fills, by carried index."""

    op: ir.Operation
    count: Count
    stacks: dict[int, Written]

    @property
    def body(self) -> ir.Block:
        return self.op.regions[1].blocks[0]


def _loop(bound: ir.Value, initial: Sequence[ir.Value],
          step: Callable[[ir.Value, Sequence[ir.Value]], Sequence[ir.Value]]) -> list[ir.Value]:
    start, one = hlo.splat(0, [], "i32"), hlo.splat(1, [], "i32")
    return hlo.while_([start, *initial], lambda c: hlo.compare("LT", c[0], bound),
                      lambda c: [hlo.add(c[0], one), *step(c[0], c[1:])])[1:]


def _number(n: int) -> ir.Value:
    return hlo.splat(n, [], "i32")


def _round(loop: _Filling, index: ir.Value, local: ir.Value, size: int, carried: Sequence[ir.Value],
           stacks: Sequence[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
    """The body once: round `index` of all, `local` of its block of `size`."""
    body, count = loop.body, loop.count
    kind = hlo.element_type(body.arguments[count.index])
    mapping = dict(zip([a for i, a in enumerate(body.arguments) if i != count.index and i not in loop.stacks], carried,
                       strict=True))
    mapping[body.arguments[count.index]] = hlo.convert(index, kind)
    *ops, end = [op.operation for op in body.operations]
    skipped = {w.place for w in loop.stacks.values()}
    for place, op in enumerate(ops):
        if place not in skipped:
            fn.clone_one(op, mapping)
    filled = []
    for stack, w in zip(stacks, loop.stacks.values(), strict=True):
        at = local if w.order == "forward" else hlo.subtract(_number(size - 1), local)
        filled.append(_put(stack, mapping.get(w.op.operands[1], w.op.operands[1]), at))
    after = [mapping.get(v, v) for i, v in enumerate(end.operands) if i != count.index and i not in loop.stacks]
    return after, filled


def _put(stack: ir.Value, part: ir.Value, at: ir.Value) -> ir.Value:
    return hlo.dynamic_update_slice(stack, part, [at, *[_number(0)] * (len(hlo.shape_of(stack)) - 1)])


def _run(loop: _Filling, levels: Sequence[int], base: ir.Value, carried: Sequence[ir.Value], even: bool
         ) -> tuple[list[ir.Value], list[ir.Value]]:
    """The rounds from `base` on, as many as the levels hold and there are: carried values, and stacks of that size."""
    *inner, parts = levels
    unit = 1
    for n in inner:
        unit *= n
    rounds = loop.count.trips
    outermost = not isinstance(base.owner, ir.Block) and base.owner.name == "stablehlo.constant"
    bound = _number(-(-rounds // unit)) if outermost else _number(parts)
    if not even and not outermost:
        # What is left, in units, rounded up; the last block may be shorter.
        left = hlo.subtract(_number(rounds + unit - 1), base)
        bound = hlo.minimum(bound, hlo.divide(left, _number(unit)) if unit > 1 else left)
    kinds = [ir.RankedTensorType(loop.op.operands[i].type) for i in loop.stacks]
    empty = [hlo.splat(0, [parts * unit, *t.shape[1:]], t.element_type) for t in kinds]
    n = len(carried)

    def step(k: ir.Value, values: Sequence[ir.Value]) -> list[ir.Value]:
        start = hlo.add(base, k if unit == 1 else hlo.multiply(k, _number(unit)))
        if not inner:
            after, stacks = _round(loop, start, k, parts, values[:n], values[n:])
            return [*after, *stacks]
        after, part = _run(loop, inner, start, values[:n], even)
        places = [k if w.order == "forward" else hlo.subtract(_number(parts - 1), k) for w in loop.stacks.values()]
        return [*after, *(_put(s, p, hlo.multiply(at, _number(unit)))
                          for s, p, at in zip(values[n:], part, places, strict=True))]

    results = _loop(bound, [*carried, *empty], step)
    return results[:n], results[n:]


def _rewrite(loop: _Filling) -> None:
    op, count = loop.op, loop.count
    levels = levels_of(count.trips)
    held = 1
    for n in levels:
        held *= n
    others = [i for i in range(len(op.operands)) if i != count.index and i not in loop.stacks]
    with ir.InsertionPoint(op), op.location:
        carried, stacks = _run(loop, levels, _number(0), [op.operands[i] for i in others], held == count.trips)
        whole = []
        for stack, w in zip(stacks, loop.stacks.values(), strict=True):
            shape = hlo.shape_of(stack)
            first = 0 if w.order == "forward" else held - count.trips
            whole.append(stack if held == count.trips else hlo.slice_(
                stack, [first, *[0] * (len(shape) - 1)], [first + count.trips, *shape[1:]]))
        last = hlo.splat(count.trips, [], hlo.element_type(op.operands[count.index]))
    new = {count.index: last, **dict(zip(others, carried, strict=True)), **dict(zip(loop.stacks, whole, strict=True))}
    for i, result in enumerate(op.results):
        result.replace_all_uses_with(new[i])
    op.erase()


def _inner_first(block: ir.Block) -> list[ir.Operation]:
    found = []
    for op in block.operations:
        for region in op.operation.regions:
            for inner in region.blocks:
                found += _inner_first(inner)
        if op.operation.name == "stablehlo.while":
            found.append(op.operation)
    return found


def apply(module: ir.Module, options: NoOptions) -> None:
    for func in fn.functions(module):
        for op in _inner_first(fn.body(func)):
            count = count_of(op)
            if count is None or count.trips <= SHORT or count.start != 0 or count.step != 1:
                continue
            body = op.regions[1].blocks[0]
            stacks = {i: w for i in range(len(op.operands)) if i != count.index
                      and (w := written(body, i, count)) is not None}
            if stacks:
                _rewrite(_Filling(op, count, stacks))


PASS = Pass("blocks", "loops that fill stacks run in blocks, in linear time", apply)
