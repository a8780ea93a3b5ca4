"""Places in source text: a file and a half-open range of it, lines and columns from 1, columns in code points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sexpgpu.diagnostics.record import record


class Span(NamedTuple):
    """`line`:`column` up to, not including, `end_line`:`end_column` of `file` (its name as the user gave it).

    Lines and columns count from 1; a tab is one column. A named tuple, not a frozen dataclass: the prelude alone has
    ten thousand of them, and a tuple is made in a fifth of the time.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of `other` (same file)."""
        return Span(self.file, self.line, self.column, other.end_line, other.end_column)

    def contains(self, other: Span) -> bool:
        """Whether `other` lies within this one."""
        return self.file == other.file and self[1:3] <= other[1:3] and other[3:5] <= self[3:5]

    @property
    def start(self) -> Span:
        """The empty span where this one starts."""
        return Span(self.file, self.line, self.column, self.line, self.column)

    @property
    def end(self) -> Span:
        """The empty span where this one ends."""
        return Span(self.file, self.end_line, self.end_column, self.end_line, self.end_column)

    @property
    def before_last(self) -> Span:
        """The empty span before the last character: where an argument is added to a call."""
        return Span(self.file, self.end_line, self.end_column - 1, self.end_line, self.end_column - 1)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@record
class SourceFile:
    """The text of one source file, by the name it is shown with."""

    name: str
    text: str

    def lines(self) -> list[str]:
        """The lines without their ends; only `\\n` (with an optional `\\r` before it) ends a line."""
        return [line[:-1] if line.endswith("\r") else line for line in self.text.split("\n")]


class SourceMap:
    """The files read so far, so that a renderer can quote them."""

    def __init__(self) -> None:
        self._files: dict[str, SourceFile] = {}

    def add(self, file: SourceFile) -> SourceFile:
        self._files[file.name] = file
        return file

    def get(self, name: str) -> SourceFile | None:
        return self._files.get(name)

    def __iter__(self) -> Iterator[SourceFile]:
        return iter(self._files.values())
