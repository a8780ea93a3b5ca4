"""The gradient of a weight, xᵀ y over all rows, and of the bias, the sum of the rows of y; for processors.

Along the rows both operands lie with long strides, which fall on a few sets of the cache. So a place of the grid, a
block of the result, copies its columns of some rows at a time into panels as wide as a tile, and adds the product of
the panels to its block.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from sexpgpu.compiler.kernels.code import LANES, Kernel
from sexpgpu.compiler.kernels.tile import divisor, pack, panels, tile

#: Rows whose panels fit the nearest cache: 8 KiB of x and 16 of y.
DEEPEST = 128
#: Rows and columns of the result that are one piece of work.
PIECE = (64, 128)


@dataclass(frozen=True, slots=True)
class Shape:
    """x [rows left], y [rows right], of f32."""

    rows: int
    left: int
    right: int
    bias: bool

    @property
    def depth(self) -> int:
        """Rows that are in panels at once."""
        return divisor(self.rows, DEEPEST, LANES)

    @property
    def piece(self) -> tuple[int, int]:
        return divisor(self.left, PIECE[0], LANES), divisor(self.right, PIECE[1], LANES)

    @property
    def fits(self) -> bool:
        return self.depth > 0 and all(self.piece)


def gradient(name: str, s: Shape) -> str:
    """Kernel of (x, y) -> xᵀ y [left right], and with `bias` the sum of the rows of y [right]."""
    (left, right), depth = s.piece, s.depth
    k = Kernel(name, (s.left // left, s.right // right),
               [(s.rows, s.left), (s.rows, s.right), (s.left, s.right), *([(s.right,)] if s.bias else ())])
    x, y, out, *bias = k.buffers
    row, column = k.place[0] * left, k.place[1] * right
    xs, shares = k.scratch(left // LANES, depth, LANES), panels(k, right, depth)

    for part in k.range(0, left, 1):
        for c in range(0, right, LANES):
            out[row + part, column + c] = k.splat(0.0)
    for total in bias:
        for _ in k.range(k.place[0], 1, 1):   # the first of the blocks with the same columns
            for c in range(0, right, LANES):
                total[column + c,] = k.splat(0.0)
    for start in k.range(0, s.rows, depth):
        for i in k.range(0, depth, 1):
            for p in range(left // LANES):
                xs[p, i, 0] = x.load(start + i, row + p * LANES)
        pack(k, y, start, column, depth, shares)
        for some in shares:
            for p in k.range(0, some.count, 1):
                at = some.columns(column, p)
                for total in bias:
                    for _ in k.range(k.place[0], 1, 1):
                        sums = k.carry(0, depth, 1, [total.load(c) for c in at], lambda i, sums, p=p, some=some: [
                            v + some.packed.load(p, i, n * LANES) for n, v in enumerate(sums)])
                        for c, v in zip(at, sums, strict=True):
                            total[c,] = v
                for q in k.range(0, left // LANES, 1):
                    for part in range(0, LANES, some.rows):
                        places = [(row + q * LANES + (part + m), c) for m in range(some.rows) for c in at]
                        found = tile(k, 0, depth, lambda i, m, q=q, part=part: xs.one(q, i, part + m),
                                     lambda i, n, p=p, some=some: some.packed.load(p, i, n * LANES),
                                     [out.load(*place) for place in places], rows=some.rows, width=some.width)
                        for place, v in zip(places, itertools.chain(*found), strict=True):
                            out[place] = v
    return k.text()
