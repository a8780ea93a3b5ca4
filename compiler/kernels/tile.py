"""The product of small blocks that stays in registers: what every kernel here spends its time on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sexpgpu.compiler.kernels.code import LANES, Index, Kernel, Place, Vector

#: Rows and vectors of columns of a tile: with eight sums, each waits for its last multiply-add just as long as that
#: takes, and six loads are less than the processor does meanwhile.
ROWS, WIDTH = 4, 2


def tile(k: Kernel, start: Place, end: Place, left: Callable[[Index, int], Vector],
         right: Callable[[Index, int], Vector], first: Sequence[Vector] = (), *, rows: int = ROWS,
         width: int = WIDTH) -> list[list[Vector]]:
    """Sums over i from `start` to `end` of left(i, row) · right(i, vector), [rows][width] vectors, added to `first`."""
    def body(i: Index, sums: list[Vector]) -> list[Vector]:
        columns = [right(i, n) for n in range(width)]
        found = []
        for m in range(rows):
            x = left(i, m)
            found += [sums[m * width + n].plus_product(x, columns[n]) for n in range(width)]
        return found

    sums = k.carry(start, end, 1, first or [k.splat(0.0)] * (rows * width), body)
    return [sums[m * width:(m + 1) * width] for m in range(rows)]


def divisor(size: int, most: int, least: int) -> int:
    """The largest of `most`, a half of it, … `least` that divides `size`; 0 where none does."""
    while size % most:
        most //= 2
        if most < least:
            return 0
    return most


def panels(columns: int) -> list[tuple[int, int, int, int]]:
    """How columns, a multiple of `LANES`, are shared out among tiles: (first column, panels side by side, vectors of
    one, rows of its tile). Twelve sums in registers where three vectors go."""
    whole, rest = divmod(columns // LANES, 3)
    found = [(0, whole, 3, 4)] if whole else []
    return [*found, (whole * 3 * LANES, 1, rest, 8 if rest == 1 else 4)] if rest else found


def turned(block: Sequence[Vector]) -> list[Vector]:
    """The transpose of a square of `LANES` vectors: in each round, squares of half the size change places."""
    rows, size = list(block), LANES // 2
    while size:
        for i in range(LANES):
            if not i & size:
                a, b = rows[i], rows[i + size]
                low = [lane if not lane & size else LANES + lane - size for lane in range(LANES)]
                rows[i], rows[i + size] = a.mixed(b, low), a.mixed(b, [x + size for x in low])
        size //= 2
    return rows
