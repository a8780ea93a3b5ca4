"""Gradients of weights as kernels, for processors with AVX2: xᵀ y of f32, and with it the sum of the rows of y, which
is the gradient of a bias.

Both contract the rows of their operands. As products for data tiling they were a copy of each operand, and a pass over
y for the bias; the kernel (compiler/kernels/weights.py) copies what it needs next, and adds up what it copies. Measured
in docs/benchmarks.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.kernels import amx_products
from sexpgpu.compiler.kernels import weights as kernels
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.kernel_calls import KernelCalls, KernelOptions, widest
from sexpgpu.compiler.passes.known import number_of
from sexpgpu.compiler.passes.match import maker
from sexpgpu.compiler.passes.products import product_of
from sexpgpu.compiler.passes.reading import dims_of, reducer_of

#: Multiply-adds below which the start of a kernel is what takes time.
FEWEST = 1 << 20


def _row_sums(y: ir.Value) -> Iterator[ir.Operation]:
    """Sums over all axes but the last of y, or of what it is only another shape of."""
    while (op := maker(y)) is not None and op.name == "stablehlo.reshape" and \
            hlo.shape_of(op.operands[0])[-1:] == hlo.shape_of(y)[-1:]:
        y = op.operands[0]
    for use in y.uses:
        op, rank = use.owner.operation, len(hlo.shape_of(y))
        if op.name == "stablehlo.reduce" and len(op.operands) == 2 and reducer_of(op) == "stablehlo.add" and \
                dims_of(op, "dimensions") == list(range(rank - 1)) and number_of(op.operands[1]) == 0:
            yield op


def _straight(op: ir.Operation) -> ir.Operation:
    """The product itself; or, where all that reads it turns it, the product the other way round."""
    users = [u.owner.operation for u in op.results[0].uses]
    p = product_of(op)
    if p is None or p.turned != (True, False) or any(len(hlo.shape_of(v)) != 2 for v in op.operands) or \
            len(users) != 1 or users[0].name != "stablehlo.transpose" or dims_of(users[0], "permutation") != [1, 0]:
        return op
    with ir.InsertionPoint(op), op.location:
        x, y = op.operands
        other = hlo.dot_general(y, x, contract=([0], [0]), element=hlo.element_type(op.results[0]))
    users[0].results[0].replace_all_uses_with(other)
    for old in (users[0], op):
        old.erase()
    return other.owner.operation


def _total(op: ir.Operation) -> tuple[list[ir.Value], list[ir.Operation]]:
    """Where all that is done with a gradient is to add it to a total if a flag says so: the total and the flag, a
    scalar, which are known before `op`, and the operations that do it, the last first. Else nothing."""
    value = op.results[0]
    users = [u.owner.operation for u in value.uses]
    sums = [u for u in users if u.name == "stablehlo.add"]
    chosen = [u for u in users if u.name == "stablehlo.select"]
    if len(users) != 2 or len(sums) != 1 or len(chosen) != 1 or len(list(sums[0].results[0].uses)) != 1:
        return [], []
    more = next((v for v in sums[0].operands if v != value), None)
    flag = maker(chosen[0].operands[0])
    if more is None or list(chosen[0].operands)[1:] != [sums[0].results[0], value] or flag is None or \
            flag.name != "stablehlo.broadcast_in_dim" or hlo.shape_of(flag.operands[0]) or \
            not all((made := maker(v)) is None or (made.block == op.block and made.is_before_in_block(op))
                    for v in (more, flag.operands[0])):
        return [], []
    return [more, flag.operands[0]], [chosen[0], sums[0]]


def _rewrite(op: ir.Operation, made: KernelCalls, kernel: Callable[[str, kernels.Shape], str],
             choose: Callable[[kernels.Shape], kernels.Shape | None]) -> None:
    p = product_of(op)
    if p is None or p.lead or p.turned != (True, False) or p.rows * p.columns * p.depth < FEWEST:
        return
    sums = list(_row_sums(op.operands[1]))
    total, merged = _total(op)
    shape = choose(kernels.Shape(p.depth, p.rows, p.columns, bool(sums), bool(total)))
    if shape is None:
        return
    with ir.InsertionPoint(op), op.location:
        operands = [hlo.reshape(v, [p.depth, n]) for v, n in zip(op.operands, (p.rows, p.columns), strict=True)]
        if total:
            more, flag = total
            operands += [hlo.reshape(more, [p.rows, p.columns]), hlo.reshape(hlo.convert(flag, "f32"), [1])]
        value, *bias = made.call(kernel, shape, operands,
                                 [[p.rows, p.columns], *([[p.columns]] if sums else ())])
        found = merged[0] if merged else op
        found.results[0].replace_all_uses_with(hlo.reshape(value, hlo.shape_of(found.results[0])))
    for old in sums:
        for use in fn.uses_behind(op, old.results[0]):
            use.owner.operation.operands[use.operand_number] = bias[0]
    for old in (*merged, op, *sums):
        if not any(True for _ in old.results[0].uses):
            old.erase()


def _apply(module: ir.Module, kernel: Callable[[str, kernels.Shape], str],
           choose: Callable[[kernels.Shape], kernels.Shape | None]) -> None:
    made = KernelCalls(module)
    for func in fn.functions(module):
        for op in [op for op in fn.walk(fn.body(func)) if op.name == "stablehlo.dot_general"]:
            _rewrite(_straight(op), made, kernel, choose)


def apply(module: ir.Module, options: KernelOptions) -> None:
    _apply(module, kernels.gradient, lambda s: widest(s, options.lanes))


def apply_amx(module: ir.Module, options: NoOptions) -> None:
    _apply(module, amx_products.gradient, amx_products.gradient_shape)


AMX = Pass("weights-amx", "the same gradients as a kernel of AMX's tiles, for processors with those", apply_amx,
           optional=True)
PASS = Pass("weights-avx2", "gradients of weights and biases as a kernel, for processors with AVX2", apply,
            KernelOptions, optional=True)
