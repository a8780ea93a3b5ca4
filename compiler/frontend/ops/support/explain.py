"""How a shape error is told: shapes drawn one under the other, the axes that differ marked, and where each size came
from.

    left   [4 32 32]
    right    [ 4 32]
               ^
"""

from __future__ import annotations

from collections.abc import Sequence

from sexpgpu.compiler.frontend.report import in_prelude
from sexpgpu.compiler.frontend.values import Origin, origin_of
from sexpgpu.diagnostics import Clue, Label, Span
from sexpgpu.diagnostics.record import record


@record
class Operand:
    """One side of a mismatch: its name in the drawing, its place, its shape, the axes (from 0) to mark, and where the
    tensor was made."""

    name: str
    span: Span
    shape: Sequence[int]
    marks: Sequence[int] = ()
    made: Span | None = None

    @property
    def place(self) -> Span:
        """The operand in the call; where the call stands in the prelude, the user's expression that made the tensor."""
        return self.made if self.made is not None and in_prelude(self.span) else self.span


def drawing(operands: Sequence[Operand], *, right: bool = True) -> str:
    """The shapes aligned, from the right (as broadcasting matches them) or from the left, marks beneath."""
    rank = max(len(o.shape) for o in operands)
    offsets = [rank - len(o.shape) if right else 0 for o in operands]
    widths = [max((len(str(int(o.shape[c - off]))) for o, off in zip(operands, offsets, strict=True)
                   if 0 <= c - off < len(o.shape)), default=1) for c in range(rank)]
    margin = max(len(o.name) for o in operands) + 2
    marks = [{m + off for m in o.marks} for o, off in zip(operands, offsets, strict=True)]
    together = all(m == marks[0] for m in marks)
    lines = []
    for i, (operand, offset) in enumerate(zip(operands, offsets, strict=True)):
        cells = [str(int(n)).rjust(widths[c + offset]) for c, n in enumerate(operand.shape)]
        indent = sum(w + 1 for w in widths[:offset])
        lines.append(operand.name.ljust(margin) + " " * indent + "[" + " ".join(cells) + "]")
        shown = marks[i] if not together or i == len(operands) - 1 else set()
        if shown:
            line = " " * margin + " " + " ".join(("^" if c in shown else " ") * w for c, w in enumerate(widths))
            lines.append(line.rstrip())
    return "\n".join(lines)


def origin_notes(operands: Sequence[Operand]) -> list[str]:
    """For each marked size, where it came from."""
    notes = []
    for operand in operands:
        for mark in operand.marks:
            origin = origin_of(operand.shape[mark])
            if origin is not None:
                notes.append(f"the {int(operand.shape[mark])} of {operand.name} comes from {place(origin)}")
    return notes


def place(origin: Origin) -> str:
    return f"{origin.text} at {origin.span}" if origin.span else origin.text


def labels(operands: Sequence[Operand]) -> list[Label]:
    """Each operand underlined with its shape."""
    return [Label(o.place, "shape [" + " ".join(str(int(d)) for d in o.shape) + "]") for o in operands]


def mismatch(operands: Sequence[Operand], rule: Sequence[str], *, right: bool = True) -> dict:
    """The parts of `Call.fail` for a mismatch: the last operand is the primary place, the others are secondary."""
    marked = labels(operands)
    notes = [drawing(operands, right=right), *origin_notes(operands), *rule]
    clues = at_odds(operands)
    made = tuple(o.made for o in operands if o.made is not None)
    if in_prelude(operands[-1].span):
        return {"label": "these shapes do not fit", "secondary": tuple(marked), "notes": notes,
                "clues": clues, "around": made}
    return {"at": marked[-1].span, "label": marked[-1].text, "secondary": tuple(marked[:-1]),
            "notes": notes, "clues": clues, "around": made}


def at_odds(operands: Sequence[Operand]) -> list[Clue]:
    """The marked sizes of two operands, each with the other's as what is wanted; later ones are nearer to the place."""
    found = []
    for mine, other in ((operands[-1], operands[0]), (operands[0], operands[-1])):
        for mark, across in zip(mine.marks, other.marks, strict=False):
            found += clue(mine.shape[mark], int(other.shape[across]))
    return found


def clue(number: int, wanted: int) -> list[Clue]:
    """`number` where `wanted` would fit: the places it comes from."""
    origin = origin_of(number)
    if origin is None or origin.span is None or in_prelude(origin.span) or number == wanted:
        return []
    return [Clue(origin.span, int(number), int(wanted))]
