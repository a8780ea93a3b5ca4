"""Reverse mode over a straight run of operations: which values matter, then one walk backwards.

The backward operations are inserted at the current insertion point, which must be dominated by every operation of the
run; they use the primal values directly, so nothing is computed twice. A cotangent that never arises stays None: zeros
are not built.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.autodiff.pieces import gathered, joined
from sexpgpu.compiler.passes.autodiff.rules import DERIVED_MARKERS, RULES, SILENT_MARKERS, ZERO, NoDerivative, Primal
from sexpgpu.compiler.passes.spans import chain_of, span_of
from sexpgpu.diagnostics import Diagnostic, Label, SexpError


def is_real(value: ir.Value) -> bool:
    """Whether a value can carry a derivative: a tensor of floats."""
    type_ = value.type
    return isinstance(type_, ir.RankedTensorType) and not isinstance(
        type_.element_type, (ir.IntegerType, ir.ComplexType, ir.IndexType))


def inputs(op: ir.Operation) -> list[ir.Value]:
    """Operands, then what the regions capture."""
    return [*op.operands, *fn.captured(op)] if len(op.regions) else list(op.operands)


def _passes_derivatives(op: ir.Operation) -> bool:
    return op.name not in ZERO and hlo.marker_kind(op) not in SILENT_MARKERS


def active_values(ops: Sequence[ir.Operation], wrt: Sequence[ir.Value], ends: Sequence[ir.Value]) -> set[ir.Value]:
    """Values that depend on `wrt` and on which `ends` depend, through operations that pass derivatives on."""
    varied = set(wrt)
    for op in ops:
        if _passes_derivatives(op) and any(v in varied for v in inputs(op)):
            varied.update(r for r in op.results if is_real(r))
    useful = set(ends)
    active = {v for v in ends if v in varied}
    for op in reversed(ops):
        if not _passes_derivatives(op) or not any(r in useful and r in varied for r in op.results):
            continue
        sources = [v for v in inputs(op) if v in varied]
        useful.update(sources)
        active.update(sources)
    return active


def _has_rule(op: ir.Operation) -> bool:
    if op.name == "stablehlo.custom_call":
        return hlo.marker_kind(op) in DERIVED_MARKERS
    return op.name in RULES


def _called(op: ir.Operation) -> str:
    """The operation's name for a message."""
    if op.name == "stablehlo.custom_call":
        return f"custom_call @{ir.StringAttr(op.attributes['call_target_name']).value}"
    return op.name


def _no_rule(name: str, location: ir.Location, why: str | None = None, code: str = "E-GRAD-001") -> Diagnostic:
    span = span_of(location)
    return Diagnostic(
        code, f"`{name.removeprefix('stablehlo.')}` has no derivative" + ("" if why else " rule"),
        primary=Label(span, "the loss depends on a parameter through this") if span else None,
        chain=chain_of(location), notes=(why,) if why else (),
    )


def backpropagate(ops: Sequence[ir.Operation], seeds: Sequence[tuple[ir.Value, ir.Value]],
                  wrt: Sequence[ir.Value]) -> list[ir.Value | None]:
    """The cotangents of `wrt`, given (value, cotangent) pairs of what the run computes; None where nothing flows.

    Raises SexpError with one E-GRAD-001 for each operation on the way that has no rule.
    """
    active = active_values(ops, wrt, [v for v, _ in seeds])
    missing = [op for op in ops if any(r in active for r in op.results) and not _has_rule(op)]
    if missing:
        raise SexpError(*(_no_rule(_called(op), op.location) for op in missing))
    parts: dict[ir.Value, list[ir.Value]] = {}

    def accumulate(value: ir.Value, cotangent: ir.Value) -> None:
        assert cotangent.type == value.type, f"cotangent {cotangent.type} of {value}"
        parts[value] = gathered([*parts.get(value, []), cotangent])

    def arrived_at(value: ir.Value) -> ir.Value | None:
        if value not in parts:
            return None
        parts[value] = [joined(parts[value])]
        return parts[value][0]

    for value, cotangent in seeds:
        if value in active:
            accumulate(value, cotangent)
    for op in reversed(ops):
        with op.location:
            arrived = [arrived_at(r) for r in op.results]
        if all(c is None for c in arrived):
            continue
        with op.location:
            # A rule may replace its operation by one that also keeps what the way back needs: read operands first.
            sources = inputs(op)
            name, location = _called(op), op.location
            try:
                thunks = RULES[op.name](Primal(op, arrived, active))
                for value, thunk in zip(sources, thunks, strict=True):
                    if thunk is not None and value in active:
                        accumulate(value, thunk())
            except NoDerivative as no:
                raise SexpError(_no_rule(name, location, str(no), no.code)) from None
    return [arrived_at(v) for v in wrt]
