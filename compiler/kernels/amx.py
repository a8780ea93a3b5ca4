"""Products of f32 in the tiles of AMX, which multiplies bf16.

Each f32 is three bf16 (`split`), so a product of two is nine products of bf16, of which the three smallest are left
out: together at most 2^-22 of it, and mostly below the last bit of f32 (Henry, Tang and Heinecke 2019, "Leveraging the
bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations"). Sums are of f32 as ever, and in the end
those of ordinary numbers are no further from the truth than sums of products in f32 (`tests/py/passes/test_amx.py`).

What differs from f32: an infinite operand makes NaN, and so may a result that would be infinite; numbers below 1.2e-38
count as zero, parts of numbers and of products too, so what is below 1e-33 has lost digits.

A tile has 32 numbers of the depth, two in a word. Which two does not matter as long as it is the same in both operands:
here they are 16 apart, so that words are put together from two vectors as they were loaded. Word j of row i is
x[i, j] and x[i, j + 16] in a tile of the left operand, y[i, j] and y[i + 16, j] in one of the right. Eight registers:
four of sums, two of each operand.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from sexpgpu.compiler.kernels.code import Buffer, Index, Kernel, Place
from sexpgpu.compiler.kernels.split import PARTS, WORDS, Words
from sexpgpu.compiler.kernels.tile import turned

#: Rows of a tile, and its words in a row.
SIDE = WORDS
#: What a tile has of the depth.
DEEP = 32
#: Rows and columns of what is summed up at once, in tiles of both: 2 x 2.
BLOCK = 2 * SIDE
#: The products of parts that are summed: from each to the next only one operand changes.
ORDER = ((2, 0), (1, 0), (1, 1), (0, 1), (0, 0), (0, 2))
#: Rows that what is read next is fetched ahead.
AHEAD = 2
#: Registers of the operands' tiles; those of the sums are 0 to 3.
_LEFT, _RIGHT = (4, 5), (6, 7)


@dataclass(frozen=True, slots=True)
class Side:
    """One operand's tiles on the stack: of `deep` numbers of the depth and `across` rows of x, or columns of y, in
    pairs of tiles. `along` says that in `source` the depth is the last axis."""

    kernel: Kernel
    source: Buffer
    right: bool
    along: bool
    deep: int
    across: int
    held: Buffer

    @classmethod
    def of(cls, source: Buffer, right: bool, along: bool, deep: int, across: int) -> Side:
        k = source.kernel
        tiles = across // SIDE * (deep // DEEP) * PARTS
        return cls(k, source, right, along, deep, across, k.scratch(tiles * SIDE, SIDE, element="i32"))

    def tile(self, pair: Place, block: Place, part: int, which: int) -> Index:
        """The row of `held` at which a tile begins."""
        at = self.kernel.index(0) + pair
        return ((at * (self.deep // DEEP) + block) * (PARTS * 2) + (part * 2 + which)) * SIDE

    def fill(self, first: Place, start: Place) -> None:
        """Splits what begins at `first` of the rows or columns, and `start` of the depth. As it lies, for what is side
        by side in memory comes in one stream."""
        k, pairs, blocks = self.kernel, self.across // BLOCK, self.deep // DEEP
        if self.along == self.right:   # to be turned: in squares
            for block in k.range(0, blocks, 1):
                for pair in k.range(0, pairs, 1):
                    for which in range(2):
                        self._squares(pair, block, which, pair * BLOCK + (which * SIDE) + first, block * DEEP + start)
        elif self.right:
            for block in k.range(0, blocks, 1):
                for i in k.range(0, SIDE, 1):
                    deep = block * DEEP + i + start
                    later = k.least(deep + AHEAD, self.source.shape[0] - SIDE - 1)
                    for pair in k.range(0, pairs, 1):
                        for which in range(2):
                            across = pair * BLOCK + (which * SIDE) + first
                            two = [Words.load(self.source, deep + n, across) for n in (0, SIDE)]
                            for n in (0, SIDE):
                                self.source.soon(later + n, across)
                            self._store(pair, block, which, i, *two)
        else:
            for pair in k.range(0, pairs, 1):
                for which in range(2):
                    for i in k.range(0, SIDE, 1):
                        across = pair * BLOCK + i + (which * SIDE) + first
                        later = k.least(across + AHEAD, self.source.shape[0] - 1)
                        for block in k.range(0, blocks, 1):
                            deep = block * DEEP + start
                            two = [Words.load(self.source, across, deep + n) for n in (0, SIDE)]
                            for n in (0, SIDE):
                                self.source.soon(later, deep + n)
                            self._store(pair, block, which, i, *two)

    def _store(self, pair: Index, block: Index, which: int, i: Place, a: Words, b: Words) -> None:
        """Row i of a tile."""
        for part, words in enumerate(zip(a.parts(), b.parts(), strict=True)):
            words[0].beside(words[1]).store(self.held, self.tile(pair, block, part, which) + i, 0)

    def _squares(self, pair: Index, block: Index, which: int, across: Index, deep: Index) -> None:
        """A tile of what has to be turned."""
        halves = [[(across + i, deep + half) if self.along else (deep + (half + i), across) for i in range(SIDE)]
                  for half in (0, SIDE)]
        first, second = (turned([Words.load(self.source, *place) for place in half]) for half in halves)
        for i, two in enumerate(zip(first, second, strict=True)):
            self._store(pair, block, which, i, *two)


def begin(k: Kernel) -> None:
    """All eight tiles are 16 rows of 64 bytes."""
    layout = [1, *[0] * 15, *[64, 0] * 8, *[0] * 16, *[SIDE] * 8, *[0] * 8]
    memory = k.scratch(64, element="i8")
    k.write(f"vector.store {k.constant(f'dense<{layout}> : vector<64xi8>')}, {memory.at((0,))} : {memory.type}, "
            "vector<64xi8>")
    call(k, "ldtilecfg", _address(memory, 0))


def end(k: Kernel) -> None:
    call(k, "tilerelease")


@dataclass(frozen=True, slots=True)
class Sums:
    """The product [32 32] of a pair of the left tiles and a pair of the right ones, in registers."""

    left: Side
    right: Side

    def zero(self) -> None:
        for n in range(4):
            call(self.left.kernel, "tilezero", n)

    def load(self, source: Buffer, row: Place, column: Place) -> None:
        """What lies at this place."""
        for n, place in enumerate(self._corners(source, row, column)):
            call(self.left.kernel, "tileloadd64", n, place, 4 * source.shape[-1])

    def store(self, into: Buffer, row: Place, column: Place) -> None:
        for n, place in enumerate(self._corners(into, row, column)):
            call(self.left.kernel, "tilestored64", n, place, 4 * into.shape[-1])

    def add(self, rows: Place, columns: Place) -> None:
        """The product of these pairs."""
        k = self.left.kernel
        for block in k.range(0, self.left.deep // DEEP, 1):
            held: tuple[int, int] = (-1, -1)
            for parts in ORDER:
                for side, registers, pair, part, old in zip((self.left, self.right), (_LEFT, _RIGHT), (rows, columns),
                                                            parts, held, strict=True):
                    for which, register in enumerate(registers) if part != old else ():
                        place = _address(side.held, side.tile(pair, block, part, which), 0)
                        call(k, "tileloadd64", register, place, 4 * SIDE)
                held = parts
                for n, (a, b) in enumerate(itertools.product(_LEFT, _RIGHT)):
                    call(k, "tdpbf16ps", n, a, b)

    def _corners(self, buffer: Buffer, row: Place, column: Place) -> list[str]:
        zero = buffer.kernel.index(0)
        return [_address(buffer, zero + row + i, zero + column + j)
                for i, j in itertools.product((0, SIDE), repeat=2)]


def _address(buffer: Buffer, *places: Place) -> str:
    """A pointer to this place."""
    k = buffer.kernel
    at = k.index(0)
    for place, size in zip(places, buffer.shape, strict=True):
        at = at * size + place
    base = Index(k, k.name(f"memref.extract_aligned_pointer_as_index {buffer.name} : {buffer.type} -> index"))
    number = k.name(f"arith.index_cast {(at * 4 + base).name} : index to i64")
    return k.name(f"llvm.inttoptr {number} : i64 to !llvm.ptr")


def call(k: Kernel, name: str, *operands: int | str) -> None:
    """An instruction; registers are constants of i8, strides of i64."""
    kinds = {"tileloadd64": ("i8", "!llvm.ptr", "i64"), "tilestored64": ("i8", "!llvm.ptr", "i64"),
             "tilezero": ("i8",), "tdpbf16ps": ("i8", "i8", "i8"), "ldtilecfg": ("!llvm.ptr",), "tilerelease": ()}[name]
    given = [o if isinstance(o, str) else k.name(f"llvm.mlir.constant({o} : {kind}) : {kind}")
             for o, kind in zip(operands, kinds, strict=True)]
    k.write(f'llvm.call_intrinsic "llvm.x86.{name}"({", ".join(given)}) : ({", ".join(kinds)}) -> ()')
