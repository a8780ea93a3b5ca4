"""The gradient of a weight, xᵀ y over all rows, and of the bias, the sum of the rows of y; for processors.

Along the rows both operands lie with long strides, which fall on a few sets of the cache. So a place of the grid, a
block of the result, copies its columns of one operand, some rows at a time, and reads the other where it lies unless
its rows are too long as well. Sums of the rows so far lie close together too, on the stack.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from sexpgpu.compiler.kernels.code import LANES, Buffer, Index, Kernel, Place, Vector
from sexpgpu.compiler.kernels.copied import Copied
from sexpgpu.compiler.kernels.tile import ROWS_OF, WIDEST, bands, divisor, tile, turned

#: Rows that are copied at once, of as many columns as a piece has: 16 KiB, which the nearest cache holds together with
#: the lines of the other operand that a tile reads. (Twice as many of each: steps are 0 to 5 % longer.)
DEEPEST = 64
#: Columns of what is read where it lies, at most and at least, and of what is copied, that are one piece of work.
TALLEST, LOWEST, COLUMNS = 256, 64, 64
#: The first of these where both are copied.
TALLEST_COPIED = 64
#: Pieces that threads have something to share of: at least, as far as `LOWEST` allows.
PIECES = 8
#: Numbers in a row up to which it is read where it lies. Longer rows begin in so few sets of the second cache that
#: those of a block drive each other out; they are copied.
NARROWEST = 512


@dataclass(frozen=True, slots=True)
class Shape:
    """x [rows left], y [rows right], of f32; the sum of rows of y as well if it is a `bias`; `added` to a tensor.
    Vectors have so many `lanes`."""

    rows: int
    left: int
    right: int
    bias: bool
    added: bool = False
    lanes: int = LANES

    @property
    def depth(self) -> int:
        """Rows that are copied at once."""
        return divisor(self.rows, DEEPEST, self.lanes)

    @property
    def swapped(self) -> bool:
        """Whether yᵀ x is computed, and turned at the end: of two operands, the one with long rows is copied."""
        return self.left > NARROWEST >= self.right

    @property
    def sides(self) -> tuple[int, int]:
        """Columns of the operand that is read one number at a time, and of the one read in vectors."""
        return (self.right, self.left) if self.swapped else (self.left, self.right)

    @property
    def copied(self) -> bool:
        """Whether both are copied."""
        return self.sides[0] > NARROWEST

    @property
    def piece(self) -> tuple[int, int]:
        """Of each of the two, the columns of one piece of work."""
        single, vectors = self.sides
        columns = divisor(vectors, COLUMNS, self.lanes)
        rows = divisor(single, TALLEST_COPIED if self.copied else TALLEST, self.lanes)
        while rows > LOWEST and single // rows * (vectors // (columns or 1)) < PIECES:
            rows //= 2
        return rows, columns

    @property
    def fits(self) -> bool:
        return self.depth > 0 and all(self.piece)


def buffers(s: Shape) -> list[tuple[int, ...]]:
    """Shapes of what the kernel is given and makes."""
    return [(s.rows, s.left), (s.rows, s.right), *([(s.left, s.right), (1,)] if s.added else ()),
            (s.left, s.right), *([(s.right,)] if s.bias else ())]


def gradient(name: str, s: Shape) -> str:
    """Kernel of (x, y) -> xᵀ y [left right], and with `bias` the sum of the rows of y [right]. With `added`, of (x, y,
    more [left right], flag [1]): if the flag is not 0, `more` is added, which is not read otherwise."""
    (tall, wide), depth = s.piece, s.depth
    k = Kernel(name, (s.sides[0] // tall, s.sides[1] // wide),
               buffers(s), s.lanes)
    x, y, *rest = k.buffers
    more, (out, *bias) = (rest[:2], rest[2:]) if s.added else ([], rest)
    row, column = k.place[0] * tall, k.place[1] * wide
    single, vectors = (y, x) if s.swapped else (x, y)
    right = Copied.of(k, vectors, column, depth, wide)
    copies = [right, Copied.of(k, single, row, depth, tall)] if s.copied else [right]
    sums = k.scratch(tall, wide)
    width = min(WIDEST, wide // k.lanes)
    high, across = ROWS_OF[s.lanes][width], wide // k.lanes // width

    def block(start: Index, last: bool) -> None:
        """Adds the product of some of the rows."""
        for copy in copies:
            copy.fill(start)

        def left(i: Index, q: Place) -> Vector:
            return copies[1].held.one(i, q) if s.copied else single.one(start + i, row + q)

        for c in k.range(0, wide, width * k.lanes):
            at = [c + n * k.lanes for n in range(width)]
            for q, rows in bands(k, k.index(0), k.index(tall), high, tall):
                for copy in copies if rows == high and not last else ():
                    turn = c // (width * k.lanes) * (tall // high) + q // high
                    copy.soon(start + depth, turn, across * (tall // high))
                places = [(q + m, n) for m in range(rows) for n in at]
                found = tile(k, 0, depth, lambda i, m, q=q: left(i, q + m),
                             lambda i, n, at=at: right.held.load(i, at[n]),
                             [sums.load(*place) for place in places], rows=rows, width=width)
                for place, v in zip(places, itertools.chain(*found), strict=True):
                    sums[place] = v

    for q in k.range(0, tall, 1):
        for c in range(0, wide, k.lanes):
            sums[q, c] = k.splat(0.0)
    for start in k.range(0, s.rows - depth, depth):
        block(start, last=False)
    block(k.index(s.rows - depth), last=True)
    _store(k, s, sums, out, more)
    for total in bias:
        first, size = (1, tall) if s.swapped else (0, wide)
        sum_rows(k, y, total, k.place[first], k.place[1 - first] * size, size)
    return k.text()


def _store(k: Kernel, s: Shape, sums: Buffer, out: Buffer, more: list[Buffer]) -> None:
    """The piece of the result, and `more` added to it."""
    tall, wide = s.piece
    sides = [(k.place[0] * tall, tall), (k.place[1] * wide, wide)]
    (row, rows), (column, columns) = reversed(sides) if s.swapped else sides
    for q in k.range(0, tall, k.lanes):
        for c in k.range(0, wide, k.lanes):
            square = [sums.load(q + m, c) for m in range(k.lanes)]
            for m, v in enumerate(turned(square) if s.swapped else square):
                at = (row + c + m, column + q) if s.swapped else (row + q + m, column + c)
                out[at] = v
    if more:
        add_where(k, out, more, (row, row + rows), (column, columns))


def add_where(k: Kernel, out: Buffer, more: list[Buffer], rows: tuple[Index, Index], columns: tuple[Index, int]
              ) -> None:
    """Adds a tensor, if a flag is not 0, from the first of these rows to the last, and so many columns from one on."""
    held, flag = more
    with k.where(flag.one(0)):
        for q in k.range(*rows, 1):
            for c in range(0, columns[1], k.lanes):
                at = (q, columns[0] + c)
                out[at] = out.load(*at) + held.load(*at)


def sum_rows(k: Kernel, y: Buffer, total: Buffer, piece: Index, column: Index, size: int) -> None:
    """The bias of so many columns from one on, by the first of the pieces that have them."""
    width = divisor(size // k.lanes, 8, 1)
    for _ in k.range(piece, 1, 1):
        for c in k.range(column, column + size, width * k.lanes):
            at = [c + n * k.lanes for n in range(width)]
            found = k.carry(0, y.shape[0], 1, [k.splat(0.0)] * width,
                            lambda i, sums, at=at: [v + y.load(i, n) for v, n in zip(sums, at, strict=True)])
            for n, v in zip(at, found, strict=True):
                total[n,] = v
