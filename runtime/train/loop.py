"""The loop: schedules, batches, device, counts, evaluations, lines, checkpoints, in an order a resume can repeat.

After step n: its evaluations, its line, then (where one is due) the checkpoint. So a checkpoint of step n means that
everything up to line n is written. A signal during the evaluations saves what is left of them with the checkpoint.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError
from sexpgpu.runtime.checkpoint.cursor import Unfinished
from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.display.display import Display, View
from sexpgpu.runtime.folder import MetricLines, Status
from sexpgpu.runtime.session import Session
from sexpgpu.runtime.settings import Settings
from sexpgpu.runtime.signals import StopFlag
from sexpgpu.runtime.train.evaluate import Evaluator
from sexpgpu.runtime.train.feed import Feed
from sexpgpu.runtime.train.line import StepFacts, line_of
from sexpgpu.runtime.train.plan import Plan
from sexpgpu.runtime.train.reduce import Reduction
from sexpgpu.runtime.train.saver import Saver
from sexpgpu.runtime.train.speed import Speed
from sexpgpu.runtime.train.tally import Number, Tally


class End(Enum):
    """Why the loop returned."""

    FINISHED = "finished"
    DATA_ENDED = "data ended"
    INTERRUPTED = "interrupted"


@dataclass(slots=True)
class Trainer:
    """Everything a run is made of. `on_step` is a hook for tests and for tools that embed the loop."""

    session: Session
    settings: Settings
    plan: Plan
    tally: Tally
    feed: Feed
    evaluator: Evaluator
    lines: MetricLines
    status: Status
    saver: Saver
    display: Display
    stop: StopFlag
    speed: Speed
    last_line: dict[str, Json]
    last_evaluations: dict[str, Json]
    on_step: Callable[[Tally], None] | None = None

    def run(self, unfinished: Unfinished | None, resumed: bool) -> End:
        """Until the plan is done, the data ends, or a signal comes. Raises E-NUM, and what a loader raises."""
        if unfinished is not None:
            if not self._finish(dict(unfinished.line), list(unfinished.evaluations)):
                return End.INTERRUPTED
        elif not resumed:
            first = [i for i, e in enumerate(self.session.manifest.evaluations) if e.at_start]
            if first and not self._finish({"step": 0, "time": round(time.time(), 3)}, first):
                return End.INTERRUPTED
        self.status.update({"state": "training"})
        self.speed.begin(self.tally)
        while not self.plan.done(self.tally):
            if self.stop.requested:
                self.saver.save(self.tally, None)
                return End.INTERRUPTED
            try:
                facts = self._step()
            except SexpError as error:
                # A bad record after hours: the state is still that of the last step, so it is worth keeping.
                if self.tally.step and error.diagnostics[0].code.startswith(("E-DATA", "E-STORE")):
                    self.saver.save(self.tally, None)
                raise
            if facts is None:
                return self._data_ended()
            if not self._after(facts):
                return End.INTERRUPTED
        self.saver.save(self.tally, None)
        return End.FINISHED

    # -- one step -----------------------------------------------------------------------------------------------------

    def _step(self) -> StepFacts | None:
        """One update, or None where the data ended before it."""
        hyper = self._hyper()
        session, tally, k = self.session, self.tally, self.settings.microbatches
        reduction = Reduction(session.manifest.metrics.train)
        integers = session.manifest.integer_counters
        counted: dict[str, Number] = dict.fromkeys(integers, 0)
        records, device, waited = 0, 0.0, self.feed.waited
        for microbatch in range(k):
            batch = self.feed.next(tally.stage)
            if batch is None:
                return None
            begun = time.perf_counter()
            outcome = session.microbatch(batch.arrays, (self.settings.seed, tally.step, microbatch, 0), hyper)
            device += time.perf_counter() - begun
            batch.release()
            records += batch.records
            reduction.add(outcome.metrics)
            for name, value in zip(integers, outcome.counters.tolist(), strict=True):
                counted[name] += value
        begun = time.perf_counter()
        norm, skipped = session.update(hyper, k)
        device += time.perf_counter() - begun
        self.feed.commit()
        values = reduction.results()
        for metric, value in zip(session.manifest.metrics.train, values, strict=True):
            if metric.counter:
                counted[metric.name] = value
        tally.add(records, counted, values[0], skipped)
        waited = self.feed.waited - waited
        seconds = self.speed.step(device, waited)
        return StepFacts(values, counted, records, hyper, norm, skipped, seconds, device, waited)

    def _hyper(self) -> list[float]:
        """The schedules' values for the step to come, after the curriculum has chosen its stage."""
        session, m = self.session, self.session.manifest
        if m.curriculum is not None:
            stage = int(session.ctx(m.curriculum, self._scalars()))
            if not 0 <= stage < len(m.stages):
                raise SexpError(Diagnostic(
                    "E-RUN-009", f"the curriculum gave the stage {stage} at step {self.tally.step}, and there are "
                    f"{len(m.stages)}", notes=(f"stages count from 0: {', '.join(m.stages)}",)))
            self.tally.enter(stage)
        return self._schedules()

    def _schedules(self) -> list[float]:
        session, m = self.session, self.session.manifest
        arguments = self._scalars() if any(s.export is not None for s in m.schedules) else None
        return [float(session.ctx(s.export, arguments)) if s.export is not None and arguments is not None
                else float(s.constant or 0.0) for s in m.schedules]

    def _scalars(self):
        values = self.tally.ctx(self.session.manifest.ctx, self.plan.steps(self.tally), self.plan.progress(self.tally))
        return self.session.scalars(values)

    # -- after it -----------------------------------------------------------------------------------------------------

    def _after(self, facts: StepFacts) -> bool:
        """Evaluations, line, status, checkpoint. False where a signal cut it short (and it is saved)."""
        tally, step = self.tally, self.tally.step
        last = self.plan.done(tally)
        due = [i for i, e in enumerate(self.session.manifest.evaluations)
               if (e.every is not None and step % e.every == 0) or (last and e.at_end)]
        bad = None if facts.skipped else _not_finite(facts, step)
        stops = bad is not None and self.settings.on_nonfinite == "stop"
        logged = step % self.settings.log_every == 0 or last or bool(due) or stops
        line = line_of(facts, tally, self.session.manifest, self.feed.gauges(tally.stage),
                       self.session.device.bytes_in_use()) if logged else None
        if bad is not None and stops:
            assert line is not None
            self._write(line)
            raise SexpError(bad)
        self._show(facts, logged)
        if line is not None and not self._finish(line, due):
            return False
        if self.on_step is not None:
            self.on_step(tally)
        if self.saver.due(step) and not last:
            self.saver.save(tally, None)
        if due or self.saver.saved_now(step):
            self.speed.skip()
        return True

    def _finish(self, line: dict[str, Json], evaluations: list[int]) -> bool:
        """Runs the evaluations that belong to a step and writes its line. False, and saved, where a signal came."""
        while evaluations:
            name = self.session.manifest.evaluations[evaluations[0]].name
            self.status.update({"state": "evaluating"})
            results = self.evaluator.run(evaluations[0], self.tally.step, self._schedules())
            if results is None:
                self.saver.save(self.tally, Unfinished(line, tuple(evaluations)))
                return False
            line.update(results)
            self.last_evaluations.update(results)
            self.display.evaluated(name, self.tally.step, results)
            evaluations.pop(0)
            self.status.update({"state": "training", "evaluations": dict(self.last_evaluations)})
        self._write(line)
        return True

    def _data_ended(self) -> End:
        """A finite stage ran out before the plan did: passes meant for the end still run, in a line of their own."""
        if self.tally.step == 0:
            raise SexpError(Diagnostic("E-RUN-012", "the training loader ended before the first step was complete",
                                       fix=Fix("lower `--microbatches` or `:batch-size`, or add data")))
        self.display.note(f"the data ended after step {self.tally.step}; what does not fill a step is left out")
        due = [i for i, e in enumerate(self.session.manifest.evaluations)
               if e.at_end and not (e.every is not None and self.tally.step % e.every == 0)]
        if due and not self._finish({"step": self.tally.step, "time": round(time.time(), 3)}, due):
            return End.INTERRUPTED
        self.saver.save(self.tally, None)
        return End.DATA_ENDED

    def _write(self, line: dict[str, Json]) -> None:
        self.lines.write(line)
        self.last_line = line

    def _show(self, facts: StepFacts, logged: bool) -> None:
        tally = self.tally
        due = self.status.due()
        if not (due or self.display.due(logged)):
            return
        rates = self.speed.rates(tally)
        left = self.speed.left(self.plan, tally)
        self.display.step(View(tally.step, self.plan.steps(tally), self.plan.progress(tally), facts.loss, rates,
                               facts.seconds, left), logged)
        if due:
            self.status.update({
                "state": "training", "step": tally.step, "steps": self.plan.steps(tally),
                "progress": self.plan.progress(tally), "stage": self.session.manifest.stages[tally.stage],
                "totals": {"records": tally.records, **tally.counters}, "rates": {**rates}, "eta_s": left,
                "metrics": dict(self.last_line), "checkpoint": self.saver.newest})


def _not_finite(facts: StepFacts, step: int) -> Diagnostic | None:
    """Facts about a step that went wrong; `step` counts from 1, as in `metrics.jsonl`."""
    fix = Fix("lower the learning rate, clip (`:clip-norm`), or skip such steps (`:skip-nonfinite true`)")
    if not math.isfinite(facts.loss):
        return Diagnostic("E-NUM-001", f"the loss of step {step} is {facts.loss}", fix=fix)
    if not math.isfinite(facts.norm):
        return Diagnostic("E-NUM-002", f"the gradient norm of step {step} is {facts.norm}",
                          notes=(f"the loss was {facts.loss:.6g}",), fix=fix)
    return None
