"""Products and gradients of weights in AMX's tiles (`amx`), with what `products` and `weights` do of the sums.

A place of the grid, a block of the result, splits its columns of some of the depth of y, and then 32 rows of x at a
time. Splitting is of an operand's size and done again in each block: it takes the least where blocks are large and
square, so there are no more of them than threads need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sexpgpu.compiler.kernels import amx, products, weights
from sexpgpu.compiler.kernels.code import Buffer, Index, Kernel
from sexpgpu.compiler.kernels.split import PARTS, WORDS
from sexpgpu.compiler.kernels.tile import divisor

#: Of the depth, what is split at once.
DEEPEST = 256
#: Rows and columns of the result that are one piece of work.
TALL, WIDE = (512, 256, 128, 64, 32), (256, 128, 64, 32)
#: Pieces that threads have something to share of.
PIECES = 8
#: Sums of a piece below which splitting its operands takes longer than multiplying them.
SMALLEST = 64 * 64
#: Bytes of both operands' tiles, on the stack.
MOST = 800 << 10


@dataclass(frozen=True, slots=True)
class Job:
    """x [rows depth] times y [depth columns]; `along` says of each whether it lies so that the depth is its last axis.
    """

    rows: int
    depth: int
    columns: int
    along: tuple[bool, bool]

    @property
    def fits(self) -> bool:
        return self.rows % amx.BLOCK == self.columns % amx.BLOCK == self.depth % amx.DEEP == 0

    @property
    def deep(self) -> int:
        return divisor(self.depth, DEEPEST, amx.DEEP)

    @property
    def piece(self) -> tuple[int, int]:
        """Rows, of which the last piece may have fewer if they are not held all at once, and columns."""
        talls = [t for t in TALL if t <= self.rows and (self.along[0] or self.rows % t == 0)]
        return min(((tall, wide) for tall in talls for wide in WIDE if self.columns % wide == 0
                    and (self._held(tall) + wide) * self.deep * 2 * PARTS <= MOST),
                   key=lambda p: (p[0] * p[1] < SMALLEST, -min(self._pieces(*p), PIECES), 1 / p[0] + 1 / p[1]))

    def _held(self, tall: int) -> int:
        """Rows of x that are split at once: all where they are the last axis, so that they are read side by side."""
        return amx.BLOCK if self.along[0] else tall

    def _pieces(self, tall: int, wide: int) -> int:
        return -(-self.rows // tall) * (self.columns // wide)

    @property
    def grid(self) -> tuple[int, int]:
        tall, wide = self.piece
        return -(-self.rows // tall), self.columns // wide


def product_job(s: products.Shape) -> Job:
    return Job(s.rows, s.depth, s.columns, (True, s.turned))


def gradient_job(s: weights.Shape) -> Job:
    return Job(s.left, s.rows, s.right, (False, False))


def product_shape(s: products.Shape) -> products.Shape | None:
    """This shape with this processor's vectors, if there is a kernel."""
    return replace(s, lanes=WORDS) if product_job(s).fits else None


def gradient_shape(s: weights.Shape) -> weights.Shape | None:
    return replace(s, lanes=WORDS) if gradient_job(s).fits else None


def product(name: str, s: products.Shape) -> str:
    """The same kernel as `products.product`."""
    job, results = product_job(s), len(s.then.results)
    k = Kernel(name, job.grid, products.buffers(s), s.lanes)
    x, y, *added = k.buffers
    added, outs = added[:-results], added[-results:]

    def finish(sums: Buffer, m: Index, row: Index, column: Index) -> None:
        for n in range(0, amx.BLOCK, k.lanes):
            at = (row + m, column + n)
            value = products.with_added(sums.load(m, n), at, added, s)
            for into, v in zip(outs, s.then.of(k, value), strict=True):
                into[at] = v

    _multiply(k, job, x, y, outs[0], finish if added or s.then.steps else None)
    return k.text()


def gradient(name: str, s: weights.Shape) -> str:
    """The same kernel as `weights.gradient`."""
    job = gradient_job(s)
    k = Kernel(name, job.grid, weights.buffers(s), s.lanes)
    x, y, *rest = k.buffers
    more, (out, *bias) = (rest[:2], rest[2:]) if s.added else ([], rest)
    row, end, column = _multiply(k, job, x, y, out, None)
    if more:
        weights.add_where(k, out, more, (row, end), (column, job.piece[1]))
    for total in bias:
        weights.sum_rows(k, y, total, k.place[0], column, job.piece[1])
    return k.text()


def _multiply(k: Kernel, job: Job, x: Buffer, y: Buffer, out: Buffer,
              finish: Callable[[Buffer, Index, Index, Index], None] | None) -> tuple[Index, Index, Index]:
    """This place's block of the product, in `out`; or with `finish`, which is handed sums [32 32], a row of them, and
    where in the result they belong. The block's first row, the one after the last, and its first column."""
    (tall, wide), deep = job.piece, job.deep
    row, column = k.place[0] * tall, k.place[1] * wide
    end = k.least(row + tall, job.rows)
    right = amx.Side.of(y, right=True, along=job.along[1], deep=deep, across=wide)
    left = amx.Side.of(x, right=False, along=job.along[0], deep=deep, across=amx.BLOCK if job.along[0] else tall)
    own = k.scratch(amx.BLOCK, amx.BLOCK) if finish else out
    sums, last = amx.Sums(left, right), job.depth - deep
    amx.begin(k)
    for start in k.range(0, job.depth, deep):
        right.fill(column, start)
        if not job.along[0]:
            left.fill(row, start)
        for r in k.range(row, end, amx.BLOCK):
            if job.along[0]:
                left.fill(r, start)
            for c in k.range(0, wide // amx.BLOCK, 1):
                at = (r, column + c * amx.BLOCK)
                with k.when("eq", start, 0):
                    sums.zero()
                with k.when("ne", start, 0):
                    sums.load(out, *at)
                sums.add(0 if job.along[0] else (r - row) // amx.BLOCK, c)
                if finish is None:
                    sums.store(out, *at)
                    continue
                with k.when("ne", start, last):
                    sums.store(out, *at)
                with k.when("eq", start, last):
                    sums.store(own, 0, 0)
                    for m in k.range(0, amx.BLOCK, 1):
                        finish(own, m, *at)
    amx.end(k)
    return row, end, column
