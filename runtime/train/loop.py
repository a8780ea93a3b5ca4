"""The loop: steps, evaluations, lines, checkpoints, in an order that a resume can repeat.

After step n: its evaluations, its line, then (where one is due) the checkpoint. So a checkpoint of step n means that
everything up to line n is written. A signal during the evaluations saves what is left of them with the checkpoint; one
that comes while a step waits for data gives the step up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError
from sexpgpu.runtime.checkpoint.cursor import Best, Cursor, Unfinished
from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.display.display import Display, View
from sexpgpu.runtime.folder import MetricLines, Status
from sexpgpu.runtime.performance.facts import Performance
from sexpgpu.runtime.session import Session
from sexpgpu.runtime.settings import Settings
from sexpgpu.runtime.signals import StopFlag, Stopped
from sexpgpu.runtime.train.account import standing
from sexpgpu.runtime.train.best import better
from sexpgpu.runtime.train.ctx import schedules
from sexpgpu.runtime.train.evaluate import Evaluator
from sexpgpu.runtime.train.feed import Feed
from sexpgpu.runtime.train.line import StepFacts, line_of
from sexpgpu.runtime.train.nonfinite import wrong_with
from sexpgpu.runtime.train.plan import Plan
from sexpgpu.runtime.train.saver import Saver
from sexpgpu.runtime.train.speed import Speed
from sexpgpu.runtime.train.step import make_step
from sexpgpu.runtime.train.tally import Tally


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
    restore: Callable[[], Cursor]
    """Puts the newest checkpoint's tensors into the session, and gives its cursor."""
    best: Best | None = None
    on_step: Callable[[Tally], None] | None = None
    performance: Performance | None = None
    _shown_stage: int = 0

    def run(self, unfinished: Unfinished | None, resumed: bool) -> End:
        """Until the plan is done, the data ends, or a signal comes. Raises E-NUM, E-RUN-018, and what a loader raises.
        """
        try:
            return self._run(unfinished, resumed)
        except Stopped:
            self._save(wait=True)
            return End.INTERRUPTED
        except SexpError as error:
            if self.tally.step and worth_keeping(error):
                self._save(wait=True)   # where a pass failed, that is done
            with suppress(OSError):   # what went wrong first is what is told
                self.saver.wait()
            raise

    def _run(self, unfinished: Unfinished | None, resumed: bool) -> End:
        if unfinished is not None:
            if not self._finish(dict(unfinished.line), unfinished.evaluations):
                return End.INTERRUPTED
            self._keep_best()
        elif not resumed:
            first = [i for i, e in enumerate(self.session.manifest.evaluations) if e.at_start]
            if first and not self._finish({"step": 0, "time": round(time.time(), 3)}, first):
                return End.INTERRUPTED
            self._keep_best()
        if self.settings.on_nonfinite == "rewind":
            self._save()   # something to go back to, in this folder
        self.status.update({"state": "training"})
        self.speed.begin()
        while not self.plan.done(self.tally):
            if self.stop.requested:
                raise Stopped
            made = make_step(self.session, self.settings, self.plan, self.feed, self.speed, self.tally)
            if made is None:
                return self._data_ended()
            self.tally, facts = made
            if not self._after(facts):
                return End.INTERRUPTED
        self._save(wait=True)
        return End.FINISHED

    def _save(self, unfinished: Unfinished | None = None, *, wait: bool = False) -> None:
        self.saver.save(self.tally, unfinished, self.best, wait=wait)

    # -- after a step -------------------------------------------------------------------------------------------------

    def _after(self, facts: StepFacts) -> bool:
        """Evaluations, line, status, checkpoint. False where a signal cut it short (and it is saved)."""
        tally, step = self.tally, self.tally.step
        last = self.plan.done(tally)
        due = [i for i, e in enumerate(self.session.manifest.evaluations)
               if (e.every is not None and step % e.every == 0) or (last and e.at_end)]
        bad = wrong_with(facts, tally, self.settings)
        if bad is not None and self.settings.on_nonfinite == "rewind" and tally.rewinds < self.settings.nonfinite_limit:
            self._rewind(bad)
            return True
        logged = step % self.settings.log_every == 0 or last or bool(due) or bad is not None
        line = line_of(facts, tally, self.session.manifest, self.speed.rates(tally), self.feed.gauges(tally.stage),
                       self.session.device.bytes_in_use()) if logged else None
        if bad is not None:
            assert line is not None
            self._write(line)
            raise SexpError(bad)
        self._show(facts, logged)
        if line is not None and not self._finish(line, due):
            return False
        if due:
            self._keep_best()
        if self.on_step is not None:
            self.on_step(tally)
        if self.saver.due(step) and not last:
            self._save()
        if due or self.saver.saved_now(step):
            self.speed.skip()
        return True

    def _finish(self, line: dict[str, Json], evaluations: Sequence[int]) -> bool:
        """Runs the evaluations that belong to a step and writes its line. False, and saved, where a signal came."""
        for done, index in enumerate(evaluations):
            name = self.session.manifest.evaluations[index].name
            self.status.update({"state": "evaluating"})
            begun = time.perf_counter()
            try:
                results = self.evaluator.run(index, self.tally.step, schedules(self.session, self.plan, self.tally))
            except SexpError as error:
                if self.tally.step and worth_keeping(error):
                    self._save(Unfinished(line, tuple(evaluations[done:])), wait=True)
                raise
            self.speed.evaluated += time.perf_counter() - begun
            if results is None:
                self._save(Unfinished(line, tuple(evaluations[done:])), wait=True)
                return False
            line.update(results)
            self.last_evaluations.update(results)
            self.display.evaluated(name, self.tally.step, results)
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
        self._keep_best()
        self._save(wait=True)
        return End.DATA_ENDED

    # -- the best, and what is not finite -----------------------------------------------------------------------------

    def _keep_best(self) -> None:
        """After a pass: where it is the best one so far, its checkpoint is taken at once."""
        best = better(self.best, self.settings.keep_best, self.last_line, self.tally.step)
        if best is not self.best:
            self.best = best
            self._save()

    def _rewind(self, bad: Diagnostic) -> None:
        """To the newest checkpoint in everything but the data: what led here is not read again."""
        self.saver.wait()
        rewinds = self.tally.rewinds + 1
        cursor = self.restore()
        self.display.note(f"{bad.message}: back to step {cursor.step}, with the data behind it ({rewinds} of at most "
                          f"{self.settings.nonfinite_limit})")
        self.tally, self.best = replace(cursor.tally, rewinds=rewinds), cursor.best
        self.lines.cut(cursor.step + 1)
        self.speed.begin()

    def _write(self, line: dict[str, Json]) -> None:
        self.lines.write(line)
        self.last_line = line

    def _show(self, facts: StepFacts, logged: bool) -> None:
        tally = self.tally
        due = self.status.due() or self._shown_stage != tally.stage
        if not (due or self.display.due(logged)):
            return
        self._shown_stage = tally.stage
        rates = self.speed.rates(tally) or _of_the_step(facts)
        left = self.speed.left(self.plan, tally)
        self.display.step(View(tally.step, self.plan.steps(tally), self.plan.progress(tally), facts.loss, rates,
                               facts.seconds, left, self._stage(), facts.waited), logged)
        if due:
            self.status.update({
                "state": "training", **standing(self), "rates": {**rates}, "eta_s": left,
                "performance": self.performance.facts(self.speed) if self.performance is not None else None}, now=True)

    def _stage(self) -> str | None:
        stages = self.session.manifest.stages
        return stages[self.tally.stage] if len(stages) > 1 else None


def worth_keeping(error: SexpError) -> bool:
    """A bad record after hours: the state is still that of the last step."""
    return error.diagnostics[0].code.startswith(("E-DATA", "E-STORE", "E-RUN-018"))


def _of_the_step(facts: StepFacts) -> dict[str, float]:
    """Rates for people, while there are no others: those of the first step, with everything it had to get ready."""
    seconds = max(facts.seconds, 1e-9)
    counts = {"steps": 1, "records": facts.records, **facts.counted}
    return {name: count / seconds for name, count in counts.items()}
