"""Patterns of operations: what makes a value, and what makes what that reads.

    match(P("multiply", P("exponential", "x"), P("exponential", "x")), value)  ->  {"x": …} where both read one value
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isclose

from iree.compiler import ir
from sexpgpu.compiler.passes.known import number_of

#: Operands of an operation in the pattern's order, where it is of that kind; None where it is not.
Reader = Callable[[ir.Operation], list[ir.Value] | None]


@dataclass(frozen=True, slots=True, init=False)
class P:
    """An operation of `kind`, a name of StableHLO's or of the readers that `match` is given, whose operands are
    patterns, names (one name is one value) or numbers that a constant has everywhere. `name` names the value."""

    kind: str
    operands: tuple[P | str | float, ...]
    name: str | None

    def __init__(self, kind: str, *operands: P | str | float, name: str | None = None) -> None:
        for field, value in (("kind", kind), ("operands", operands), ("name", name)):
            object.__setattr__(self, field, value)


def maker(value: ir.Value) -> ir.Operation | None:
    """The operation that makes the value; None for an argument."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def match(pattern: P | str | float, value: ir.Value, readers: Mapping[str, Reader],
          found: dict[str, ir.Value] | None = None) -> dict[str, ir.Value] | None:
    """Values by name; None where the pattern is not what makes `value`. Names in `found` are known already."""
    found = {} if found is None else found
    if isinstance(pattern, str):
        return found if found.setdefault(pattern, value) == value else None
    if not isinstance(pattern, P):
        number = number_of(value)
        return found if number is not None and isclose(number, pattern, rel_tol=1e-7) else None   # it is rounded
    op = maker(value)
    if op is None:
        return None
    if pattern.kind in readers:
        operands = readers[pattern.kind](op)
    else:
        operands = list(op.operands) if op.name == f"stablehlo.{pattern.kind}" else None
    if operands is None or len(operands) != len(pattern.operands):
        return None
    if any(match(p, v, readers, found) is None for p, v in zip(pattern.operands, operands, strict=True)):
        return None
    return found if pattern.name is None or found.setdefault(pattern.name, value) == value else None
