"""`:groups` of an optimizer: which parameters get other hyper-parameters, or stay as they are.

    :groups [["*.bias" :weight-decay 0.0] ["embed*" :lr 1e-4] ["head.*" :frozen true]]

A pattern is a full name in which `*` stands for any text and `?` for one character; the first pattern that matches a
parameter counts. A pattern that matches none is an error. The layers of a `repeat` have a name each, so a pattern may
be that of one layer, `block.3.*`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.compiler.frontend.values import is_plist, plist_items
from sexpgpu.diagnostics.record import record


@record(eq=False)
class Group:
    """`hyper` are the hyper-parameters it replaces; `weight_decay` is None where it has none of its own."""

    pattern: str
    hyper: tuple[tuple[str, object], ...] = ()
    weight_decay: float | None = None
    frozen: bool = False

    def schedule_name(self, hyper: str) -> str:
        """The name that a replaced hyper-parameter is reported by."""
        return f"{hyper}.{self.pattern}"

    def matches(self, name: str) -> bool:
        return fnmatchcase(name, self.pattern)


class BadGroup(Exception):
    """What is wrong with a `:groups` value, as a message."""


def read_groups(value: object, hypers: Sequence[str]) -> tuple[Group, ...]:
    """The groups of a `:groups` value; `hypers` are the names that the optimizer has."""
    if value is None:
        return ()
    if not isinstance(value, tuple):
        raise BadGroup("`:groups` is a vector of `[pattern :setting value …]`")
    rows: list[tuple] = []
    rest = list(value)
    while rest:
        item = rest.pop(0)
        if isinstance(item, str) and rest:
            rows.append((item, rest.pop(0)))  # a pattern and its settings in turn
        elif isinstance(item, tuple) and item and isinstance(item[0], str):
            rows.append(item)
        else:
            raise BadGroup("an element of `:groups` is `[pattern :setting value …]`")
    return tuple([_group(row[0], row[1:], hypers) for row in rows])


def _group(pattern: str, settings: tuple, hypers: Sequence[str]) -> Group:
    if len(settings) == 1:
        settings = (Keyword("frozen"), True) if settings[0] == Keyword("frozen") else settings[0]
    if not is_plist(settings):
        raise BadGroup(f"the settings of the group \"{pattern}\" are keywords and values in turn")
    hyper: list[tuple[str, object]] = []
    decay, frozen = None, False
    for name, value in plist_items(settings):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if name == "frozen" and isinstance(value, bool):
            frozen = value
        elif name == "weight-decay" and number and value >= 0:
            decay = float(value)
        elif name in hypers:
            hyper.append((name, value))
        else:
            listed = ", ".join(f"`:{word}`" for word in (*hypers, "weight-decay", "frozen"))
            raise BadGroup(f"the group \"{pattern}\" cannot set `:{name}` to that; it sets {listed}")
    return Group(pattern, tuple(hyper), decay, frozen)
