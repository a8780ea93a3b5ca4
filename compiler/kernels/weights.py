"""The gradient of a weight, xᵀ y over all rows, and of the bias, the sum of the rows of y; for processors.

Along the rows both operands lie with long strides, which fall on a few sets of the cache. So a place of the grid, a
block of the result, copies its columns of some rows of y at a time into panels as wide as a tile, and those of x where
its rows are too long to be read where they lie, and adds the product to its block.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TypeAlias

from sexpgpu.compiler.kernels.code import LANES, LINE, Buffer, Index, Kernel
from sexpgpu.compiler.kernels.tile import bands, divisor, pack, panels, tile

#: Rows whose panels fit the nearest cache: 8 KiB of x and 16 of y.
DEEPEST = 128
#: Rows, at most and at least, and columns of the result that are one piece of work.
TALLEST, LOWEST, COLUMNS = 256, 32, 128
#: The same where x is copied: with the panels of y that is 96 KiB of stack, less than IREE gives by default.
TALLEST_COPIED = 64
#: Pieces that threads have something to share of. Not many more: from sixteen on, IREE gives one thread eight at once.
PIECES = 8
#: Numbers in a row of x up to which it is read where it lies. Longer rows begin in so few sets of the second cache that
#: those of a panel drive each other out; they are copied.
NARROWEST = 512

#: A buffer, and which columns of it, how many from which on.
Operand: TypeAlias = tuple[Buffer, Index, int]


@dataclass(frozen=True, slots=True)
class Shape:
    """x [rows left], y [rows right], of f32; the sum of rows of y as well if it is a `bias`; `added` to a tensor."""

    rows: int
    left: int
    right: int
    bias: bool
    added: bool = False

    @property
    def depth(self) -> int:
        """Rows that are in panels at once."""
        return divisor(self.rows, DEEPEST, LANES)

    @property
    def piece(self) -> tuple[int, int]:
        columns = divisor(self.right, COLUMNS, LANES)
        rows = divisor(self.left, TALLEST_COPIED if self.copied else TALLEST, LANES)
        while rows > LOWEST and self.left // rows * (self.right // (columns or 1)) < PIECES:
            rows //= 2
        return rows, columns

    @property
    def copied(self) -> bool:
        """Whether x is copied as well. Its panels are eight rows of the result high, and so are tiles of 4 x 3 in them;
        else tiles are 3 x 4."""
        return self.left > NARROWEST

    @property
    def fits(self) -> bool:
        return self.depth > 0 and all(self.piece)


def gradient(name: str, s: Shape) -> str:
    """Kernel of (x, y) -> xᵀ y [left right], and with `bias` the sum of the rows of y [right]. With `added`, of (x, y,
    more [left right], flag [1]): if the flag is not 0, the product is added to `more`, which is not read otherwise."""
    (left, right), depth = s.piece, s.depth
    k = Kernel(name, (s.left // left, s.right // right),
               [(s.rows, s.left), (s.rows, s.right), *([(s.left, s.right), (1,)] if s.added else ()),
                (s.left, s.right), *([(s.right,)] if s.bias else ())])
    x, y, *rest = k.buffers
    more, rest = (rest[:2], rest[2:]) if s.added else ([], rest)
    out, *bias = rest
    row, column = k.place[0] * left, k.place[1] * right
    shares = panels(k, right, depth, 3 if s.copied else 4)
    xs = k.scratch(left // LANES, depth, LANES) if s.copied else x

    _begin(k, (out, row, column), more, bias, s.piece)
    for start in k.range(0, s.rows, depth):
        if s.copied:
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
                high = LANES if s.copied else some.rows
                for q, rows in bands(k, k.index(0), k.index(left), high, left):
                    if some.count > 1 and rows == high:
                        _next_rows(k, s, (x, row, left), (y, column, right), start + depth,
                                   p * (left // high) + q // high, some.count * (left // high))
                    for part in range(0, rows, some.rows):
                        many = min(rows, some.rows)
                        places = [(row + (q + (part + m)), c) for m in range(many) for c in at]
                        found = tile(k, 0, depth,
                                     lambda i, m, start=start, q=q, part=part: xs.one(q // LANES, i, part + m)
                                     if s.copied else x.one(start + i, row + (q + (part + m))),
                                     lambda i, n, p=p, some=some: some.packed.load(p, i, n * LANES),
                                     [out.load(*place) for place in places], rows=many, width=some.width)
                        for place, v in zip(places, itertools.chain(*found), strict=True):
                            out[place] = v
    return k.text()


def _begin(k: Kernel, block: tuple[Buffer, Index, Index], more: list[Buffer], bias: list[Buffer],
           piece: tuple[int, int]) -> None:
    """The block of the result and of the bias before the first rows."""
    (out, row, column), (rows, columns) = block, piece
    for part in k.range(0, rows, 1):
        for c in range(0, columns, LANES):
            out[row + part, column + c] = k.splat(0.0)
    if more:
        held, flag = more
        with k.where(flag.one(0)):
            for part in k.range(0, rows, 1):
                for c in range(0, columns, LANES):
                    out[row + part, column + c] = held.load(row + part, column + c)
    for total in bias:
        for _ in k.range(k.place[0], 1, 1):   # the first of the blocks with the same columns
            for c in range(0, columns, LANES):
                total[column + c,] = k.splat(0.0)


def _next_rows(k: Kernel, s: Shape, x: Operand, y: Operand, start: Index, turn: Index, turns: int) -> None:
    """Has some of the rows come that the next panels are copied from, in the second cache while these are computed:
    copying them waits for memory, a quarter of the time without this."""
    each = -(-s.depth // turns)
    for n in range(each):
        r = k.least(start + (turn * each + n), s.rows - 1)
        for source, left, columns in (x, y):
            for c in range(0, columns, LINE):
                source.soon(r, left + c)
