"""Attention as one kernel forward and one back, for processors with AVX2.

The prelude's `attention` (compiler/frontend/prelude/attention.sexp) is two products around a softmax, and its gradient
five around the same, with six tensors of the size of the scores between them: where they are larger than a cache, what
it takes is their traffic. The kernels (compiler/kernels/attention.py) keep the scores of some queries on the stack, and
compute next to nothing of a causal mask's half that no query sees.

What is looked for is what the prelude writes, in f32, with no mask or the causal one: a mask made of numbers alone is
computed here and compared. Anything else stays as it is. Measured in docs/benchmarks.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.kernels import attention as kernels
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import Pass
from sexpgpu.compiler.passes.kernel_calls import KernelCalls, KernelOptions, widest
from sexpgpu.compiler.passes.known import known, number_of
from sexpgpu.compiler.passes.match import P, Reader, maker, match
from sexpgpu.compiler.passes.reading import dims_of, dot_numbers, reducer_of

#: [batch heads time width] <-> [batch time heads width].
TURN = [0, 2, 1, 3]


# -- what is looked for -----------------------------------------------------------------------------------------------

def _product(left: int, right: int) -> Reader:
    """A product of each head, contracting these axes."""
    def read(op: ir.Operation) -> list[ir.Value] | None:
        if op.name != "stablehlo.dot_general" or any(str(hlo.element_type(v)) != "f32" for v in
                                                     (*op.operands, op.results[0])):
            return None
        numbers = dot_numbers(op)
        heads = numbers.batch == ([0, 1], [0, 1]) and len(hlo.shape_of(op.results[0])) == 4
        return list(op.operands) if heads and numbers.contract == ([left], [right]) else None
    return read


def _spread(op: ir.Operation) -> list[ir.Value] | None:
    """One number of each query, over the last axis."""
    same = op.name == "stablehlo.broadcast_in_dim" and dims_of(op, "broadcast_dimensions") == [0, 1, 2, 3]
    return list(op.operands) if same and hlo.shape_of(op.operands[0])[3] == 1 else None


def _over_keys(kind: str) -> Reader:
    """A reduction over the last axis, which stays with one place."""
    def read(op: ir.Operation) -> list[ir.Value] | None:
        inner = maker(op.operands[0]) if op.name == "stablehlo.reshape" else None
        if inner is None or inner.name != "stablehlo.reduce" or len(inner.operands) != 2:
            return None
        found = dims_of(inner, "dimensions") == [3] and reducer_of(inner) == f"stablehlo.{kind}"
        return [inner.operands[0]] if found and hlo.shape_of(op.results[0])[3] == 1 else None
    return read


READERS: dict[str, Reader] = {"scores": _product(3, 3), "values": _product(3, 2), "columns": _product(2, 2),
                              "spread": _spread, "largest": _over_keys("maximum"), "sum": _over_keys("add")}


def _scores(masked: bool) -> P:
    plain = P("scores", "q", "k", name=None if masked else "s")
    return P("select", "mask", plain, kernels.UNSEEN, name="s") if masked else plain


def _forward(masked: bool) -> P:
    lowered = P("subtract", _scores(masked), P("spread", P("largest", "s", name="top")))
    share = P("divide", 1.0, P("sum", "e"), name="share")
    return P("multiply", P("values", P("exponential", lowered, name="e"), "v"), P("spread", share))


def _backward(masked: bool) -> P:
    lowered = P("subtract", _scores(masked), P("spread", "top"))
    probs = P("multiply", P("exponential", lowered), P("spread", "share"), name="probs")
    slopes = P("multiply", probs, P("subtract", P("scores", "g", "v"), P("spread", "level")))
    return P("select", "where", slopes, 0.0) if masked else slopes


#: Of a value that waits for another: its smallest change is none (`waiting`).
_WAITING = P("add", "x", P("broadcast_in_dim", P("minimum", P("abs", "y"), 0.0)))


def _is_causal(mask: ir.Value) -> bool:
    import numpy as np  # half of a check's time would be its import

    op = maker(mask)
    if op is None or op.name != "stablehlo.broadcast_in_dim" or dims_of(op, "broadcast_dimensions") != [2, 3]:
        return False
    seen = known(op.operands[0])
    return seen is not None and bool((seen == np.tri(*seen.shape, seen.shape[1] - seen.shape[0])).all())


def _matched(way: str, value: ir.Value) -> tuple[dict[str, ir.Value], bool] | None:
    """The values by name, and whether the mask is the causal one."""
    for masked in (False, True):
        found = match((_forward if way == "forward" else _backward)(masked), value, READERS)
        if found is not None and all(_is_causal(found[m]) for m in ("mask", "where") if m in found):
            return found, masked
    return None


# -- operands as they lie ---------------------------------------------------------------------------------------------

def _scaled(value: ir.Value) -> tuple[ir.Value, float]:
    """A value times a number."""
    op = maker(value)
    number = number_of(op.operands[1]) if op is not None and op.name == "stablehlo.multiply" else None
    return (value, 1.0) if op is None or number is None else (op.operands[0], number)


def _turns(op: ir.Operation | None) -> bool:
    return op is not None and op.name == "stablehlo.transpose" and dims_of(op, "permutation") == TURN


def _inside(values: Sequence[ir.Value]) -> list[ir.Value] | None:
    """The values before heads and time change places; None where one of them is not made so."""
    makers = [maker(v) for v in values]
    return [op.operands[0] for op in makers if op is not None] if all(map(_turns, makers)) else None


def _replace(op: ir.Operation, value: ir.Value, new: ir.Value, inside: bool) -> None:
    """`new`, which lies as operands do, for `value`: what turned it back is left out."""
    turned = None
    for use in fn.uses_behind(op, value):
        user = use.owner.operation
        if inside and _turns(user):
            user.results[0].replace_all_uses_with(new)
            continue
        turned = turned or (hlo.transpose(new, TURN) if inside else new)
        user.operands[use.operand_number] = turned


def _shape(found: dict[str, ir.Value], causal: bool, scale: float, inside: bool, lanes: int
           ) -> kernels.Shape | None:
    """None where there is no kernel for these."""
    batch, heads, queries, width = hlo.shape_of(found["q"])
    keys = hlo.shape_of(found["k"])[2]
    shape = widest(kernels.Shape(batch, heads, queries, keys, width, causal, scale, inside), lanes)
    return shape if hlo.shape_of(found["v"]) == hlo.shape_of(found["k"]) else None


def _rewrite_forward(op: ir.Operation, made: KernelCalls, lanes: int) -> None:
    matched = _matched("forward", op.results[0])
    if matched is None:
        return
    found, causal = matched
    q, scale = _scaled(found["q"])
    operands = [q, found["k"], found["v"]]
    lying = _inside(operands)
    shape = _shape(found, causal, scale, lying is not None, lanes)
    if shape is None:
        return
    with ir.InsertionPoint.after(op), op.location:
        value, *rows = made.call(kernels.forward, shape, lying or operands,
                                 [shape.over(shape.queries), shape.a_row, shape.a_row])
        rows = [hlo.reshape(x, [*shape.a_row, 1]) for x in rows]
        last = rows[-1].owner.operation
        _replace(last, op.results[0], value, shape.inside)
        for name, new in zip(("top", "share"), rows, strict=True):
            _replace(last, found[name], new, inside=False)


def _products_of(value: ir.Value, kind: str, other: ir.Value) -> list[ir.Operation]:
    """Products of this kind of the two."""
    users = [u.owner.operation for u in value.uses]
    return [u for u in users if (read := READERS[kind](u)) and read == [value, other]]


def _rewrite_backward(op: ir.Operation, made: KernelCalls, lanes: int) -> None:
    matched = _matched("backward", op.results[0])
    if matched is None:
        return
    found, causal = matched
    waits = match(_WAITING, found["q"], READERS)
    found["q"] = waits["x"] if waits is not None else found["q"]
    of_q = _products_of(op.results[0], "values", found["k"])
    of_k = _products_of(op.results[0], "columns", found["q"])
    of_v = _products_of(found["probs"], "columns", found["g"])
    q, scale = _scaled(found["q"])
    grown = [u.owner.operation for p in of_q for u in p.results[0].uses]
    if any(_scaled(u.results[0]) != (of_q[0].results[0], scale) for u in grown):
        q, scale, grown = found["q"], 1.0, of_q
    elif scale == 1:
        grown = of_q
    operands = [q, found["k"], found["v"], found["g"]]
    lying = _inside(operands)
    shape = _shape(found, causal, scale, lying is not None, lanes)
    if shape is None:
        return
    with ir.InsertionPoint.after(op), op.location:
        rows = [hlo.reshape(found[name], shape.a_row) for name in ("top", "share", "level")]
        query, key = shape.over(shape.queries), shape.over(shape.keys)
        first, keys, values, g = lying or operands
        results = made.call(kernels.backward, shape, [first, keys, values, g, *rows], [query, key, key])
        last = results[0].owner.operation
        for olds, new in zip((grown, of_k, of_v), results, strict=True):
            for old in olds:
                _replace(last, old.results[0], new, shape.inside)


def _sweep(block: ir.Block) -> None:
    """What nobody reads any more would get tiles of its own."""
    for op in reversed([o.operation for o in block.operations]):
        if op.name.startswith("stablehlo.") and len(op.results) and op.name != "stablehlo.custom_call" and \
                not any(True for r in op.results for _ in r.uses):
            op.erase()


def apply(module: ir.Module, options: KernelOptions) -> None:
    made = KernelCalls(module)
    for func in fn.functions(module):
        for block in fn.computing(func):
            for rewrite in (_rewrite_forward, _rewrite_backward):
                for op in [o.operation for o in block.operations]:
                    if op.name in ("stablehlo.multiply", "stablehlo.select"):
                        rewrite(op, made, options.lanes)
            _sweep(block)


PASS = Pass("attention-avx2", "attention and its gradient as a kernel each, for processors with AVX2", apply,
            KernelOptions, optional=True)
