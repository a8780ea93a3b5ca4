"""One file's lines with the labels that point into them.

    12 |   (matmul h w)
       |   ^^^^^^^^^^^^ the inner dimensions differ
       |           - f32[4 64]
       |             - f32[32 10]

Each label has a row of its own under its line, in the order of their columns and the longer one first, so that
nested labels need no connecting lines. A label over several lines has a bar at the left from its first line to its
last; lines in between are left out when they are many.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence

from sexpgpu.diagnostics.diagnostic import Label
from sexpgpu.diagnostics.record import record
from sexpgpu.diagnostics.render_cells import ShownLine, width
from sexpgpu.diagnostics.span import Span

#: Paints a text in a named style (`primary`, `secondary`, `gutter`); the identity without colour.
Paint = Callable[[str, str], str]

#: A label over more lines than this shows only its first and its last.
MOST_LINES = 4
#: Narrower than this, a label's text is not wrapped any further.
LEAST_ROOM = 24


@record
class Mark:
    """A label to draw: `style` is `primary` or `secondary`."""

    label: Label
    style: str

    @property
    def span(self) -> Span:
        return self.label.span

    @property
    def several_lines(self) -> bool:
        return self.span.end_line > self.span.line

    @property
    def character(self) -> str:
        return "^" if self.style == "primary" else "-"


class Snippet:
    """Draws the marks of one file into rows. `margin` is the width of the line numbers."""

    def __init__(self, lines: Sequence[str], marks: Iterable[Mark], margin: int, room: int, paint: Paint) -> None:
        self._lines = lines
        self._marks = sorted((_within(mark, lines) for mark in marks), key=_order)
        self._bars = [mark for mark in self._marks if mark.several_lines]
        self._margin, self._paint = margin, paint
        self._indent = len(self._bars) + 1 if self._bars else 0
        self._room = max(room - margin - 3 - self._indent, LEAST_ROOM)

    def rows(self) -> list[str]:
        """The rows, from the first quoted line to the last label."""
        rows: list[str] = []
        last = 0
        for number in self._numbers():
            if last and number > last + 1:
                rows.append(self._row("...", self._bar_state(number, after=False), gap=True))
            rows += self._line(number)
            last = number
        return rows

    def _numbers(self) -> list[int]:
        chosen: set[int] = set()
        for mark in self._marks:
            first, last = mark.span.line, mark.span.end_line
            chosen |= set(range(first, last + 1)) if last - first < MOST_LINES else {first, last}
        # A gap of one line takes as much room as the line.
        chosen |= {n + 1 for n in chosen if n + 2 in chosen}
        return sorted(chosen)

    def _line(self, number: int) -> list[str]:
        text = self._lines[number - 1]
        own = [m for m in self._marks if m.span.line == number and not m.several_lines]
        begin = [m for m in self._bars if m.span.line == number]
        finish = [m for m in self._bars if m.span.end_line == number]
        columns = [(m.span.column, m.span.end_column) for m in own if m.style == "primary"] or [
            (m.span.column, m.span.end_column) for m in own] or [(m.span.column, m.span.column) for m in begin] or [
            (m.span.end_column, m.span.end_column) for m in finish] or [(1, 1)]
        line = ShownLine(text, self._room, columns[0])
        at_margin = [m for m in begin if not text[:m.span.column - 1].strip()]
        state = self._bar_state(number, after=False)
        for mark in at_margin:
            state[self._bars.index(mark)] = self._paint("/", mark.style)
        rows = [self._row(str(number), state, line.text)]
        state = self._bar_state(number, after=True, pending=[m for m in begin if m not in at_margin])
        for mark in own:
            rows += self._underline(mark, line, state)
        for mark in begin:
            if mark not in at_margin:
                rows.append(self._reach(mark, line.cell(mark.span.column), state, ""))
                state[self._bars.index(mark)] = self._paint("|", mark.style)
        for mark in finish:
            rows += self._finish(mark, line.cell(max(mark.span.end_column - 1, 1)), state)
            state[self._bars.index(mark)] = " "
        return rows

    def _underline(self, mark: Mark, line: ShownLine, state: list[str]) -> list[str]:
        start = line.cell(mark.span.column)
        length = max(line.cell(mark.span.end_column) - start, 1)
        underline = " " * start + self._paint(mark.character * length, mark.style)
        return self._with_text(mark, underline, start, start + length, state)

    def _finish(self, mark: Mark, cell: int, state: list[str]) -> list[str]:
        reach = self._reach(mark, cell, state, "")
        texts = mark.label.text.split("\n") if mark.label.text else []
        if len(texts) == 1 and cell + 2 + width(texts[0]) <= self._room:
            return [f"{reach} {self._paint(texts[0], mark.style)}"]
        blank = list(state)
        blank[self._bars.index(mark)] = " "
        return [reach, *(self._row("", blank, "  " + self._paint(t, mark.style)) for t in self._wrapped(texts, 2))]

    def _with_text(self, mark: Mark, underline: str, start: int, end: int, state: list[str]) -> list[str]:
        """The underline with its text: beside it where that fits, else below its start."""
        texts = mark.label.text.split("\n") if mark.label.text else []
        if not texts:
            return [self._row("", state, underline)]
        longest = max(width(text) for text in texts)
        if end + 1 + longest <= self._room:
            first = f"{underline} {self._paint(texts[0], mark.style)}"
            rest = [" " * (end + 1) + self._paint(text, mark.style) for text in texts[1:]]
            return [self._row("", state, row) for row in (first, *rest)]
        indent = max(0, min(start, self._room - longest))
        below = [" " * indent + self._paint(text, mark.style) for text in self._wrapped(texts, indent)]
        return [self._row("", state, row) for row in (underline, *below)]

    def _wrapped(self, texts: Sequence[str], indent: int) -> list[str]:
        room = max(self._room - indent, LEAST_ROOM)
        return [row for text in texts for row in (textwrap.wrap(text, room) or [""])]

    def _reach(self, mark: Mark, cell: int, state: list[str], text: str) -> str:
        """A row whose line runs from the mark's bar to `cell`."""
        at = self._bars.index(mark)
        bar = state[at] if state[at] != " " else " "
        after = [s if s != " " else self._paint("_", mark.style) for s in state[at + 1:]]
        line = self._paint("_" * (cell + 1) + mark.character, mark.style)
        return f"{self._gutter('')}{''.join(state[:at])}{bar}{''.join(after)}{line}{text}"

    def _bar_state(self, number: int, *, after: bool, pending: Sequence[Mark] = ()) -> list[str]:
        """The bars beside a line (`after`: below it)."""
        def character(mark: Mark) -> str:
            first = mark.span.line < number or (after and mark.span.line == number and mark not in pending)
            return self._paint("|", mark.style) if first and number <= mark.span.end_line else " "
        return [character(mark) for mark in self._bars]

    def _row(self, number: str, state: Sequence[str], text: str = "", *, gap: bool = False) -> str:
        bars = "".join(state) + " " if self._bars else ""
        if gap:
            return (self._paint(number.ljust(self._margin + 3), "gutter") + bars).rstrip()
        return (self._gutter(number) + bars + text).rstrip()

    def _gutter(self, number: str) -> str:
        return self._paint(f"{number:>{self._margin}} |", "gutter") + " "


def _order(mark: Mark) -> tuple[int, int, int, int]:
    span = mark.span
    return (span.line, span.column, -span.end_line, -span.end_column)


def _within(mark: Mark, lines: Sequence[str]) -> Mark:
    """The mark with a span that lies in the file, whatever it was: a renderer must not fail."""
    span = mark.span
    line = min(max(span.line, 1), len(lines))
    end_line = min(max(span.end_line, line), len(lines))
    column = min(max(span.column, 1), len(lines[line - 1]) + 1)
    end_column = min(max(span.end_column, 1), len(lines[end_line - 1]) + 1)
    if end_line > line and end_column == 1:
        # A span up to the start of a line ends with the line before it.
        end_line -= 1
        end_column = len(lines[end_line - 1]) + 1
    if end_line == line:
        end_column = max(end_column, column)
    return Mark(Label(Span(span.file, line, column, end_line, end_column), mark.label.text), mark.style)
