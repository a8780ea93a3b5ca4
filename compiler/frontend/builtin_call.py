"""The `Call` that a built-in's function is given (`ops/registry.py` says what it may ask)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.call_binding import CallShape, Slot
from sexpgpu.compiler.frontend.data import Atom, Form
from sexpgpu.compiler.frontend.ops.registry import Failed, Op
from sexpgpu.compiler.frontend.values import POISON, Origin
from sexpgpu.diagnostics import Clue, Fix, Label, Span, did_you_mean

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator


class BuiltinCall:
    """One call of a built-in. `evaluator` is for the built-ins that are part of the evaluator (`param`, `metric`)."""

    __slots__ = ("_shape", "_slots", "evaluator", "op")

    def __init__(self, evaluator: Evaluator, op: Op, shape: CallShape, slots: Sequence[Slot]) -> None:
        self.evaluator, self.op, self._shape, self._slots = evaluator, op, shape, slots

    @property
    def span(self) -> Span:
        return self._shape.span

    @property
    def maker(self) -> Origin:
        return self.evaluator.reporter.maker(self.op.name, self._shape.span)

    @property
    def training(self) -> bool:
        return self.evaluator.training()

    @property
    def in_graph(self) -> bool:
        return self.evaluator.trace.in_graph

    def site(self) -> int:
        return self.evaluator.trace.next_site()

    def rounds(self) -> list[ir.Value]:
        number: ir.Value | None = None
        for loop in self.evaluator.trace.loops:
            index = loop.index.value
            number = index if number is None else hlo.add(hlo.multiply(number, hlo.splat(loop.trips, [], "i32")), index)
        return [] if number is None else [number]

    def where(self, parameter: str, index: int | None = None) -> Span:
        slot = self._slots[self.op.signature.names.index(parameter)]
        if isinstance(slot, int):
            return self._shape.spans[slot]
        if slot is None or not slot:
            return self._shape.span
        spans = self._shape.spans
        return spans[slot[index]] if index is not None else spans[slot[0]].to(spans[slot[-1]])

    def item(self, parameter: str, index: int) -> Span:
        """The place of an element of an argument that is a vector or a `(list …)` as written; else the argument's."""
        span = self.where(parameter)
        return self.evaluator.places.item(span, index) or span

    def written(self, span: Span) -> list[Label]:
        """Where the value of a name that stands at `span` is written, as a label."""
        evaluator = self.evaluator
        places, calls = evaluator.places, [c.call for c in evaluator.reporter.calls]
        whole = places.at(span)
        if isinstance(whole, Form) and whole.bracket == "(":
            parts = [(item, places.source(item.span, calls)) for item in whole.items[1:] if isinstance(item, Atom)]
            return [Label(datum.span, f"`{places.text(item.span)}` is given here") for item, datum in parts if datum]
        datum = places.source(span, calls)
        return [Label(datum.span, "it is given here")] if datum is not None else []

    def given(self, parameter: str) -> bool:
        """Whether the call gives the argument, or leaves it to its default."""
        return self._slots[self.op.signature.names.index(parameter)] is not None

    def absent(self, parameter: str) -> bool:
        """Whether the call leaves the argument out, and no other word stands for it: that has been told."""
        if self.given(parameter):
            return False
        names = self.op.signature.names
        return not any(did_you_mean(word, names) == parameter for word in self.evaluator.unknown_words)

    def keyword(self, parameter: str) -> Span:
        """The place of the keyword that gives the argument; the argument's own where it is given by position."""
        slot = self._slots[self.op.signature.names.index(parameter)]
        if isinstance(slot, int) and slot > 0 and self._shape.words[slot - 1] == parameter:
            return self._shape.spans[slot - 1]
        return self.where(parameter)

    def report(self, code: str, message: str, *, at: Span | None = None, label: str = "",
               secondary: Sequence[Label] = (), notes: Sequence[str] = (), fix: Fix | str | None = None,
               tries: Sequence[Fix] = (), clues: Sequence[Clue] = (), around: Sequence[Span] = ()) -> None:
        """Record an error and go on: a form with several mistakes shows them all."""
        reporter = self.evaluator.reporter
        if self.op.name.startswith("%") and reporter.calls and at is None:
            # A check of the prelude speaks for the function that makes it: the place is where that was called.
            caller = reporter.calls.pop()
            try:
                reporter.error(code, message, caller.call, label, secondary=secondary, notes=notes, fix=fix,
                               tries=tries, clues=clues, around=around)
            finally:
                reporter.calls.append(caller)
        else:
            reporter.error(code, message, at or self.span, label, secondary=secondary, notes=notes, fix=fix,
                           tries=tries, clues=clues, around=around)

    def fail(self, code: str, message: str, *, at: Span | None = None, label: str = "",
             secondary: Sequence[Label] = (), notes: Sequence[str] = (), fix: Fix | str | None = None,
             tries: Sequence[Fix] = (), clues: Sequence[Clue] = (), around: Sequence[Span] = ()) -> NoReturn:
        self.report(code, message, at=at, label=label, secondary=secondary, notes=notes, fix=fix,
                    tries=tries, clues=clues, around=around)
        raise Failed

    def apply(self, function: object, *args: object) -> object:
        value = self.evaluator.apply(function, args, self.span)
        if value is POISON:
            raise Failed
        return value
