"""The product of small blocks that stays in registers: what every kernel here spends its time on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, Self, TypeVar

from sexpgpu.compiler.kernels.code import Index, Kernel, Place, Vector

#: Rows and vectors of columns of a tile: with eight sums, each waits for its last multiply-add just as long as that
#: takes, and six loads are less than the processor does meanwhile.
ROWS, WIDTH = 4, 2
#: By the lanes of a vector, rows of a tile by its vectors of columns: twelve sums or eight in sixteen registers, 24,
#: sixteen or eight in the thirty-two of AVX-512.
ROWS_OF = {8: {4: 3, 2: 4, 1: 8}, 16: {4: 6, 2: 8, 1: 8}}
#: Vectors of columns in a tile at most: a power of two, as widths mostly are multiples of.
WIDEST = 4


class _Mixes(Protocol):
    def mixed(self, other: Self, lanes: Sequence[int]) -> Self: ...


Mixed = TypeVar("Mixed", bound=_Mixes)


def tile(k: Kernel, start: Place, end: Place, left: Callable[[Index, int], Vector],
         right: Callable[[Index, int], Vector], first: Sequence[Vector] = (), *, rows: int = ROWS,
         width: int = WIDTH) -> list[list[Vector]]:
    """Sums over i, an even number of them, from `start` to `end` of left(i, row) · right(i, vector), [rows][width]
    vectors, added to `first`. Two i a round: half of the loop's own work. What there is less of, rows or vectors, stays
    in registers for an i."""
    def body(i: Index, sums: list[Vector]) -> list[Vector]:
        found = list(sums)
        across = rows < width
        kept = [left(i, m) if across else right(i, m) for m in range(min(rows, width))]
        for far in range(max(rows, width)):
            other = right(i, far) if across else left(i, far)
            for near, x in enumerate(kept):
                n = near * width + far if across else far * width + near
                found[n] = sums[n].plus_product(x if across else other, other if across else x)
        return found

    def both(i: Index, sums: list[Vector]) -> list[Vector]:
        return body(i + 1, body(i, sums))

    sums = k.carry(start, end, 2, first or [k.splat(0.0)] * (rows * width), both)
    return [sums[m * width:(m + 1) * width] for m in range(rows)]


def divisor(size: int, most: int, least: int) -> int:
    """The largest of `most`, a half of it, … `least` that divides `size`; 0 where none does."""
    while size % most:
        most //= 2
        if most < least:
            return 0
    return most


def turned(block: Sequence[Mixed]) -> list[Mixed]:
    """The transpose of a square, as many vectors as each has numbers: in each round, squares of half the size change
    places."""
    rows, lanes, size = list(block), len(block), len(block) // 2
    while size:
        for i in range(lanes):
            if not i & size:
                a, b = rows[i], rows[i + size]
                low = [lane if not lane & size else lanes + lane - size for lane in range(lanes)]
                rows[i], rows[i + size] = a.mixed(b, low), a.mixed(b, [x + size for x in low])
        size //= 2
    return rows


def bands(k: Kernel, start: Index, end: Index, high: int, rest: int) -> Iterator[tuple[Index, int]]:
    """Rows from `start` to `end`, `high` at a time, and what is left where `rest` of them are no multiple of that."""
    whole = start + (end - start) // high * high if rest % high else end
    for r in k.range(start, whole, high):
        yield r, high
    if rest % high:
        for r in k.range(whole, end, rest % high):
            yield r, rest % high
