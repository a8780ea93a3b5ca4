"""Names with the numbers of layers in them: in a `repeat` the layers are staged once, and have a name each.

In the graph such a name has a `*` for each number (`sexpgpu.runtime.layers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sexpgpu.runtime.layers import names_of

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.ops.support.rounds import Rounds

#: What stands for a layer's number in a name.
MARK = "*"


class LayerText(str):
    """Text in which a `*` stands for the number of a layer; `loops` are those whose numbers they are, in order."""

    loops: tuple[Rounds, ...]

    def __new__(cls, text: str, loops: Sequence[Rounds] = ()) -> LayerText:
        self = super().__new__(cls, text)
        self.loops = tuple(loops)
        return self

    @staticmethod
    def joined(parts: Sequence[str], between: str = "") -> LayerText:
        return LayerText(between.join(parts), [loop for part in parts for loop in loops_of(part)])


def loops_of(text: str) -> tuple[Rounds, ...]:
    return text.loops if isinstance(text, LayerText) else ()


def number_text(loops: Sequence[Rounds], value: object) -> LayerText | None:
    """The text of a layer's number, where `value` is that of one of the `repeat`s around the place."""
    return next((LayerText(MARK, (loop,)) for loop in loops if loop.layered and loop.index is value), None)


def flaw(text: str, loops: Sequence[Rounds]) -> str | None:
    """What is wrong with the numbers of layers in a name, in which those of all `loops` may stand."""
    marked = loops_of(text)
    if text.count(MARK) != len(marked):
        return f"`{MARK}` in a name stands for the number of a layer"
    if list(marked) != [loop for loop in loops if loop in marked]:
        return "each layer's number stands once in a name, that of an outer `repeat` before that of an inner one"
    return None


def each(text: str) -> list[str]:
    """The names that it stands for, in the order in which the layers lie."""
    marked = loops_of(text)
    return names_of(text, [loop.trips for loop in marked])[0] if marked else [text]
