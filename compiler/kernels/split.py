"""An f32 as the sum of three bf16, exactly: of its 24 bits each takes eight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sexpgpu.compiler.kernels.code import Buffer, Kernel, Place

#: Words in a register of AVX-512.
WORDS = 16
#: bf16 of an f32.
PARTS = 3
_WORDS, _FLOATS = f"vector<{WORDS}xi32>", f"vector<{WORDS}xf32>"


@dataclass(frozen=True, slots=True)
class Words:
    """As many 32-bit words in a register, bits of f32 or two bf16 each."""

    kernel: Kernel
    name: str

    @classmethod
    def load(cls, source: Buffer, *places: Place) -> Words:
        """The f32 from this place on, along the last axis."""
        k = source.kernel
        floats = k.name(f"vector.load {source.at(places)} : {source.type}, {_FLOATS}")
        return k.make(cls, f"vector.bitcast {floats} : {_FLOATS} to {_WORDS}")

    def store(self, into: Buffer, *places: Place) -> None:
        self.kernel.write(f"vector.store {self.name}, {into.at(places)} : {into.type}, {_WORDS}")

    def _with(self, operation: str, other: Words) -> Words:
        return self.kernel.make(Words, f"arith.{operation} {self.name}, {other.name} : {_WORDS}")

    def mixed(self, other: Words, lanes: Sequence[int]) -> Words:
        """The words of these lanes, the lanes of `other` counted on from `WORDS`."""
        operands = f"{self.name}, {other.name} {list(lanes)}"
        return self.kernel.make(Words, f"vector.shuffle {operands} : {_WORDS}, {_WORDS}")

    def less(self, other: Words) -> Words:
        """Their difference as f32."""
        k = self.kernel
        a, b = (k.name(f"vector.bitcast {w.name} : {_WORDS} to {_FLOATS}") for w in (self, other))
        return k.make(Words, f"vector.bitcast {k.name(f'arith.subf {a}, {b} : {_FLOATS}')} : {_FLOATS} to {_WORDS}")

    def top(self) -> Words:
        """The upper half, with zeros behind."""
        return self._with("andi", _word(self.kernel, -1 << 16))

    def nearest(self) -> Words:
        """The number nearest to it of which the upper half is all."""
        return self._with("addi", _word(self.kernel, 1 << 15)).top()

    def parts(self) -> list[Words]:
        """What it is the sum of; the lower half of the last is zero. The first is cut off, so that the greatest f32 is
        not rounded to infinity. The second is rounded, so that the third has either sign, and what is left out of a
        product with it does not add up."""
        high = self.top()
        rest = self.less(high)
        middle = rest.nearest()
        return [high, middle, rest.less(middle)]

    def beside(self, other: Words) -> Words:
        """The upper halves of both, word by word."""
        low = self._with("shrui", _word(self.kernel, 16))
        return low._with("ori", other._with("andi", _word(self.kernel, -1 << 16)))


def _word(k: Kernel, number: int) -> Words:
    return Words(k, k.constant(f"dense<{number}> : {_WORDS}"))
