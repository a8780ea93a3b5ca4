"""How much a program may do at compile time: how deep its calls go, how long lists are, how many steps it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sexpgpu.diagnostics import Label, Span

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.lambda_code import Lambda
    from sexpgpu.compiler.frontend.report import Reporter

#: How many calls of functions may be in progress at once.
MAX_CALLS = 1000
#: How long a list may be, and how many turns a loop may take.
MAX_LENGTH = 1_000_000
#: How many calls of functions and turns of loops one experiment may take: minutes of them.
MAX_STEPS = 20_000_000


class Abandoned(Exception):
    """Calls nested too deep, or far too many: reported, and everything up to the outermost call is given up."""


class Budget:
    """`steps` are the calls of functions and turns of loops so far."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self.steps = 0

    def step(self, span: Span, count: int = 1) -> None:
        """Count a call or a turn at `span`, so that a program that would run for hours ends with an error."""
        self.steps += count
        if self.steps > MAX_STEPS:
            self.steps = 0
            self._reporter.error("E-VALUE-005", f"the program takes more than {MAX_STEPS:,} steps at compile time",
                                 span, "here when it was stopped")
            raise Abandoned

    def call(self, code: Lambda, span: Span) -> None:
        """Count a call of `code` at `span`, which is about to be entered."""
        self.step(span)
        calls = self._reporter.calls
        if len(calls) < MAX_CALLS:
            return
        # The chain of a thousand calls says nothing that its two ends do not.
        kept = calls[:4] + calls[-4:]
        whole, calls[:] = calls[:], kept
        self._reporter.error("E-VALUE-004", f"calls are nested deeper than {MAX_CALLS}", span,
                             f"this call of `{code.name}`",
                             secondary=[Label(code.span, f"`{code.name}` is defined here")],
                             fix="a recursion needs a case that ends it; `for` and `reduce` go through long lists")
        calls[:] = whole
        raise Abandoned
