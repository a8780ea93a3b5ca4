"""Light rounds run several at a time, and loops that fill stacks in blocks: their time is linear in the rounds.

Each time around, the host records and submits what the device is to do, which costs more than the arithmetic of a small
cell. So up to eight rounds of a light body of a loop through time (`hlo.CELL`) stand in one; what is left over stands
after the loop.

A stack that is carried through a loop is copied whole each time around by the code generator, which does not see that
the old one is dead. A block of rounds fills a small stack, and an outer loop moves that into the large one: a round
copies a block, not the whole. Applies to carried values of which each round writes its own row and reads none
(`counted.written`); the last block may be shorter, so its bound is computed. A small stack is copied in no time: it is
carried on as it is, so that what a layer reports makes a module of many layers no larger than one of few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.counted import Count, Written, count_of, written

#: Loops of no more rounds than this stay as they are.
SHORT = 8
#: From this many rounds on there are three levels.
LONG = 256
#: Numbers in a stack that is copied every round, at most.
SMALL = 1 << 12
#: Rounds that stand in one, at most.
MOST_TOGETHER = 8
#: A light body: operations that compute, and the numbers all of them give.
LIGHT_OPERATIONS, LIGHT_NUMBERS = 128, 1 << 19


def together(rounds: int) -> int:
    """How many rounds stand in one: few are left over, else as many as may be."""
    return min(range(MOST_TOGETHER // 2, MOST_TOGETHER + 1), key=lambda n: (rounds % n, -n))


def levels_of(units: int, depth: int) -> list[int]:
    """How many parts each level has, the innermost first: their product is at least `units`."""
    inner = []
    left = units
    for level in range(depth, 1, -1):
        size = max(2, round(left ** (1 / level)))
        size = next((s for s in range(size, size + 3) if left % s == 0), size)
        inner.append(size)
        left = -(-left // size)
    return [*inner, left]


def _is_light(body: ir.Block) -> bool:
    ops = [op.operation for op in body.operations][:-1]
    numbers = sum(prod(hlo.shape_of(r)) for op in ops for r in op.results if op.name != "stablehlo.constant")
    return not any(len(op.regions) and op.name != "stablehlo.reduce" for op in ops) and numbers <= LIGHT_NUMBERS \
        and sum(op.name != "stablehlo.constant" for op in ops) <= LIGHT_OPERATIONS


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop with the stacks it fills, by carried index; `unit` rounds stand in one."""

    op: ir.Operation
    count: Count
    stacks: dict[int, Written]
    unit: int

    @property
    def body(self) -> ir.Block:
        return self.op.regions[1].blocks[0]

    @property
    def rounds(self) -> int:
        """Those in whole units."""
        return self.count.trips // self.unit * self.unit


def _loop(bound: ir.Value, initial: Sequence[ir.Value],
          step: Callable[[ir.Value, Sequence[ir.Value]], Sequence[ir.Value]]) -> list[ir.Value]:
    start, one = hlo.splat(0, [], "i32"), hlo.splat(1, [], "i32")
    return hlo.while_([start, *initial], lambda c: hlo.compare("LT", c[0], bound),
                      lambda c: [hlo.add(c[0], one), *step(c[0], c[1:])])[1:]


def _number(n: int) -> ir.Value:
    return hlo.splat(n, [], "i32")


def _round(loop: _Loop, index: ir.Value, carried: Sequence[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
    """The body once, round `index`: what is carried on, and the rows of the stacks."""
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
    rows = [w.op.operands[1] for w in loop.stacks.values()]
    after = [v for i, v in enumerate(end.operands) if i != count.index and i not in loop.stacks]
    return [mapping.get(v, v) for v in after], [mapping.get(v, v) for v in rows]


def _rounds(loop: _Loop, base: ir.Value, carried: Sequence[ir.Value], number: int
            ) -> tuple[list[ir.Value], list[ir.Value]]:
    """Some rounds from `base` on, one after the other: what is carried on, and the parts of the stacks."""
    after, rows = list(carried), []
    for k in range(number):
        after, row = _round(loop, hlo.add(base, _number(k)) if k else base, after)
        rows.append(row)
    parts = [list(part) if w.order == "forward" else list(reversed(part))
             for part, w in zip(zip(*rows, strict=True), loop.stacks.values(), strict=True)]
    return after, [hlo.concatenate(p, 0) if number > 1 else p[0] for p in parts]


def _put(stack: ir.Value, part: ir.Value, at: ir.Value) -> ir.Value:
    return hlo.dynamic_update_slice(stack, part, [at, *[_number(0)] * (len(hlo.shape_of(stack)) - 1)])


def _run(loop: _Loop, levels: Sequence[int], base: ir.Value, carried: Sequence[ir.Value], even: bool
         ) -> tuple[list[ir.Value], list[ir.Value]]:
    """The rounds from `base` on, as many as the levels hold and there are: carried values, and stacks of that size."""
    if not levels:
        return _rounds(loop, base, carried, loop.unit)
    *inner, parts = levels
    unit = loop.unit * prod(inner)
    outermost = not isinstance(base.owner, ir.Block) and base.owner.name == "stablehlo.constant"
    bound = _number(-(-loop.rounds // unit)) if outermost else _number(parts)
    if not even and not outermost:
        # What is left, in units, rounded up; the last block may be shorter.
        left = hlo.subtract(_number(loop.rounds + unit - 1), base)
        bound = hlo.minimum(bound, hlo.divide(left, _number(unit)) if unit > 1 else left)
    kinds = [ir.RankedTensorType(loop.op.operands[i].type) for i in loop.stacks]
    empty = [hlo.splat(0, [parts * unit, *t.shape[1:]], t.element_type) for t in kinds]
    n = len(carried)

    def step(k: ir.Value, values: Sequence[ir.Value]) -> list[ir.Value]:
        start = hlo.add(base, k if unit == 1 else hlo.multiply(k, _number(unit)))
        after, part = _run(loop, inner, start, values[:n], even)
        places = {}
        for order in {w.order: None for w in loop.stacks.values()}:
            block = k if order == "forward" else hlo.subtract(_number(parts - 1), k)
            places[order] = hlo.multiply(block, _number(unit)) if unit > 1 else block
        return [*after, *(_put(s, p, places[w.order])
                          for s, p, w in zip(values[n:], part, loop.stacks.values(), strict=True))]

    results = _loop(bound, [*carried, *empty], step)
    return results[:n], results[n:]


def _rewrite(loop: _Loop) -> None:
    op, count = loop.op, loop.count
    units, rest = divmod(count.trips, loop.unit)
    depth = 1 + (count.trips >= LONG) + (loop.unit == 1) if loop.stacks else 1
    levels = levels_of(units, depth)
    held = prod(levels) * loop.unit
    others = [i for i in range(len(op.operands)) if i != count.index and i not in loop.stacks]
    with ir.InsertionPoint(op), op.location:
        carried, stacks = _run(loop, levels, _number(0), [op.operands[i] for i in others], held == loop.rounds)
        whole = []
        for stack, w in zip(stacks, loop.stacks.values(), strict=True):
            shape = hlo.shape_of(stack)
            first = 0 if w.order == "forward" else held - loop.rounds
            whole.append(stack if held == loop.rounds else hlo.slice_(
                stack, [first, *[0] * (len(shape) - 1)], [first + loop.rounds, *shape[1:]]))
        if rest:
            carried, parts = _rounds(loop, _number(loop.rounds), carried, rest)
            whole = [hlo.concatenate([s, p] if w.order == "forward" else [p, s], 0)
                     for s, p, w in zip(whole, parts, loop.stacks.values(), strict=True)]
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
            cell = hlo.CELL in op.attributes
            if cell:
                del op.attributes[hlo.CELL]
            count = count_of(op)
            if count is None or count.trips <= SHORT or count.start != 0 or count.step != 1:
                continue
            body = op.regions[1].blocks[0]
            stacks = {i: w for i in range(len(op.operands)) if i != count.index
                      and (w := written(body, i, count)) is not None}
            unit = together(count.trips) if cell and _is_light(body) else 1
            if unit == 1:
                stacks = {i: w for i, w in stacks.items() if prod(hlo.shape_of(body.arguments[i])) > SMALL}
            if stacks or unit > 1:
                _rewrite(_Loop(op, count, stacks, unit))


PASS = Pass("blocks", "light rounds run several at a time, and loops that fill stacks in blocks", apply, optional=True)
