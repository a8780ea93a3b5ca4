"""What a run says of itself: where it stands, in status.json, and what it came to, in summary.json."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.folder.lines import finite
from sexpgpu.runtime.train.best import shown

if TYPE_CHECKING:
    from sexpgpu.runtime.train.loop import Trainer


def standing(trainer: Trainer) -> dict[str, Json]:
    """The part of status.json that is the same while a run trains and when it has ended."""
    tally = trainer.tally
    return {"step": tally.step, "steps": trainer.plan.steps(tally), "progress": trainer.plan.progress(tally),
            "stage": trainer.session.manifest.stages[tally.stage],
            "stage_totals": {"steps": tally.stage_step, "records": tally.stage_records, **tally.stage_counters},
            "totals": {"records": tally.records, **tally.counters}, "metrics": dict(trainer.last_line),
            "checkpoint": trainer.saver.newest}


def summary(state: str, trainer: Trainer, seconds: float, session: float, first_step: float | None) -> dict[str, Json]:
    """`seconds` are those of the whole run, `session` those of this process, `first_step` those until its first step
    was made."""
    tally, speed, saver = trainer.tally, trainer.speed, trainer.saver
    other = session - saver.spent - speed.seconds - speed.evaluated
    return {
        "state": state, "name": trainer.session.manifest.name, "steps": tally.step, "records": tally.records,
        "counters": dict(tally.counters), "skipped": tally.skipped, "rewinds": tally.rewinds,
        "seconds": round(seconds, 3), "last": finite(trainer.last_line),
        "evaluations": finite(trainer.last_evaluations), "checkpoint": saver.newest, "best": shown(trainer.best),
        "session": {
            "steps": speed.steps, "first_step_s": first_step, "step_s": round(speed.seconds, 6),
            "device_s": round(speed.device, 6), "loader_wait_s": round(speed.waited, 6),
            "checkpoint_s": round(saver.spent, 6), "checkpoint_writing_s": round(saver.written_seconds, 6),
            "evaluation_s": round(speed.evaluated, 6), "host_s": round(speed.own_share * speed.seconds, 6),
            "other_s": round(max(0.0, other), 6)},
        "performance": trainer.performance.facts(speed) if trainer.performance is not None else {},
        "runtime_share": round(speed.own_share, 6), "runtime_us_per_step": round(speed.own_microseconds, 3),
    }
