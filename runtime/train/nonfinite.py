"""What `--on-nonfinite` makes of a step whose loss or gradient is not a number."""

from __future__ import annotations

import math

from sexpgpu.diagnostics import Diagnostic, Fix
from sexpgpu.runtime.settings import Settings
from sexpgpu.runtime.train.line import StepFacts
from sexpgpu.runtime.train.tally import Tally


def wrong_with(facts: StepFacts, tally: Tally, settings: Settings) -> Diagnostic | None:
    """Why the run cannot just go on after a step; its update is made, unless it was skipped. `tally` holds the step."""
    limit = settings.nonfinite_limit
    if facts.skipped:
        return None if tally.skipped_in_a_row < limit else Diagnostic(
            "E-NUM-003", f"{tally.skipped_in_a_row} updates in a row were skipped, up to step {tally.step}",
            fix=Fix("lower the learning rate, or look at the data; `--nonfinite-limit` allows more"))
    if settings.on_nonfinite == "skip" and math.isfinite(facts.norm):
        return None   # a loss without a number and a gradient with one: the state is what it was meant to be
    bad = _not_finite(facts, tally.step)
    if bad is None or settings.on_nonfinite != "rewind" or tally.rewinds < limit:
        return bad
    return Diagnostic("E-NUM-003", f"the run was rewound {tally.rewinds} times, and step {tally.step} is not finite",
                      notes=(bad.message,), fix=Fix("lower the learning rate, or look at the data"))


def _not_finite(facts: StepFacts, step: int) -> Diagnostic | None:
    """Facts about a step that went wrong; `step` counts from 1, as in `metrics.jsonl`."""
    fix = Fix("look at the data and at the initial weights: nothing was updated before" if step == 1 else
              "lower the learning rate, clip (`:clip-norm`), or skip such steps (`:skip-nonfinite true`)")
    if not math.isfinite(facts.loss):
        return Diagnostic("E-NUM-001", f"the loss of step {step} is {facts.loss}", fix=fix)
    if not math.isfinite(facts.norm):
        return Diagnostic("E-NUM-002", f"the gradient norm of step {step} is {facts.norm}",
                          notes=(f"the loss was {facts.loss:.6g}",), fix=fix)
    return None
