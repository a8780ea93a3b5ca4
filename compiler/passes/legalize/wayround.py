"""A way-round: a form that a code generator gets wrong, and the form it gets right, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from iree.compiler import ir


@dataclass(frozen=True, slots=True)
class WayRound:
    """`rewrite(op)` changes one operation in place, or does nothing; `kinds` are the targets that need it.

    `reason` is what happens without, in the words of the test that shows it.
    """

    name: str
    reason: str
    kinds: tuple[str, ...]
    rewrite: Callable[[ir.Operation], None]


def replace(op: ir.Operation, value: ir.Value) -> None:
    op.results[0].replace_all_uses_with(value)
    op.erase()
