"""A block of a matrix, copied to where its rows lie close together.

A tile reads a few columns of many rows. Where rows are long, those lie a long stride apart, which falls on few sets of
the cache. Copying waits for memory; so while one block is computed with, lines of the next are had to come.
"""

from __future__ import annotations

from dataclasses import dataclass

from sexpgpu.compiler.kernels.code import LINE, Buffer, Index, Kernel, Place
from sexpgpu.compiler.kernels.tile import turned


@dataclass(frozen=True, slots=True)
class Copied:
    """`rows` rows of `source` at a time, and of them `columns` from `left` on; where it is `turned`, rows of `source`
    are the columns. `held` is [rows columns], its rows an odd number of lines apart: they fall on all sets of the
    cache."""

    kernel: Kernel
    source: Buffer
    left: Index
    rows: int
    columns: int
    turned: bool
    held: Buffer

    @classmethod
    def of(cls, k: Kernel, source: Buffer, left: Index, rows: int, columns: int, turned: bool = False) -> Copied:
        return cls(k, source, left, rows, columns, turned, k.scratch(rows, (-(-columns // LINE) | 1) * LINE))

    def fill(self, start: Place) -> None:
        """Copies the rows from `start` on. Row by row, for what is side by side in memory comes in one stream."""
        k = self.kernel
        if self.turned:
            for c in k.range(0, self.columns, k.lanes):
                for i in k.range(0, self.rows, k.lanes):
                    block = [self.source.load(self.left + c + m, i + start) for m in range(k.lanes)]
                    for m, v in enumerate(turned(block)):
                        self.held[i + m, c] = v
        else:
            for i in k.range(0, self.rows, 1):
                for c in range(0, self.columns, k.lanes):
                    self.held[i, c] = self.source.load(i + start, self.left + c)

    def soon(self, start: Place, turn: Index, turns: int) -> None:
        """Has this turn's share of the rows from `start` on come to the second cache."""
        k = self.kernel
        lines, line = (self.columns, self.rows) if self.turned else (self.rows, self.columns)
        each = -(-lines // turns)
        for n in range(each):
            at = k.least(turn * each + n, lines - 1)
            for c in range(0, line, LINE):
                self.source.soon(*((self.left + at, start + c) if self.turned else (at + start, self.left + c)))
