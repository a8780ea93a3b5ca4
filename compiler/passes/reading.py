"""Attributes of StableHLO operations read back: there is no Python class for them, so their text is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from iree.compiler import ir
from sexpgpu.diagnostics.record import record


def dims_of(op: ir.Operation, attribute: str) -> list[int]:
    """An array of integers; empty where the attribute is absent."""
    return list(ir.DenseI64ArrayAttr(op.attributes[attribute])) if attribute in op.attributes else []


_LIST = re.compile(r"(\w+) = \[([^\]]*)\]")
_NUMBER = re.compile(r"(\w+) = (\d+)")


@record
class DimensionNumbers:
    """A `#stablehlo.gather<…>` or `#stablehlo.scatter<…>`; what the text leaves out is empty, or 0."""

    lists: Mapping[str, list[int]]
    index_vector_dim: int

    def __getitem__(self, name: str) -> list[int]:
        return self.lists.get(name, [])


def dimension_numbers(attribute: ir.Attribute) -> DimensionNumbers:
    text = str(attribute)
    lists = {name: [int(n) for n in body.split(",") if n.strip()] for name, body in _LIST.findall(text)}
    return DimensionNumbers(lists, int(dict(_NUMBER.findall(text)).get("index_vector_dim", 0)))


@record
class DotNumbers:
    """Batch and contracted axes of the left and of the right operand."""

    batch: tuple[list[int], list[int]]
    contract: tuple[list[int], list[int]]


def dot_numbers(op: ir.Operation) -> DotNumbers:
    """Also of the older `stablehlo.dot`, which contracts the left's last axis with the right's first."""
    if op.name == "stablehlo.dot":
        rank = len(ir.RankedTensorType(op.operands[0].type).shape)
        return DotNumbers(([], []), ([rank - 1], [0]))
    n = dimension_numbers(op.attributes["dot_dimension_numbers"])
    return DotNumbers((n["lhs_batching_dimensions"], n["rhs_batching_dimensions"]),
                      (n["lhs_contracting_dimensions"], n["rhs_contracting_dimensions"]))


def reducer_of(op: ir.Operation) -> str | None:
    """What a one-operand reduction or scatter combines with: an operation's name, `"second"` where the body returns
    its second argument (a replacing scatter), None where it is neither."""
    block = op.regions[0].blocks[0]
    ops = [o.operation for o in block.operations]
    arguments = list(block.arguments)
    if len(arguments) != 2:
        return None
    if len(ops) == 1:
        return "second" if ops[0].operands[0] == arguments[1] else None
    if len(ops) == 2 and set(ops[0].operands) == set(arguments) and ops[1].operands[0] == ops[0].results[0]:
        return ops[0].name
    return None
