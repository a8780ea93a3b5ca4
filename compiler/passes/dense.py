"""Products of f32 with a matrix as kernels, for processors with AVX2: x y, or x yᵀ, what is added to it, and a factor
of the sum, number by number.

Tiles of the code generator's own (`products`) read the right operand with its stride, and want it turned in memory
first where it is read across; data tiling copies both operands and the result. The kernel
(compiler/kernels/products.py) copies the piece of the right operand that it works on. A bias and residuals are added to
the result while it is in registers, and multiplied by the slope of an activation. Measured in docs/benchmarks.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.kernels import amx_products
from sexpgpu.compiler.kernels import products as kernels
from sexpgpu.compiler.kernels.steps import DEAR, ITSELF, OPERATIONS, Steps
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.kernel_calls import KernelCalls, KernelOptions, widest
from sexpgpu.compiler.passes.known import number_of
from sexpgpu.compiler.passes.match import maker
from sexpgpu.compiler.passes.products import Product, product_of
from sexpgpu.compiler.passes.reading import dims_of

#: Multiply-adds below which the start of a kernel is what takes time.
FEWEST = 1 << 20
#: Tensors that are added to one product.
MOST_ADDED = 2
#: Operations of an activation with its slope, and of them results.
MOST_STEPS, MOST_RESULTS = 40, 2
LINKS = ("stablehlo.add", "stablehlo.multiply", "stablehlo.reshape")


def _bias(value: ir.Value, columns: int) -> ir.Value | None:
    """One number of each column, over all rows."""
    op = maker(value)
    spread = op is not None and op.name == "stablehlo.broadcast_in_dim" and \
        hlo.shape_of(op.operands[0]) == (columns,) and \
        dims_of(op, "broadcast_dimensions") == [len(hlo.shape_of(value)) - 1]
    return op.operands[0] if op is not None and spread else None


def _chain(op: ir.Operation, columns: int
           ) -> tuple[list[ir.Operation], ir.Value | None, list[ir.Value], ir.Value | None]:
    """The sums that begin with a product, each the only reader of the one before: the operations, the product first, a
    bias, whole tensors, and what the last sum is multiplied by."""
    found, bias, others, factor = [op], None, [], None
    while factor is None:
        value = found[-1].results[0]
        users = [u.owner.operation for u in value.uses]
        if len(users) != 1 or users[0].block != op.block or users[0].name not in LINKS or \
                hlo.shape_of(users[0].results[0])[-1:] != (columns,):
            break
        if users[0].name == "stablehlo.add":
            left, right = users[0].operands
            other = right if left == value else left
            whole = _bias(other, columns)
            if bias is None and whole is not None:
                bias = whole
            elif len(others) == MOST_ADDED:
                break
            else:
                others.append(other)
        elif users[0].name == "stablehlo.multiply":
            left, right = users[0].operands
            factor = right if left == value else left
            if factor == value or _bias(factor, columns) is not None or number_of(factor) is not None:
                return found, bias, others, None
        found.append(users[0])
    return found, bias, others, factor


def _activation(value: ir.Value) -> tuple[Steps, list[ir.Value], list[ir.Operation]]:
    """What is computed of `value` and numbers alone, element by element, if it is an activation and perhaps its slope;
    what others read of it; and its operations. Nothing else than `value` if it is not."""
    pending, users = [value], []
    while pending and len(users) <= MOST_STEPS:
        found = {u.owner.operation for u in pending.pop().uses}
        new = [o for o in found if o.name in OPERATIONS and o.block == maker(value).block and o not in users]
        users += new
        pending += [o.results[0] for o in new]
    places: dict[ir.Value, int] = {value: 0}
    steps: list[tuple[str, tuple[int | float, ...]]] = []
    ops = []
    for op in sorted(users, key=cmp_to_key(lambda a, b: -1 if a.is_before_in_block(b) else 1)):
        taken = tuple(places.get(v, number_of(v)) for v in op.operands)
        if None not in taken:
            ops.append(op)
            steps.append((op.name, taken))
            places[op.results[0]] = len(steps)
    results = [v for v in places if any(u.owner.operation not in ops for u in v.uses)]
    if len(users) > MOST_STEPS or len(results) > MOST_RESULTS or not any(name in DEAR for name, _ in steps):
        return ITSELF, [value], []
    return Steps(tuple(steps), tuple(places[v] for v in results)), results, ops


def _right(value: ir.Value, turned: bool) -> tuple[ir.Value, bool]:
    """The right operand, or what it is the transpose of, for either way it is copied into panels; and whether the rows
    of that are the columns."""
    op = maker(value)
    if op is not None and op.name == "stablehlo.transpose" and dims_of(op, "permutation") == [1, 0]:
        return op.operands[0], not turned
    return value, turned


def _rewrite(op: ir.Operation, p: Product, made: KernelCalls, kernel: Callable[[str, kernels.Shape], str],
             choose: Callable[[kernels.Shape], kernels.Shape | None]) -> None:
    right, turned = _right(op.operands[1], p.turned[1])
    chain, bias, others, factor = _chain(op, p.columns)
    then, results, after = _activation(chain[-1].results[0])
    shape = choose(kernels.Shape(p.rows, p.depth, p.columns, turned, bias is not None, len(others), factor is not None,
                                 then))
    if p.lead or p.turned[0] or p.rows * p.depth * p.columns < FEWEST or shape is None:
        return
    with ir.InsertionPoint(chain[-1]), op.location:
        x = hlo.reshape(op.operands[0], [p.rows, p.depth])
        y = hlo.reshape(right, [p.columns, p.depth] if turned else [p.depth, p.columns])
        whole = [*others, *([factor] if factor is not None else ())]
        added = [*([bias] if bias is not None else ()), *(hlo.reshape(v, [p.rows, p.columns]) for v in whole)]
        values = made.call(kernel, shape, [x, y, *added], [[p.rows, p.columns]] * len(results))
        found = [hlo.reshape(v, hlo.shape_of(old)) for v, old in zip(values, results, strict=True)]
    for old, new in zip(results, found, strict=True):
        for use in list(old.uses):
            if use.owner.operation not in after:
                use.owner.operation.operands[use.operand_number] = new
    for old in reversed([*chain, *after]):
        old.erase()


def _apply(module: ir.Module, kernel: Callable[[str, kernels.Shape], str],
           choose: Callable[[kernels.Shape], kernels.Shape | None]) -> None:
    made = KernelCalls(module)
    for func in fn.functions(module):
        for op, p in [(op, p) for op in fn.walk(fn.body(func)) if (p := product_of(op)) is not None]:
            _rewrite(op, p, made, kernel, choose)


def apply(module: ir.Module, options: KernelOptions) -> None:
    _apply(module, kernels.product, lambda s: widest(s, options.lanes))


def apply_amx(module: ir.Module, options: NoOptions) -> None:
    _apply(module, amx_products.product, amx_products.product_shape)


AMX = Pass("dense-amx", "the same products as a kernel of AMX's tiles, for processors with those", apply_amx,
           optional=True)
PASS = Pass("dense-avx2", "products of f32 with a matrix as a kernel, for processors with AVX2",
            apply, KernelOptions, optional=True)
