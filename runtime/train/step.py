"""One step: schedules, batches, device, counts."""

from __future__ import annotations

import time

from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.session import Session
from sexpgpu.runtime.settings import Settings
from sexpgpu.runtime.train.ctx import begin_step, stage_ended
from sexpgpu.runtime.train.feed import Feed
from sexpgpu.runtime.train.line import StepFacts
from sexpgpu.runtime.train.plan import Plan
from sexpgpu.runtime.train.reduce import Reduction
from sexpgpu.runtime.train.speed import Speed
from sexpgpu.runtime.train.tally import Number, Tally


def make_step(session: Session, settings: Settings, plan: Plan, feed: Feed, speed: Speed, before: Tally
              ) -> tuple[Tally, StepFacts] | None:
    """One update, or None where the data ended before it. `before` is unchanged, so where a step was not made nothing
    has changed: the stage that the curriculum chose for it is chosen again by a resume."""
    tally = before.copy()
    hyper = begin_step(session, plan, tally)
    reduction = Reduction(session.manifest.metrics.train)
    integers = session.manifest.integer_counters
    counted: dict[str, Number] = dict.fromkeys(integers, 0)
    records, device, waited = 0, 0.0, feed.waited
    for microbatch in range(settings.microbatches):
        batch = feed.next(tally.stage)
        if batch is None:
            if len(session.manifest.stages) > 1:
                raise SexpError(stage_ended(session.manifest, tally.stage, before.step))
            return None
        begun = time.perf_counter()
        outcome = session.microbatch(batch.arrays, (settings.seed, tally.step, microbatch, 0), hyper)
        device += time.perf_counter() - begun
        batch.release()
        records += batch.records
        reduction.add(outcome.metrics)
        for name, value in zip(integers, outcome.counters.tolist(), strict=True):
            counted[name] += value
    begun = time.perf_counter()
    norm, skipped = session.update(hyper, settings.microbatches)
    device += time.perf_counter() - begun
    feed.commit()
    values = reduction.results()
    for metric, value in zip(session.manifest.metrics.train, values, strict=True):
        if metric.counter:
            counted[metric.name] = value
    tally.add(records, counted, values[0], skipped)
    waited = feed.waited - waited
    seconds = speed.step(device, waited, tally)
    return tally, StepFacts(values, counted, records, hyper, norm, skipped, seconds, device, waited)
