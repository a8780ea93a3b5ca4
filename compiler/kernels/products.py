"""x y of f32, what is added to it, and what is computed of the sum, for processors.

A place of the grid, a block of the result, copies its columns of some rows of y (or its rows, turned), and reads x
where it lies: a tile takes some of its rows, one number of each at a time.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from sexpgpu.compiler.kernels.code import LANES, LINE, Buffer, Index, Kernel, Vector
from sexpgpu.compiler.kernels.copied import Copied
from sexpgpu.compiler.kernels.steps import ITSELF, Steps
from sexpgpu.compiler.kernels.tile import ROWS_OF, WIDEST, bands, divisor, tile

#: Rows of y that are copied at once.
DEEPEST = 128
#: Columns of the result that are one piece of work, and rows where there are many pieces.
COLUMNS, ROWS = 128, 128
#: Pieces of which a thread takes one at a time, and pieces beyond which it does not matter that it takes eight at once,
#: as IREE has it from sixteen pieces for two threads on.
FEW, MANY = 15, 128
#: Blocks of columns at the end that are cut into pieces of fewer rows where the others are a piece each: threads that
#: are not equally fast finish together.
LAST = 2
#: What rows of a piece are a multiple of, so that tiles of three, four, six and eight rows fit.
STEP = 24


@dataclass(frozen=True, slots=True)
class Shape:
    """x [rows depth] times y [depth columns], or `turned` y [columns depth]. Added to it are a `bias` [columns] and as
    many `others` [rows columns]; the sum is multiplied by a `factor` [rows columns]. `then` is what is done with each
    number, and what of it the results are. Vectors have so many `lanes`."""

    rows: int
    depth: int
    columns: int
    turned: bool
    bias: bool = False
    others: int = 0
    factor: bool = False
    then: Steps = ITSELF
    lanes: int = LANES

    @property
    def deep(self) -> int:
        return divisor(self.depth, DEEPEST, self.lanes)

    @property
    def across(self) -> int:
        """Blocks of columns."""
        return self.columns // self.wide

    @property
    def wide(self) -> int:
        return divisor(self.columns, COLUMNS, self.lanes)

    def _cut(self, pieces: int) -> int:
        """Rows of each of so many pieces, of which the last may have fewer."""
        return -(-self.rows // (pieces * STEP)) * STEP

    @property
    def tall(self) -> int:
        """Rows of a piece."""
        if -(-self.rows // ROWS) * self.across >= MANY:
            return ROWS // STEP * STEP
        return self._cut(max(1, FEW // self.across))

    @property
    def last(self) -> int:
        """Rows of a piece of the last blocks of columns."""
        if self.tall < self.rows or self.across > FEW - LAST:
            return self.tall
        return self._cut((FEW - self.across + LAST) // LAST)

    @property
    def grid(self) -> tuple[int, ...]:
        """Pieces of the same height by rows and columns, or all in a row."""
        parts = -(-self.rows // self.last)
        return (parts, self.across) if self.last == self.tall else (self.across + LAST * (parts - 1),)

    @property
    def fits(self) -> bool:
        return self.deep > 0 and self.wide > 0 and self.rows % self.lanes == 0


def buffers(s: Shape) -> list[tuple[int, ...]]:
    """Shapes of what the kernel is given and makes."""
    return [(s.rows, s.depth), (s.columns, s.depth) if s.turned else (s.depth, s.columns),
            *([(s.columns,)] if s.bias else ()), *[(s.rows, s.columns)] * (s.others + s.factor + len(s.then.results))]


def product(name: str, s: Shape) -> str:
    """Kernel of (x, y, bias?, others…, factor?) -> results, each [rows columns]."""
    columns, deep = s.wide, s.deep
    k = Kernel(name, s.grid, buffers(s), s.lanes)
    x, y, *added = k.buffers
    added, outs = added[:-len(s.then.results)], added[-len(s.then.results):]
    out = outs[0]   # sums of some of the depth wait here
    row, end, column = _piece(k, s)
    width = min(WIDEST, columns // s.lanes)
    high = ROWS_OF[s.lanes][width]
    copy = Copied.of(k, y, column, deep, columns, s.turned)
    tall = s.tall // high

    def block(start: Index, first: bool, last: bool) -> None:
        """Adds the product of some of the depth."""
        copy.fill(start)
        for c in k.range(0, columns, width * s.lanes):
            at = [column + c + n * s.lanes for n in range(width)]
            for r, many in bands(k, row, end, high, s.rows):
                if not last and many == high:
                    turn = c // (width * s.lanes) * tall + (r - row) // high
                    copy.soon(start + deep, turn, tall * (columns // s.lanes // width))
                places = [(r + m, n) for m in range(many) for n in at]
                for buffer in [*outs[not first:], *added[s.bias:]] if last else [out] if first else []:
                    for m, n in itertools.product(range(many), at[::LINE // k.lanes]):
                        buffer.soon(r + m, n, write=buffer in outs)
                found = tile(k, 0, deep, lambda i, m, r=r: x.one(r + m, i + start),
                             lambda i, n, c=c: copy.held.load(i, c + n * s.lanes),
                             () if first else [out.load(*place) for place in places], rows=many, width=width)
                for place, v in zip(places, itertools.chain(*found), strict=True):
                    out[place] = with_added(v, place, added, s) if last else v
                for m in k.range(r, r + many, 1) if s.then.steps and last else ():
                    for n in at:
                        for into, value in zip(outs, s.then.of(k, out.load(m, n)), strict=True):
                            into[m, n] = value

    if s.depth == deep:
        block(k.index(0), first=True, last=True)
        return k.text()
    block(k.index(0), first=True, last=False)
    for start in k.range(deep, s.depth - deep, deep):
        block(start, first=False, last=False)
    block(k.index(s.depth - deep), first=False, last=True)
    return k.text()


def _piece(k: Kernel, s: Shape) -> tuple[Index, Index, Index]:
    """Of this piece the first row, the one after the last, and the first column."""
    if s.last == s.tall:
        row = k.place[0] * s.tall
        return row, k.least(row + s.tall, s.rows), k.place[1] * s.wide
    tall, parts = s.across - LAST, -(-s.rows // s.last)
    after = k.most(k.place[0], tall) - tall   # 0 before the last blocks of columns
    row = after % parts * s.last
    height = k.index(s.tall) - k.least(k.place[0] // tall, 1) * (s.tall - s.last)
    return row, k.least(row + height, s.rows), k.least(k.place[0], after // parts + tall) * s.wide


def with_added(value: Vector, at: tuple[Index, Index], added: list[Buffer], s: Shape) -> Vector:
    """A sum at this place of the result, and what is added to it and multiplied by there."""
    for i, buffer in enumerate(added):
        other = buffer.load(at[1]) if s.bias and i == 0 else buffer.load(*at)
        value = value * other if s.factor and i == len(added) - 1 else value + other
    return value
