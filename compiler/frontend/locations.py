"""MLIR locations: the span of an operation, in the function it stands in, called from where that was called."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from iree.compiler import ir
from sexpgpu.compiler.frontend.report import Reporter
from sexpgpu.diagnostics import Span

_NOWHERE = nullcontext()


def nowhere(_span: Span) -> AbstractContextManager[object]:
    """No location at all, for a module that is thrown away."""
    return _NOWHERE


class Locations:
    """Makes them for the calls in progress, which are the reporter's. A call's own location is made once."""

    def __init__(self, reporter: Reporter) -> None:
        self._calls = reporter.calls
        self._places: dict[tuple[Span, str], ir.Location] = {}

    def of(self, span: Span) -> ir.Location:
        return self._located(span, len(self._calls))

    def _located(self, span: Span, depth: int) -> ir.Location:
        if depth == 0:
            return self._place(span, "")
        activation = self._calls[depth - 1]
        if activation.location is None:
            activation.location = self._located(activation.call, depth - 1)
        return ir.Location.callsite(self._place(span, activation.name), [activation.location])

    def _place(self, span: Span, function: str) -> ir.Location:
        """The place alone, named after the function it stands in. A layer that is called twelve times has it once."""
        place = self._places.get((span, function))
        if place is None:
            place = ir.Location.file(span.file, span.line, span.column, span.end_line, span.end_column)
            if function:
                place = ir.Location.name(function, place)
            self._places[span, function] = place
        return place
