"""The table of derivative rules: one entry an operation, looked up by its name.

A rule is given the operation and the cotangents of its results, and answers with one thunk for each operand: a
function that builds the operand's cotangent (of the operand's type) at the insertion point. Only the thunks of operands
that matter are called, so nothing is built to be thrown away. None means that no derivative flows into that operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

from iree.compiler import ir

Thunk: TypeAlias = Callable[[], ir.Value]


@dataclass(frozen=True, slots=True)
class Primal:
    """An operation met on the way back; `cotangents` has None for a result nothing depends on.

    `active` holds the values that take part: rules for operations with regions prune with it.
    """

    op: ir.Operation
    cotangents: Sequence[ir.Value | None]
    active: Set[ir.Value] = frozenset()

    @property
    def g(self) -> ir.Value:
        """The cotangent of an operation's only result."""
        (g,) = self.cotangents
        assert g is not None
        return g

    @property
    def operands(self) -> list[ir.Value]:
        return list(self.op.operands)

    @property
    def out(self) -> ir.Value:
        return self.op.results[0]


class NoDerivative(Exception):
    """Raised by a rule for a form of its operation that it does not know; the text is a note for the user."""

    def __init__(self, why: str, code: str = "E-GRAD-001") -> None:
        super().__init__(why)
        self.code = code


Rule: TypeAlias = Callable[[Primal], Sequence[Thunk | None]]

RULES: dict[str, Rule] = {}

#: Operations whose derivative is zero wherever it exists (JAX says the same of each).
ZERO = frozenset({
    "stablehlo.floor", "stablehlo.ceil", "stablehlo.round_nearest_even", "stablehlo.round_nearest_afz",
    "stablehlo.sign", "stablehlo.is_finite", "stablehlo.compare", "stablehlo.iota", "stablehlo.constant",
    "stablehlo.rng_bit_generator", "stablehlo.bitcast_convert", "chlo.constant", "chlo.is_inf", "chlo.is_pos_inf",
    "chlo.is_neg_inf",
})

#: Markers that observe a value without passing a derivative on.
SILENT_MARKERS = frozenset({"stop_gradient", "counter", "metric", "update_buffer"})


#: Markers with a derivative of their own (`custom`); no other `custom_call` has one.
DERIVED_MARKERS = frozenset({"custom_gradient", "loss_scale"})


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Registers a rule under each full operation name.

    There is a thunk for each operand, then, for an operation with regions, for each value they capture.
    """

    def register(function: Rule) -> Rule:
        for name in names:
            assert name not in RULES, f"two rules for {name}"
            RULES[name] = function
        return function

    return register
