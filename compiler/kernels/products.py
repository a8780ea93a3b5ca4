"""x y of f32, with what is added to it, for processors.

A place of the grid, a block of the result, copies its columns of some rows of y into panels as wide as a tile (or its
rows, turned), and reads x where it lies: a tile takes four of its rows, one number of each at a time.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from sexpgpu.compiler.kernels.code import LANES, Buffer, Index, Kernel, Place, Vector
from sexpgpu.compiler.kernels.tile import divisor, pack, pack_turned, panels, tile

#: Rows of y that are in panels at once.
DEEPEST = 128
#: Rows and columns of the result that are one piece of work.
PIECE = (128, 128)


@dataclass(frozen=True, slots=True)
class Shape:
    """x [rows depth] times y [depth columns], or `turned` y [columns depth]. Added to it are a `bias` [columns] and as
    many `others` [rows columns]."""

    rows: int
    depth: int
    columns: int
    turned: bool
    bias: bool = False
    others: int = 0

    @property
    def deep(self) -> int:
        return divisor(self.depth, DEEPEST, LANES)

    @property
    def piece(self) -> tuple[int, int]:
        return divisor(self.rows, PIECE[0], LANES), divisor(self.columns, PIECE[1], LANES)

    @property
    def fits(self) -> bool:
        return self.deep > 0 and all(self.piece)


def product(name: str, s: Shape) -> str:
    """Kernel of (x, y, bias?, others…) -> [rows columns]."""
    (rows, columns), deep, whole = s.piece, s.deep, [s.rows, s.columns]
    k = Kernel(name, (s.rows // rows, s.columns // columns),
               [(s.rows, s.depth), (s.columns, s.depth) if s.turned else (s.depth, s.columns),
                *([(s.columns,)] if s.bias else ()), *[whole] * s.others, whole])
    x, y, *added, out = k.buffers
    row, column = k.place[0] * rows, k.place[1] * columns
    shares = panels(k, columns, deep)

    def block(start: Place, first: bool, last: bool) -> None:
        """Adds the product of some of the depth."""
        (pack_turned if s.turned else pack)(k, y, start, column, deep, shares)
        for some in shares:
            for p in k.range(0, some.count, 1):
                at = some.columns(column, p)
                for r in k.range(row, row + rows, some.rows):
                    places = [(r + m, c) for m in range(some.rows) for c in at]
                    found = tile(k, 0, deep, lambda i, m, r=r: x.one(r + m, i + start),
                                 lambda i, n, p=p, some=some: some.packed.load(p, i, n * LANES),
                                 () if first else [out.load(*place) for place in places], rows=some.rows,
                                 width=some.width)
                    for place, v in zip(places, itertools.chain(*found), strict=True):
                        out[place] = _sum(v, place, added, s) if last else v

    if s.depth == deep:
        block(0, first=True, last=True)
        return k.text()
    block(0, first=True, last=False)
    for start in k.range(deep, s.depth - deep, deep):
        block(start, first=False, last=False)
    block(k.index(s.depth - deep), first=False, last=True)
    return k.text()


def _sum(value: Vector, at: tuple[Index, Index], added: list[Buffer], s: Shape) -> Vector:
    for i, buffer in enumerate(added):
        value = value + (buffer.load(at[1]) if s.bias and i == 0 else buffer.load(*at))
    return value
