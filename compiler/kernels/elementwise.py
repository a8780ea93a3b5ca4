"""Several results of the same tensors, element by element, in one pass over memory; for processors."""

from __future__ import annotations

from dataclasses import dataclass

from sexpgpu.compiler.kernels.code import LANES, Kernel
from sexpgpu.compiler.kernels.steps import Steps
from sexpgpu.compiler.kernels.tile import divisor

#: Elements that are one piece of work.
PIECE = 1 << 14


@dataclass(frozen=True, slots=True)
class Shape:
    """`tensors` [size] and `scalars` [1] of f32, in this order, are what the steps are given. Each result takes the
    place of the tensor of this number in `onto`, or is a buffer of its own (-1)."""

    size: int
    tensors: int
    scalars: int
    steps: Steps
    onto: tuple[int, ...]

    @property
    def piece(self) -> int:
        return divisor(self.size, PIECE, LANES)


def elementwise(name: str, s: Shape) -> str:
    """Kernel of (tensors…, scalars…) -> results, each [size]."""
    count = s.tensors + s.scalars
    k = Kernel(name, (s.size // s.piece,), [*[(s.size,)] * s.tensors, *[(1,)] * s.scalars,
                                            *[(s.size,)] * s.onto.count(-1)])
    others = iter(k.buffers[count:])
    outs = [k.buffers[i] if i >= 0 else next(others) for i in s.onto]
    scalars = [b.one(0) for b in k.buffers[s.tensors:count]]
    start = k.place[0] * s.piece
    for i in k.range(start, start + s.piece, LANES):
        given = [b.load(i) for b in k.buffers[:s.tensors]]
        for into, value in zip(outs, s.steps.of(k, *given, *scalars), strict=True):
            into[i,] = value
    return k.text()
