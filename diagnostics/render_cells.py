"""Source lines as a terminal shows them: how many cells a text takes, and a part of a line that fits.

A tab is four cells, East Asian wide characters are two, combining marks none. What a terminal would act on (escape
codes, direction overrides) is replaced by something visible.
"""

from __future__ import annotations

import unicodedata

TAB = 4
ELLIPSIS = "…"


def shown(text: str) -> list[str]:
    """What stands for each character of `text`: as many strings as it has characters."""
    if text.isascii() and text.isprintable():
        return list(text)
    return [_shown_character(c) for c in text]


def _shown_character(character: str) -> str:
    if character == "\t":
        return " " * TAB
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    category = unicodedata.category(character)
    if category in ("Cc", "Cs", "Zl", "Zp") or (category == "Cf" and character != "\u200d"):
        return "\ufffd"
    return character


def width(text: str) -> int:
    """The cells that `text` (made by `shown`) takes."""
    if text.isascii():
        return len(text)
    return sum(_character_width(c) for c in text)


def _character_width(character: str) -> int:
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    return 0 if unicodedata.category(character) in ("Mn", "Me", "Cf") else 1


class ShownLine:
    """A source line in cells, cut to `room` cells around its columns `keep` (first and last, from 1) if it is longer.

    `text` is what to print; `cell(column)` is where a column stands in it, clamped to what is shown.
    """

    def __init__(self, line: str, room: int, keep: tuple[int, int]) -> None:
        self._parts = shown(line)
        self._starts = [0]
        for part in self._parts:
            self._starts.append(self._starts[-1] + width(part))
        self._room = room
        total = self._starts[-1]
        if total <= room:
            self._low, self._high = 0, max(total, room)
            self.text = "".join(self._parts)
            return
        start, end = self._raw(keep[0]), self._raw(keep[1])
        self._low = 0 if end <= room - 1 else max(0, min(start - room // 4, total - room))
        self._high = self._low + room
        self.text = self._cut(total)

    def _cut(self, total: int) -> str:
        cells: list[str] = []
        for part, start in zip(self._parts, self._starts, strict=False):
            if start >= self._low and start + width(part) <= self._high:
                cells.append(part)
            elif start < self._high and start + width(part) > self._low:
                cells.append(" ")   # half of a wide character
        if self._low > 0:
            cells[0] = ELLIPSIS
        if self._high < total:
            cells[-1] = ELLIPSIS
        return "".join(cells)

    def _raw(self, column: int) -> int:
        return self._starts[min(max(column - 1, 0), len(self._parts))] + max(0, column - 1 - len(self._parts))

    def cell(self, column: int) -> int:
        """The cell, from 0, where `column` begins; one past the end of the line is a place too."""
        return min(max(self._raw(column) - self._low, 0), self._high - self._low)
