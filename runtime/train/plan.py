"""How long a run is: a number of steps, or a budget of records or of a counter.

Under a budget, `ctx`'s `steps` is an estimate from what a step has used so far and `progress` the share of the budget
that is used; both depend on the tally alone, so a resumed run sees what the uncut one saw.
"""

from __future__ import annotations

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError
from sexpgpu.diagnostics.record import record
from sexpgpu.runtime.artifact.manifest import Manifest
from sexpgpu.runtime.settings import Settings
from sexpgpu.runtime.train.tally import Number, Tally


@record
class Plan:
    """`unit` is `steps`, `records`, or the name of a counter; `per_step` the records of one step."""

    unit: str
    amount: int
    per_step: int

    def used(self, tally: Tally) -> Number:
        match self.unit:
            case "steps":
                return tally.step
            case "records":
                return tally.records
            case counter:
                return tally.counters[counter]

    def done(self, tally: Tally) -> bool:
        return self.used(tally) >= self.amount

    def progress(self, tally: Tally) -> float:
        """From 0 to 1."""
        return min(1.0, self.used(tally) / self.amount)

    def steps(self, tally: Tally) -> int:
        """The whole run's, exact for steps and records; for a counter, from the mean of the steps done (1 before the
        first, when nothing is known)."""
        match self.unit:
            case "steps":
                return self.amount
            case "records":
                return -(-self.amount // self.per_step)
            case _:
                used = self.used(tally)
                return max(1, tally.step, round(self.amount * tally.step / used)) if used > 0 else max(1, tally.step)


def plan_of(settings: Settings, manifest: Manifest, finite_batches: int | None) -> Plan:
    """`finite_batches` is the training loader's length where it has one. Raises E-RUN-003, -004 and -012."""
    per_step = settings.microbatches * manifest.loader.batch_size
    if settings.steps is not None:
        return Plan("steps", settings.steps, per_step)
    if settings.records is not None:
        return Plan("records", settings.records, per_step)
    if settings.tokens is not None:
        if not any(c.name == "tokens" for c in manifest.counters):
            raise SexpError(Diagnostic(
                "E-RUN-003", "`--tokens` counts by a counter that the experiment does not have",
                fix=Fix("give `--steps` or `--records`, or add `(counter :tokens …)` to `prepare`")))
        return Plan("tokens", settings.tokens, per_step)
    if finite_batches is None:
        raise SexpError(Diagnostic("E-RUN-004", "nothing says how long the run is, and its loader never ends",
                                   fix=Fix("give `--steps`, or `(defvar run (run :steps …))` in the experiment")))
    if finite_batches < settings.microbatches:
        raise SexpError(Diagnostic(
            "E-RUN-012", f"the training loader holds {finite_batches} full batches, and one step takes "
            f"{settings.microbatches}", fix=Fix("lower `--microbatches` or `:batch-size`")))
    return Plan("steps", finite_batches // settings.microbatches, per_step)
