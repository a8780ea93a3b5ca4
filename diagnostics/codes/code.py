"""What a code is, and what a family's errors make a command exit with."""

from __future__ import annotations

from sexpgpu.diagnostics.record import record

EXIT_CODES = {
    "READ": 1, "NAME": 1, "ARITY": 1, "TYPE": 1, "SHAPE": 1, "VALUE": 1, "CONTRACT": 1, "GRAD": 1, "TARGET": 1,
    "RUN": 2, "DATA": 3, "STORE": 3, "ARTIFACT": 3, "CKPT": 3, "NUM": 4, "ICE": 70,
}


@record
class Code:
    """`E-FAMILY-NNN` (or `W-…`), a title of a few words, and a sentence or two on when it is raised."""

    name: str
    title: str
    meaning: str

    @property
    def family(self) -> str:
        return self.name.split("-")[1]


def exit_code(name: str) -> int:
    """The exit status an error of this code ends a command with; a warning alone is 0."""
    severity, family, _ = name.split("-")
    return 0 if severity == "W" else EXIT_CODES[family]
