"""Derivative of a counted loop: the loop again, backwards, over the carried values each round began with.

The forward loop is replaced by one that also stacks the carried values which the backward round reads (found by a
trial, so a stack of outputs that is only written is not itself stacked); the backward round computes the body once more
from them. Memory is the rounds times those values, time that of one more forward pass.

A value from outside of which each round reads its own row (what `scan` goes through, the parameters of `repeat`) gets
its cotangent row by row, into a stack that is written once; any other one is summed over the rounds. A stack that the
loop fills (what `scan` gives) is not carried backwards: each round reads the cotangent of its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.autodiff.branches import replay
from sexpgpu.compiler.passes.autodiff.reverse import active_values, backpropagate, inputs, is_real
from sexpgpu.compiler.passes.autodiff.rules import NoDerivative, Primal, Thunk, rule
from sexpgpu.compiler.passes.counted import Count, Order, Written, count_of, is_row, order_of, written


class _Loop:
    """One loop to be reversed: who takes part, and what each round needs."""

    def __init__(self, p: Primal, count: Count) -> None:
        self.op, self.count, self.cotangents = p.op, count, p.cotangents
        self.body = p.op.regions[1].blocks[0]
        self.outside = fn.captured(p.op)
        self.wanted = [v for v in self.outside if v in p.active]
        self.rows = {v: found for v in self.wanted if (found := self._rows_of(v)) is not None}
        self.summed = [v for v in self.wanted if v not in self.rows]
        active = self._active_carries(p)
        filled = {i: written(self.body, i, count) for i in active if p.cotangents[i] is not None}
        self.filled = {i: w for i, w in filled.items() if w is not None}
        self.carried = [i for i in active if i not in self.filled]
        self.given = {i: p.cotangents[i] for i in self.carried}

    def _active_carries(self, p: Primal) -> list[int]:
        """Carried values that depend on an active input and on which an arrived cotangent depends, in any round."""
        ops = [op.operation for op in self.body.operations][:-1]
        returned = list(fn.last(self.body).operands)
        arguments = list(self.body.arguments)
        varied = {i for i, v in enumerate(p.operands) if v in p.active}
        useful = {i for i, g in enumerate(p.cotangents) if g is not None}
        while True:
            everything = [v for i, v in enumerate(returned) if is_real(v)]
            reached = active_values(ops, [*(arguments[i] for i in varied), *self.wanted], everything)
            new_varied = varied | {i for i, v in enumerate(returned) if v in reached}
            needed = active_values(ops, [a for a in arguments if is_real(a)], [returned[i] for i in useful])
            new_useful = useful | {i for i, a in enumerate(arguments) if a in needed}
            if (new_varied, new_useful) == (varied, useful):
                return sorted(i for i in varied & useful if is_real(arguments[i]))
            varied, useful = new_varied, new_useful

    def _rows_of(self, value: ir.Value) -> tuple[Order, list[int]] | None:
        """Where every use of an outside value reads the round's row: the order, and the places of the reads in the
        body."""
        orders, places = set(), []
        counter = self.body.arguments[self.count.index]
        for place, op in enumerate(self.body.operations):
            if value not in inputs(op.operation):
                continue
            if op.operation.name != "stablehlo.dynamic_slice" or op.operation.operands[0] != value or not is_row(
                    hlo.shape_of(value), hlo.shape_of(op.operation.results[0])):
                return None
            orders.add(order_of(op.operation.operands[1], counter, self.count))
            places.append(place)
        (order, *others) = orders or {None}
        return None if order is None or others or hlo.shape_of(value)[0] != self.count.trips else (order, places)

    def backward(self, arguments: Sequence[ir.Value], cotangents: Sequence[ir.Value], rows_given: Sequence[ir.Value]
                 ) -> tuple[list[ir.Operation], list[ir.Value | None]]:
        """One round back from the values it began with: replayed operations; cotangents of carried and summed values,
        and of the rows."""
        ops, returned = replay(self.body, arguments)
        seeds = [(returned[i], g) for i, g in zip(self.carried, cotangents, strict=True)]
        seeds += [(ops[w.place].operands[1], g) for w, g in zip(self.filled.values(), rows_given, strict=True)]
        reads = [[ops[place].results[0] for place in places] for _, places in self.rows.values()]
        n, m = len(self.carried), len(self.carried) + len(self.summed)
        found = backpropagate(ops, seeds, [*(arguments[i] for i in self.carried), *self.summed,
                                           *(v for read in reads for v in read)])
        rest = iter(found[m:])
        rows = [_sum([g for g in [next(rest) for _ in read] if g is not None]) for read in reads]
        return ops, [*found[:n], *found[n:m], *rows]

    def rows_given(self) -> list[tuple[Written, ir.Value]]:
        """The filled stacks with their cotangents."""
        return [(w, self.cotangents[i]) for i, w in self.filled.items()]

    def invariant(self, index: int) -> bool:
        return fn.last(self.body).operands[index] == self.body.arguments[index]

    def stacked(self) -> list[int]:
        """Carried values that the backward round reads and cannot tell otherwise: by a trial that is thrown away."""
        types = [a.type for a in self.body.arguments]
        trial = hlo.make("stablehlo.case", [], [hlo.splat(0, [], "i32")], regions=1)
        rows = [w.op.operands[1].type for w in self.filled.values()]
        block = hlo.block(trial.regions[0], [*types, *(types[i] for i in self.carried), *rows])
        arguments = list(block.arguments)
        n, m = len(types), len(types) + len(self.carried)
        with ir.InsertionPoint(block):
            _, found = self.backward(arguments[:n], arguments[n:m], arguments[m:])
            hlo.return_([v for v in found if v is not None])
        fn.sweep(block)
        needed = [i for i in range(n) if any(True for _ in arguments[i].uses)]
        index_owner = trial.operands[0].owner
        trial.erase()
        index_owner.erase()
        return [i for i in needed if i != self.count.index and not self.invariant(i)]


def _alike(loop: ir.Operation, results: Sequence[ir.Value]) -> None:
    """What may be done with the rounds of a loop may be done with those of the one that gives these results."""
    if hlo.CELL in loop.attributes and results:
        results[0].owner.attributes[hlo.CELL] = loop.attributes[hlo.CELL]


def _index(counter: ir.Value, count: Count) -> ir.Value:
    """The round's number, from the counter."""
    kind = hlo.element_type(counter)
    index = counter if count.start == 0 else hlo.subtract(counter, hlo.splat(count.start, [], kind))
    return index if count.step == 1 else hlo.divide(index, hlo.splat(count.step, [], kind))


def _with_stacks(loop: _Loop, stacked: Sequence[int]) -> list[ir.Value]:
    """A forward loop that takes over from the old one and also gives these stacks, `[trips, …]`."""
    op, count = loop.op, loop.count
    n = len(op.operands)
    with ir.InsertionPoint(op), op.location:
        types = [ir.RankedTensorType(loop.body.arguments[i].type) for i in stacked]
        initial = [*op.operands, *(hlo.splat(0, [count.trips, *t.shape], t.element_type) for t in types)]
        test, body = (region.blocks[0] for region in op.regions)

        def step(carried: Sequence[ir.Value]) -> list[ir.Value]:
            index = _index(carried[count.index], count)
            stacks = [_write(s, carried[i], index) for s, i in zip(carried[n:], stacked, strict=True)]
            return [*replay(body, carried[:n])[1], *stacks]

        results = hlo.while_(initial, lambda carried: replay(test, carried[:n])[1][0], step)
        _alike(op, results)
    for old, new in zip(op.results, results[:n], strict=True):
        old.replace_all_uses_with(new)
    return results[n:]


def _sum(values: Sequence[ir.Value]) -> ir.Value | None:
    return reduce(hlo.add, values) if values else None


def _write(stack: ir.Value, value: ir.Value, index: ir.Value) -> ir.Value:
    return _put(stack, hlo.reshape(value, [1, *hlo.shape_of(value)]), index)


def _put(stack: ir.Value, row: ir.Value, index: ir.Value) -> ir.Value:
    zero = hlo.splat(0, [], hlo.element_type(index))
    return hlo.dynamic_update_slice(stack, row, [index, *[zero] * (len(hlo.shape_of(row)) - 1)])


def _row(stack: ir.Value, index: ir.Value) -> ir.Value:
    """`[1, …]`"""
    shape = hlo.shape_of(stack)[1:]
    zero = hlo.splat(0, [], hlo.element_type(index))
    return hlo.dynamic_slice(stack, [index, *[zero] * len(shape)], [1, *shape])


def _read(stack: ir.Value, index: ir.Value) -> ir.Value:
    return hlo.reshape(_row(stack, index), hlo.shape_of(stack)[1:])


def _reverse(loop: _Loop) -> list[ir.Value]:
    """Builds both loops; the cotangents of the active carried values, then of the captured ones."""
    op, count, stacked = loop.op, loop.count, loop.stacked()
    stacks = _with_stacks(loop, stacked)
    kinds = [a.type for a in loop.body.arguments]
    invariant = {i: op.operands[i] for i in range(len(kinds)) if loop.invariant(i)}
    first = [hlo.zeros_like(op.operands[i]) if loop.given[i] is None else loop.given[i] for i in loop.carried]
    totals = [hlo.zeros_like(v) for v in (*loop.summed, *loop.rows)]
    n, m = len(first), len(first) + len(loop.summed)

    def round_back(j: ir.Value, values: Sequence[ir.Value]) -> list[ir.Value]:
        r = hlo.subtract(hlo.splat(count.trips - 1, [], "i32"), j)
        begun = [_begun(i, kind, r, count, stacked, stacks, invariant) for i, kind in enumerate(kinds)]
        rows = [_row(g, r if w.order == "forward" else j) for w, g in loop.rows_given()]
        _, found = loop.backward(begun, values[:n], rows)
        carried = [hlo.zeros_like(v) if g is None else g for v, g in zip(values[:n], found[:n], strict=True)]
        summed = [v if g is None else hlo.add(v, g) for v, g in zip(values[n:m], found[n:m], strict=True)]
        by_row = [v if g is None else _put(v, g, r if order == "forward" else j)
                  for v, g, (order, _) in zip(values[m:], found[m:], loop.rows.values(), strict=True)]
        return [*carried, *summed, *by_row]

    results = hlo.counted_loop(count.trips, [*first, *totals], round_back)
    _alike(op, results)
    op.erase()
    return results


def _begun(i: int, kind: ir.Type, r: ir.Value, count: Count, stacked: Sequence[int], stacks: Sequence[ir.Value],
           invariant: dict[int, ir.Value]) -> ir.Value:
    """Carried value `i` as round `r` began with it."""
    if i == count.index:
        element = ir.RankedTensorType(kind).element_type
        scaled = hlo.multiply(hlo.convert(r, element), hlo.splat(count.step, [], element))
        return hlo.add(scaled, hlo.splat(count.start, [], element))
    if i in invariant:
        return invariant[i]
    if i in stacked:
        return _read(stacks[stacked.index(i)], r)
    tensor = ir.RankedTensorType(kind)
    return hlo.splat(0, tensor.shape, tensor.element_type)


@rule("stablehlo.while")
def _while(p: Primal) -> Sequence[Thunk | None]:
    count = count_of(p.op)
    if count is None:
        raise NoDerivative("the number of rounds is not known at compile time", "E-GRAD-003")
    loop = _Loop(p, count)
    operands, outside = p.operands, loop.outside

    @cache
    def cotangents() -> list[ir.Value]:
        return _reverse(loop)

    def of_carried(i: int) -> Thunk | None:
        return (lambda: cotangents()[loop.carried.index(i)]) if i in loop.carried else None

    captured_in_order = [*loop.summed, *loop.rows]

    def of_captured(v: ir.Value) -> Thunk | None:
        at = captured_in_order.index(v) if v in captured_in_order else None
        return None if at is None else lambda: cotangents()[len(loop.carried) + at]

    return [*(of_carried(i) for i in range(len(operands))), *(of_captured(v) for v in outside)]
