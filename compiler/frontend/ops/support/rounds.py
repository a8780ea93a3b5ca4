"""A counted loop in the making: its body is staged aside, and moved into the loop once it is known what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.support.dtype import I32
from sexpgpu.compiler.frontend.values import Dim, Tensor
from sexpgpu.diagnostics.record import fresh, record

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.builtin_call import BuiltinCall
    from sexpgpu.compiler.frontend.trace import Leaving


@record(eq=False)
class RoundIndex(Tensor):
    """The number of a round, an i32 scalar; in a `scope` it stands for each of the layers."""


@record(eq=False)
class Rounds:
    """One loop around the place that is being staged. `place` is the operation before which what does not belong into
    the loop is put; `depth` the number of scopes around it. In a `layered` loop every parameter is a stack of one for
    each round, and `layers` holds the parts of those that were met, buffers too; `leaving` is that of a `Region`."""

    place: ir.Operation
    block: ir.Block
    index: RoundIndex
    trips: int
    depth: int
    layered: bool = False
    layers: dict[str, Tensor] = fresh(factory=dict)
    leaving: dict[tuple[str, str], Leaving] = fresh(factory=dict)


#: What a round gives: the carried values after it, and the rows of the stacks it fills.
Body = "Callable[[RoundIndex, Sequence[ir.Value]], tuple[Sequence[ir.Value], Sequence[ir.Value]]]"


def counted(call: BuiltinCall, trips: int, initial: Sequence[ir.Value], body: Body, *, layered: bool = False,
            backwards: bool = False, cell: bool = False) -> tuple[list[ir.Value], list[ir.Value]]:
    """The carried values after all rounds, and the stacks `[trips, …]`; with `backwards`, round r fills row
    `trips - 1 - r`. `cell` is for `hlo.CELL`."""
    trace = call.evaluator.trace
    start, one, bound = (hlo.splat(n, [], "i32") for n in (0, 1, trips))
    holder = ir.Operation.create("scf.execute_region", regions=1)
    types = [start.type, *(v.type for v in initial)]
    block = hlo.block(holder.regions[0], types)
    index = RoundIndex(block.arguments[0], I32, (), call.span)
    rounds = Rounds(holder, block, index, trips, len(trace.path), layered)
    trace.loops.append(rounds)
    try:
        with ir.InsertionPoint(block):
            with trace.within_region(rounds):
                after, rows = body(index, list(block.arguments)[1:])
            own = len(rows)
            rows = [*rows, *(v for leaving in rounds.leaving.values() for v in leaving.values)]
            row_types = [ir.RankedTensorType(v.type) for v in rows]
            stacks = [block.add_argument(hlo.tensor_type([trips, *t.shape], t.element_type), ir.Location.current)
                      for t in row_types]
            at = hlo.subtract(hlo.splat(trips - 1, [], "i32"), block.arguments[0]) if backwards else block.arguments[0]
            zero = hlo.splat(0, [], "i32")
            filled = [hlo.dynamic_update_slice(s, hlo.reshape(v, [1, *t.shape]), [at, *[zero] * len(t.shape)])
                      for s, v, t in zip(stacks, rows, row_types, strict=True)]
            hlo.return_([hlo.add(block.arguments[0], one), *after, *filled])
        empty = [hlo.splat(0, [trips, *t.shape], t.element_type) for t in row_types]
        every = [*types, *(s.type for s in stacks)]
        loop = hlo.make("stablehlo.while", every, [start, *initial, *empty],
                        {hlo.CELL: ir.UnitAttr.get()} if cell else {}, regions=2)
        test = hlo.block(loop.regions[0], every)
        with ir.InsertionPoint(test):
            hlo.return_([hlo.compare("LT", test.arguments[0], bound)])
        block.append_to(loop.regions[1])
    finally:
        trace.loops.pop()
        holder.erase()
    results, stacks = list(loop.results)[1:len(initial) + 1], list(loop.results)[len(initial) + 1:]
    trace.left(rounds, stacks[own:])
    return results, stacks[:own]


def row(stack: ir.Value, index: ir.Value, trips: int, backwards: bool = False) -> ir.Value:
    """Row `index` of a stack, or that from the end, without its axis."""
    shape = hlo.shape_of(stack)[1:]
    zero = hlo.splat(0, [], "i32")
    at = hlo.subtract(hlo.splat(trips - 1, [], "i32"), index) if backwards else index
    return hlo.reshape(hlo.dynamic_slice(stack, [at, *[zero] * len(shape)], [1, *shape]), shape)


def layer(stack: Tensor, rounds: Rounds) -> Tensor:
    """The part of a stack of parameters that belongs to the round."""
    return Tensor(row(stack.value, rounds.index.value, rounds.trips), stack.dtype,
                  tuple(Dim(d) for d in stack.shape[1:]), stack.span)
