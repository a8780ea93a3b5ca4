"""Loops in the graph: `scan` through a tensor, `repeat` of a layer, `while-loop`.

What a loop carries keeps its type. A body cannot report: a `metric`, a `counter` or an `update-buffer` in it would
happen several times a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.builtin_call import BuiltinCall
from sexpgpu.compiler.frontend.ops.registry import op
from sexpgpu.compiler.frontend.ops.support.axes import integer
from sexpgpu.compiler.frontend.ops.support.dtype import I32
from sexpgpu.compiler.frontend.ops.support.rounds import RoundIndex, Rounds, counted, row
from sexpgpu.compiler.frontend.ops.support.staged import describe, require_graph, rule_note, show_shape
from sexpgpu.compiler.frontend.ops.support.structure import as_tensors, leaves, rebuilt, same_type
from sexpgpu.compiler.frontend.values import Dim, Tensor, is_true

if TYPE_CHECKING:
    from sexpgpu.diagnostics import Span

GROUP = "control"

#: Each layer has names of its own.
MOST_LAYERS = 10_000

#: A counter is an i32.
LONGEST = (1 << 31) - 1

#: Rounds of a `while-loop` beyond this draw the random numbers of the next round of the loop around it.
MOST_ROUNDS = 1 << 20

#: What a round of a scan computes: carried value and element to carried value and output.
Step = "Callable[[object, object], tuple[object, object]]"


def _length(call: BuiltinCall, xs: object, length: object) -> int:
    """How many rounds a scan takes: the first axis of every tensor it goes through."""
    tensors = leaves(xs)
    if not tensors:
        if length is None:
            call.fail("E-TYPE-002", f"`scan` goes through {describe(xs)}, and has no `:length`", at=call.where("xs"),
                      label="no tensor", notes=rule_note(call), fix="give it tensors, or `:length n`")
        n = integer(call, "length", length)
        if n > LONGEST:
            call.fail("E-VALUE-005", f"`scan` takes at most {LONGEST:,} rounds", at=call.where("length"),
                      label=f"{int(n)} rounds")
        if n < 1:
            call.fail("E-SHAPE-009", f"`scan` of {int(n)} rounds", at=call.where("length"), label=f"{int(n)} rounds")
        return n
    for x in tensors:
        if x.rank == 0:
            call.fail("E-SHAPE-004", "`scan` goes along the first axis, and this is a scalar", at=call.where("xs"),
                      label="a scalar", notes=rule_note(call))
    n = tensors[0].shape[0]
    wrong = next((x for x in tensors if x.shape[0] != n), None)
    if wrong is not None:
        call.fail("E-SHAPE-013", f"`scan` goes through tensors of {int(n)} and of {int(wrong.shape[0])} elements",
                  at=call.where("xs"), label=f"{show_shape(tensors[0].shape)} and {show_shape(wrong.shape)}",
                  notes=rule_note(call))
    if length is not None and length != n:
        call.fail("E-SHAPE-013", f"`:length` is {describe(length)}, and the tensors have {int(n)} elements",
                  at=call.where("length"), label=f"not {int(n)}")
    return n


def _scan(call: BuiltinCall, step: Step, carry: object, xs: object, trips: int, backwards: bool
          ) -> tuple[object, object]:
    """The carried value after all rounds, and the outputs stacked."""
    through = leaves(xs)
    outputs: list[object] = []

    def body(index: RoundIndex, carried: Sequence[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        rows = [row(x.value, index.value, trips, backwards) for x in through]
        after, y = step(rebuilt(carry, carried), rebuilt(xs, rows, drop=1))
        y = as_tensors(call, y)
        outputs.append(y)
        return same_type(call, carry, after), [leaf.value for leaf in leaves(y)]

    results, stacks = counted(call, trips, [leaf.value for leaf in leaves(carry)], body, backwards=backwards, cell=True)
    return rebuilt(carry, results), rebuilt(outputs[0], stacks, lead=(Dim(trips),))


def _blocks(n: int) -> int:
    """How many rounds a block has: the divisor of n next to its root, or the root."""
    root = isqrt(n)
    near = [d for d in range(max(2, root // 2), min(n, 2 * root) + 1) if n % d == 0]
    return min(near, key=lambda d: abs(d - root)) if near else root


def _by_blocks(call: BuiltinCall, step: Step, carry: object, xs: object, trips: int, backwards: bool
               ) -> tuple[object, object]:
    """In blocks of about √n rounds: the way back keeps what each block began with, and the rounds of one block."""
    size = _blocks(trips)
    if size < 2:
        return _scan(call, step, carry, xs, trips, backwards)
    whole = trips // size * size
    rest = trips - whole
    # Backwards, the blocks lie at the end and what is left over in front.
    main, other = ((rest, trips), (0, rest)) if backwards else ((0, whole), (whole, trips))

    def part(x: object, span: tuple[int, int], shape: Sequence[int]) -> object:
        values = [hlo.reshape(hlo.slice_(t.value, [span[0], *[0] * (t.rank - 1)], [span[1], *t.shape[1:]]),
                              [*shape, *t.shape[1:]]) for t in leaves(x)]
        return rebuilt(x, values, drop=1, lead=tuple(Dim(d) for d in shape))

    def block(carried: object, piece: object) -> tuple[object, object]:
        return _scan(call, step, carried, piece, size, backwards)

    carry, ys = _scan(call, block, carry, part(xs, main, [whole // size, size]), whole // size, backwards)
    flat = rebuilt(ys, [hlo.reshape(t.value, [whole, *t.shape[2:]]) for t in leaves(ys)], drop=2, lead=(Dim(whole),))
    if not rest:
        return carry, flat
    carry, more = _scan(call, step, carry, part(xs, other, [rest]), rest, backwards)
    pairs = zip(leaves(flat), leaves(more), strict=True)
    joined = [hlo.concatenate([b.value, a.value] if backwards else [a.value, b.value], 0) for a, b in pairs]
    return carry, rebuilt(flat, joined, drop=1, lead=(Dim(trips),))


@op("scan", "f init xs &key length (reverse false) (remat false)", group=GROUP,
    rule="(carry [x …] -> carry y), carry, [n x …] -> carry, [n y]",
    doc="A loop along the first axis of `xs`, a tensor or a list of them: `f` takes what is carried and an element, "
        "and gives `(list carry y)`. The value is `(list carry ys)`. `:reverse true` begins at the end; without `xs` "
        "(nil) there are `:length` rounds. The way back keeps what each round began with; with `:remat true` only what "
        "blocks of √n rounds began with, and computes the rest again.")
def scan(call: BuiltinCall, f: object, init: object, xs: object, length: object, reverse: object, remat: object
         ) -> object:
    require_graph(call)
    xs = as_tensors(call, xs)
    trips = _length(call, xs, length)

    def step(carry: object, x: object) -> tuple[object, object]:
        made = call.apply(f, carry, x)
        if not isinstance(made, tuple) or len(made) != 2:
            call.fail("E-TYPE-013", f"the function of `scan` gives {describe(made)}, not a list of two",
                      at=call.where("f"), label="not `(list carry y)`",
                      fix="end it with `(list carry y)`; `nil` stands for no output")
        return made

    run = _by_blocks if is_true(remat) and trips > 3 else _scan
    carry, ys = run(call, step, as_tensors(call, init), xs, int(trips), is_true(reverse))
    return (carry, ys)


@op("repeat", "n f init", group=GROUP, rule="n, (h i -> h), h -> h", by_name=True,
    doc="A layer n times, in one loop over stacked parameters: `f` takes what the layer before gave and the layer's "
        "number, a scalar tensor. A `param` in it stands for one in each layer; its name has the number where a "
        "`(scope \"block\" i …)` puts it, else in front of what `f` adds to the name.")
def repeat(call: BuiltinCall, n: object, f: object, init: object) -> object:
    require_graph(call)
    layers = integer(call, "n", n, "the number of layers")
    if layers > MOST_LAYERS:
        call.fail("E-VALUE-005", f"`repeat` takes at most {MOST_LAYERS:,} layers", at=call.where("n"),
                  label=f"{int(layers)} layers")
    if layers < 1:
        call.fail("E-SHAPE-009", f"`repeat` of {int(layers)} layers", at=call.where("n"), label=f"{int(layers)} layers")
    carry = as_tensors(call, init)

    def body(index: RoundIndex, carried: Sequence[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        after = call.apply(f, rebuilt(carry, carried), index)
        return same_type(call, carry, after), []

    results, _ = counted(call, int(layers), [leaf.value for leaf in leaves(carry)], body, layered=True)
    return rebuilt(carry, results)


@op("while-loop", "condition f init", group=GROUP, rule="(carry -> bool), (carry -> carry), carry -> carry",
    grad="none: the number of rounds is not known; `scan` has one",
    doc="`f` of `f` … of `init`, as long as `condition` holds for it: a scalar tensor of booleans.")
def while_loop(call: BuiltinCall, condition: object, f: object, init: object) -> object:
    require_graph(call)
    carry = as_tensors(call, init)
    initial = [leaf.value for leaf in leaves(carry)]
    if not initial:
        call.fail("E-TYPE-002", "`while-loop` carries no tensor", at=call.where("init"), label="nothing to carry")
    trace = call.evaluator.trace
    start, one = hlo.splat(0, [], "i32"), hlo.splat(1, [], "i32")
    types = [start.type, *(v.type for v in initial)]
    loop = hlo.make("stablehlo.while", types, [start, *initial], regions=2)
    test, body = (hlo.block(region, types) for region in loop.regions)
    loops = len(trace.loops)
    trace.branches += 1
    try:
        with ir.InsertionPoint(test):
            answer = call.apply(condition, rebuilt(carry, list(test.arguments)[1:]))
            hlo.return_([_truth(call, answer, call.where("condition"))])
        index = RoundIndex(body.arguments[0], I32, (), call.span)
        trace.loops.append(Rounds(loop, body, index, MOST_ROUNDS, len(trace.path)))
        with ir.InsertionPoint(body):
            after = call.apply(f, rebuilt(carry, list(body.arguments)[1:]))
            values = same_type(call, carry, after)
            hlo.return_([hlo.add(body.arguments[0], one), *values])
    except BaseException:
        loop.erase()
        raise
    finally:
        trace.branches -= 1
        del trace.loops[loops:]
    return rebuilt(carry, list(loop.results)[1:])


def _truth(call: BuiltinCall, answer: object, span: Span) -> ir.Value:
    if isinstance(answer, bool):
        return hlo.splat(answer, [], "i1")
    if isinstance(answer, Tensor) and not answer.shape and answer.dtype.kind == "bool":
        return answer.value
    call.fail("E-TYPE-009", f"the condition of `while-loop` gives {describe(answer)}, not a scalar of booleans",
              at=span, label=f"gives {describe(answer)}")
