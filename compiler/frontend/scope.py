"""Lexical scope, as analysis sees it: which variable stands in which slot of which frame.

At run time a frame is a list: the enclosing frame, then one slot for each variable bound in one activation of a
function or one turn of a loop. A `let` takes new slots in the frame it stands in.
"""

from __future__ import annotations


class Layout:
    """How many slots a frame has, counting the link to the enclosing one. Known when its body is analysed."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 1

    def frame(self, enclosing: list | None) -> list:
        frame: list = [None] * self.size
        frame[0] = enclosing
        return frame


class Scope:
    """The names bound around a place. `nested` adds names in the same frame, `inner` begins a new frame."""

    __slots__ = ("_names", "_parent", "layout")

    def __init__(self, parent: Scope | None, layout: Layout) -> None:
        self._parent = parent
        self.layout = layout
        self._names: dict[str, int] = {}

    @staticmethod
    def inner(parent: Scope | None) -> Scope:
        return Scope(parent, Layout())

    def nested(self) -> Scope:
        return Scope(self, self.layout)

    def bind(self, name: str) -> int:
        """A new slot for `name`, which hides what had the name before."""
        slot = self.layout.size
        self.layout.size += 1
        self._names[name] = slot
        return slot

    def find(self, name: str) -> tuple[int, int] | None:
        """How many frames out, and which slot; None for a name that is not bound here."""
        hops, scope = 0, self
        while True:
            slot = scope._names.get(name)
            if slot is not None:
                return hops, slot
            parent = scope._parent
            if parent is None:
                return None
            hops += parent.layout is not scope.layout
            scope = parent

    def captured(self, frame: list) -> dict[str, object]:
        """The variables of the frame around this one, which is `frame`."""
        found: dict[str, object] = {}
        scope = self._parent
        while scope is not None and scope.layout is not self.layout:
            if self._parent is not None and scope.layout is self._parent.layout:
                found = {**{name: frame[slot] for name, slot in scope._names.items()}, **found}
            scope = scope._parent
        return found

    def names(self) -> set[str]:
        found: set[str] = set()
        scope: Scope | None = self
        while scope is not None:
            found.update(scope._names)
            scope = scope._parent
        return found
