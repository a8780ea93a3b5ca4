"""Branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from iree.compiler import ir
from sexpgpu.compiler.hlo.constants import splat
from sexpgpu.compiler.hlo.core import block, make, return_
from sexpgpu.compiler.hlo.elementwise import add, compare


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
