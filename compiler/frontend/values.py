"""The values an experiment computes with, at compile time and staged.

Compile-time values are Python's: `None` (nil), `bool`, `int`, `float`, `str`, `Keyword`, `Symbol`, and `tuple` for
lists and vectors alike (a plist is a tuple of keywords and values in turn). Everything is immutable. Integers that a
shape may be made of are `Dim`s: ints that remember where they came from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.diagnostics import Span
from sexpgpu.runtime.dtypes import DType

if TYPE_CHECKING:
    from iree.compiler import ir


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a number came from, as a note says it: ``the defvar `seq` `` at its span."""

    text: str
    span: Span | None


class Dim(int):
    """An integer with an origin. Behaves as the int in every way; arithmetic gives plain ints."""

    origin: Origin | None

    def __new__(cls, value: int, origin: Origin | None = None) -> Dim:
        self = super().__new__(cls, value)
        self.origin = origin
        return self


def origin_of(value: object) -> Origin | None:
    return value.origin if isinstance(value, Dim) else None


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A staged tensor: `value` in the graph, its element type and its static shape, each axis with its origin.

    `span` is the expression that made it, for the second label of a shape error.
    """

    value: ir.Value
    dtype: DType
    shape: tuple[Dim, ...]
    span: Span

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class HostScalar:
    """A scalar of a `ctx` function: computed on the host in each step. `kind` is `"i64"`, `"f64"` or `"bool"`;
    `"choice"` is an `i64` index into `choices` (the strings a curriculum picks from)."""

    value: ir.Value
    kind: str
    span: Span
    choices: tuple[str, ...] = ()


class Poison:
    """What a wrong expression gives: silences everything that depends on it. One instance, `POISON`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "poison"


POISON = Poison()


def is_true(value: object) -> bool:
    """`nil` and `false` are false, everything else is true."""
    return value is not None and value is not False


def is_plist(value: object) -> bool:
    return (isinstance(value, tuple) and len(value) % 2 == 0
            and all(isinstance(key, Keyword) for key in value[::2]))


def plist_items(value: tuple) -> Iterator[tuple[str, object]]:
    """The (name, value) pairs of a plist."""
    for key, item in zip(value[::2], value[1::2], strict=True):
        yield key.name, item
