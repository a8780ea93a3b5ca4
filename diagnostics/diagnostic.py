"""The one value behind every message, and the exception that carries a batch of them.

A message states facts (lower case, no full stop, no advice); only `fix` advises. Labels stand alone: each can be
read without the message.
"""

from __future__ import annotations

from enum import IntEnum

from sexpgpu.diagnostics.codes import CODES, exit_code
from sexpgpu.diagnostics.record import record
from sexpgpu.diagnostics.span import Span


class Severity(IntEnum):
    """The numbers are the Language Server Protocol's."""

    ERROR = 1
    WARNING = 2


@record
class Label:
    """A place and what is to be said about it. An empty text underlines only."""

    span: Span
    text: str = ""


@record
class Frame:
    """One call on the way to the place: the function's name and where it was called."""

    name: str
    call: Span


@record
class Edit:
    """Replace the text at `span` by `text`."""

    span: Span
    text: str


@record
class Fix:
    """One line of advice; `edits`, where one change repairs it, `safe` when it can be applied unseen."""

    text: str
    edits: tuple[Edit, ...] = ()
    safe: bool = False


@record
class Clue:
    """The number `found` comes from `place`, and `wanted` would fit there as far as this error goes."""

    place: Span
    found: int
    wanted: int


@record
class Diagnostic:
    """One finding. `span` is None only where no source text is at fault (a flag, a file, a record)."""

    code: str
    message: str
    primary: Label | None = None
    secondary: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    chain: tuple[Frame, ...] = ()
    fix: Fix | None = None
    #: What is not shown, for the search for a fix: other changes worth a try, constants that are at odds,
    #: and where the tensors were made.
    tries: tuple[Fix, ...] = ()
    clues: tuple[Clue, ...] = ()
    around: tuple[Span, ...] = ()

    def __post_init__(self) -> None:
        assert self.code in CODES, f"{self.code} is not in the registry"

    @property
    def severity(self) -> Severity:
        return Severity.WARNING if self.code.startswith("W-") else Severity.ERROR

    @property
    def exit_code(self) -> int:
        return exit_code(self.code)


class SexpError(Exception):
    """A stage ended with findings. Command lines render them and exit with the first error's status."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        assert diagnostics
        super().__init__("; ".join(f"{d.code}: {d.message}" for d in diagnostics))
        self.diagnostics = diagnostics
