"""Matrix products that have no kernel (`dense`, `weights`), in the form that runs fastest on x86-64 processors with
AVX2: batches of products, and small ones.

The code generator knows two ways: products as they lie, in tiles of 8 x 8, and data tiling, which packs operands and
unpacks results for a kernel of 8 x 8. With sixteen vector registers both wait for loads: eight broadcasts for eight
multiply-adds. A tile of 6 rows by 16 columns has six for twelve, reads operands where they lie, and lets what follows
(a bias, a residual) run on the tile while it is in registers. So a product of f32 becomes a `linalg` product with that
tile written on it. What contracts the rows of both operands stays with data tiling: its operands are read with long
strides, and packing pays. So do wide right operands.

Two barriers keep the fusion around what is tiled cheap:

- an elementwise operand is stored once, because everything that reads it (the products of both gradients, the sum for
  a bias) would compute it again;
- functions of a product run by themselves, because inside a tile they spill the registers; only a bias or a residual
  is added to the tile.

Measured in docs/benchmarks.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.reading import dot_numbers
from sexpgpu.compiler.passes.tiled import contraction, schedule

#: Rows, columns and depth of what is kept in registers: twelve accumulators, two vectors of the right, one of the left.
TILE = (6, 16, 4)
#: Rows and columns of one piece of work.
PIECE = (48, 128)
#: Rows of the right operand longer than this fall on the same few sets of the cache: packing pays there too.
WIDEST = 512


@dataclass(frozen=True, slots=True)
class Product:
    """Batches of `rows x depth` times `depth x columns`; `turned` says which operand lies the other way."""

    batch: int
    rows: int
    columns: int
    depth: int
    turned: tuple[bool, bool]

    @property
    def lead(self) -> list[int]:
        return [self.batch] if self.batch > 1 else []

    @property
    def tiled(self) -> bool:
        """Whether it fills tiles, and its operands are read along their rows."""
        rows, columns, _ = TILE
        strided = (self.turned[0] and not self.lead) or self.columns > WIDEST
        return not strided and self.rows >= rows and self.columns % columns == 0


def product_of(op: ir.Operation) -> Product | None:
    """None where the axes are not batches, then one side, then the other, or the numbers are not f32."""
    if op.name != "stablehlo.dot_general":
        return None
    if any(str(hlo.element_type(v)) != "f32" for v in (*op.operands, op.results[0])):
        return None
    numbers = dot_numbers(op)
    base = len(numbers.batch[0])
    if any(list(b) != list(range(base)) for b in numbers.batch) or len(numbers.contract[0]) != 1:
        return None
    first = []
    for side in (0, 1):
        axis, rank = numbers.contract[side][0], len(hlo.shape_of(op.operands[side]))
        if rank < base + 2 or axis not in (base, rank - 1):
            return None
        first.append(axis == base)
    left, right = (hlo.shape_of(v) for v in op.operands)
    depth = left[numbers.contract[0][0]]
    batch = prod(left[:base])
    return Product(batch, prod(left[base:]) // depth, prod(right[base:]) // depth, depth, (first[0], not first[1]))


def _schedule(p: Product) -> ir.Attribute:
    lead = [1] if p.lead else []
    return schedule(
        "DoubleTilingExpert", ", {enable_loop_peeling}",
        distribution=[*lead, min(PIECE[0], p.rows), min(PIECE[1], p.columns), 0],
        vector_common_parallel=[*lead, TILE[0], TILE[1], 0],
        vector_reduction=[*(0 for _ in lead), 0, 0, TILE[2]])


def _maps(p: Product) -> ir.Attribute:
    lead = "b, " if p.lead else ""
    left = "k, m" if p.turned[0] else "m, k"
    return ir.Attribute.parse("[" + ", ".join(
        f"affine_map<({lead}m, n, k) -> ({lead}{axes})>" for axes in (left, "k, n", "m, n")) + "]")


def _multiply(p: Product, left: ir.Value, right: ir.Value) -> ir.Value:
    """`[batch rows depth]` (or turned) times `[batch depth columns]`, with the tile written on it."""
    return contraction("linalg.batch_matmul" if p.lead else "linalg.matmul", left, right, [*p.lead, p.rows, p.columns],
                       {"indexing_maps": _maps(p), "compilation_info": _schedule(p)})


def _rewrite(op: ir.Operation, p: Product) -> None:
    with ir.InsertionPoint(op), op.location:
        rows = [p.depth, p.rows] if p.turned[0] else [p.rows, p.depth]
        columns = [p.columns, p.depth] if p.turned[1] else [p.depth, p.columns]
        left = hlo.reshape(op.operands[0], [*p.lead, *rows])
        right = hlo.reshape(op.operands[1], [*p.lead, *columns])
        if p.turned[1]:
            # The barrier keeps the transpose from being folded back into the product.
            order = [0, 2, 1] if p.lead else [1, 0]
            right = hlo.optimization_barrier(hlo.transpose(right, order))
        value = hlo.reshape(_multiply(p, left, right), hlo.shape_of(op.results[0]))
    fn.replace(op, value)


# -- barriers ---------------------------------------------------------------------------------------------------------

def _elementwise(op: ir.Operation) -> bool:
    if not op.name.startswith(("stablehlo.", "chlo.")) or len(op.regions) or len(op.results) != 1 or not op.operands:
        return False
    if op.name in ("stablehlo.optimization_barrier", "stablehlo.reverse", "stablehlo.transpose", "stablehlo.convert"):
        return False
    shape = hlo.shape_of(op.results[0])
    return all(isinstance(v.type, ir.RankedTensorType) and hlo.shape_of(v) == shape for v in op.operands)


def _origin(value: ir.Value) -> tuple[ir.Value, ir.Operation | None]:
    """The value behind reshapes and the operation it comes from; no operation for an argument."""
    while not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        if op.name != "stablehlo.reshape":
            return value, op
        value = op.operands[0]
    return value, None


def _store(value: ir.Value) -> None:
    """Whoever reads `value` reads it from memory."""
    op = value.owner.operation
    uses = [(u.owner.operation, u.operand_number) for u in value.uses]
    with ir.InsertionPoint.after(op), op.location:
        stored = hlo.optimization_barrier(value)
    for user, number in uses:
        user.operands[number] = stored


def _store_operands(op: ir.Operation) -> None:
    for operand in op.operands:
        value, origin = _origin(operand)
        if origin is not None and _elementwise(origin):
            _store(value)


def _store_result(op: ir.Operation) -> None:
    """The product, or its sum with a bias or a residual, unless all that reads it reads memory anyway."""
    value = op.results[0]
    while True:
        users = [u.owner.operation for u in value.uses]
        if len(users) == 1 and users[0].name in ("stablehlo.reshape", "stablehlo.add"):
            value = users[0].results[0]
        else:
            break
    if any(_elementwise(u) for u in users):
        _store(value)


def apply(module: ir.Module, options: NoOptions) -> None:
    for func in fn.functions(module):
        dots = [(op, p) for op in fn.walk(fn.body(func)) if (p := product_of(op)) is not None]
        for op, p in dots:
            if p.tiled and not p.lead:
                _store_operands(op)
                _store_result(op)
        for op, p in dots:
            if p.tiled:
                _rewrite(op, p)


PASS = Pass("products-avx2", "products of f32 in tiles of 6 x 16, for processors with AVX2", apply,
            optional=True)
