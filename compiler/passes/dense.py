"""Products of f32 with a matrix as kernels, for processors with AVX2: x y, or x yᵀ, and what is added to it.

Tiles of the code generator's own (`products`) read the right operand with its stride, and want it turned in memory
first where it is read across; data tiling copies both operands and the result. The kernel
(compiler/kernels/products.py) copies the piece of the right operand that it works on. A bias and residuals are added to
the result while it is in registers. Measured in docs/benchmarks.md.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.kernels import products as kernels
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.kernel_calls import KernelCalls
from sexpgpu.compiler.passes.match import maker
from sexpgpu.compiler.passes.products import Product, product_of
from sexpgpu.compiler.passes.reading import dims_of

#: Multiply-adds below which the start of a kernel is what takes time.
FEWEST = 1 << 20
#: Tensors that are added to one product.
MOST_ADDED = 2
LINKS = ("stablehlo.add", "stablehlo.reshape")


def _bias(value: ir.Value, columns: int) -> ir.Value | None:
    """One number of each column, over all rows."""
    op = maker(value)
    spread = op is not None and op.name == "stablehlo.broadcast_in_dim" and \
        hlo.shape_of(op.operands[0]) == (columns,) and \
        dims_of(op, "broadcast_dimensions") == [len(hlo.shape_of(value)) - 1]
    return op.operands[0] if op is not None and spread else None


def _chain(op: ir.Operation, columns: int) -> tuple[list[ir.Operation], ir.Value | None, list[ir.Value]]:
    """The sums that begin with a product, each the only reader of the one before: the operations, the product first, a
    bias, and whole tensors."""
    found, bias, others = [op], None, []
    while True:
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
        found.append(users[0])
    return found, bias, others


def _rewrite(op: ir.Operation, p: Product, made: KernelCalls) -> None:
    chain, bias, others = _chain(op, p.columns)
    shape = kernels.Shape(p.rows, p.depth, p.columns, p.turned[1], bias is not None, len(others))
    if p.lead or p.turned[0] or p.rows * p.depth * p.columns < FEWEST or not shape.fits:
        return
    last = chain[-1].results[0]
    with ir.InsertionPoint(chain[-1]), op.location:
        x = hlo.reshape(op.operands[0], [p.rows, p.depth])
        y = hlo.reshape(op.operands[1], [p.columns, p.depth] if p.turned[1] else [p.depth, p.columns])
        added = [*([bias] if bias is not None else ()), *(hlo.reshape(v, [p.rows, p.columns]) for v in others)]
        value, = made.call(kernels.product, shape, [x, y, *added], [[p.rows, p.columns]])
        last.replace_all_uses_with(hlo.reshape(value, hlo.shape_of(last)))
    for old in reversed(chain):
        old.erase()


def apply(module: ir.Module, options: NoOptions) -> None:
    made = KernelCalls(module)
    for func in fn.functions(module):
        for op, p in [(op, p) for op in fn.walk(fn.body(func)) if (p := product_of(op)) is not None]:
            _rewrite(op, p, made)


PASS = Pass("dense-avx2", "products of f32 with a matrix as a kernel, for processors with AVX2 and no wider vectors",
            apply, optional=True)
