"""A way-round: a form that a code generator gets wrong, and the form it gets right, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from iree.compiler import ir
from sexpgpu.compiler import hlo


@dataclass(frozen=True, slots=True)
class WayRound:
    """`rewrite(op)` changes one operation in place, or does nothing; `kinds` are the targets that need it.

    `reason` is what happens without, in the words of the test that shows it.
    """

    name: str
    reason: str
    kinds: tuple[str, ...]
    rewrite: Callable[[ir.Operation], None]


def copy(value: ir.Value) -> ir.Value:
    """The same numbers, computed into memory of their own: nobody can foresee that they are."""
    shape = hlo.shape_of(value)
    # a number, not a boolean: alone in memory Vulkan would misread that
    one = hlo.broadcast_scalar(hlo.optimization_barrier(hlo.splat(1, [], "i32")), shape)
    return hlo.select(hlo.compare("NE", one, hlo.zeros_like(one)), value, hlo.zeros_like(value))
