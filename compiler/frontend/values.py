"""The values an experiment computes with, at compile time and staged.

Compile-time values are Python's: `None` (nil), `bool`, `int`, `float`, `str`, `Keyword`, `Symbol`, and `tuple` for
lists and vectors alike (a plist is a tuple of keywords and values in turn). Everything is immutable. Integers that a
shape may be made of are `Dim`s: ints that remember where they came from. Functions are `Closure`s, or an `Op` of the
table of built-ins. What the contract forms make is in `contract_values`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sexpgpu.compiler.frontend.data import Form, Keyword
from sexpgpu.diagnostics import Span
from sexpgpu.diagnostics.record import record
from sexpgpu.runtime.dtypes import DType

if TYPE_CHECKING:
    from iree.compiler import ir
    from sexpgpu.compiler.frontend.lambda_code import Lambda


@record
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


@record(eq=False)
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


@record(eq=False)
class HostScalar:
    """A scalar of a `ctx` function: computed on the host in each step. `kind` is `"i64"`, `"f64"` or `"bool"`;
    `"choice"` is an `i64` index into `choices` (the strings a curriculum picks from)."""

    value: ir.Value
    kind: str
    span: Span
    choices: tuple[str, ...] = ()


@record(eq=False)
class Closure:
    """A function of the language: its code, and the frame of variables it closes over."""

    code: Lambda
    frame: list | None

    @property
    def name(self) -> str:
        return self.code.name


class Code(tuple):
    """A list that is a piece of program: what quote gives and macros work on. A tuple in every way; `form` is the
    text it was read from, with its spans, where there is one."""

    form: Form | None
    bracket: str

    def __new__(cls, items: tuple, form: Form | None = None, bracket: str = "(") -> Code:
        self = super().__new__(cls, items)
        self.form = form
        self.bracket = form.bracket if form else bracket
        return self


@record(eq=False)
class Ctx:
    """What schedules and the curriculum see: `values` by key. Not `complete` when a counter is wrong: then an unknown
    key may be its name."""

    values: dict[str, HostScalar]
    complete: bool


class Poison:
    """What a wrong expression gives: silences everything that depends on it. One instance, `POISON`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "poison"


POISON = Poison()


def has_poison(value: object) -> bool:
    """Whether `value` is poison or a list with poison in it."""
    if value is POISON:
        return True
    return isinstance(value, tuple) and any(has_poison(item) for item in value)


def is_true(value: object) -> bool:
    """`nil` and `false` are false, everything else is true."""
    return value is not None and value is not False


def same_value(a: object, b: object) -> bool:
    """Equality of compile-time values; functions are equal when they are the same code over equal variables."""
    if a is b:
        return True
    if isinstance(a, Closure) and isinstance(b, Closure):
        return a.code is b.code and _same_frame(a.frame, b.frame)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same_value, a, b))
    return isinstance(a, bool) == isinstance(b, bool) and a == b


def _same_frame(a: list | None, b: list | None) -> bool:
    if a is b:
        return True
    if a is None or b is None or len(a) != len(b):
        return False
    return _same_frame(a[0], b[0]) and all(map(same_value, a[1:], b[1:]))


def is_plist(value: object) -> bool:
    return (isinstance(value, tuple) and len(value) % 2 == 0
            and all(isinstance(key, Keyword) for key in value[::2]))


def plist_items(value: tuple) -> Iterator[tuple[str, object]]:
    """The (name, value) pairs of a plist."""
    for key, item in zip(value[::2], value[1::2], strict=True):
        yield key.name, item
