"""What follows `ctx`, on the host: the curriculum picks the stage of a step, schedules give their values.

Both are compiled scalar code over what the tally and the plan say, so a resume computes them again.
"""

from __future__ import annotations

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError
from sexpgpu.runtime.artifact.manifest import Manifest
from sexpgpu.runtime.session import Session
from sexpgpu.runtime.train.plan import Plan
from sexpgpu.runtime.train.tally import Tally


def begin_step(session: Session, plan: Plan, tally: Tally) -> list[float]:
    """The schedules' values for the step to come, after the curriculum has chosen its stage, which the tally enters."""
    m = session.manifest
    if m.curriculum is not None:
        stage = int(session.ctx(m.curriculum, _scalars(session, plan, tally)))
        if not 0 <= stage < len(m.stages):
            raise SexpError(Diagnostic(
                "E-RUN-009", f"the curriculum gave the stage {stage} at step {tally.step}, and there are "
                f"{len(m.stages)}", notes=(f"stages count from 0: {', '.join(m.stages)}",)))
        tally.enter(stage)
    return schedules(session, plan, tally)


def schedules(session: Session, plan: Plan, tally: Tally) -> list[float]:
    """In the manifest's order."""
    m = session.manifest
    arguments = _scalars(session, plan, tally) if any(s.export is not None for s in m.schedules) else None
    return [float(session.ctx(s.export, arguments)) if s.export is not None and arguments is not None
            else float(s.constant or 0.0) for s in m.schedules]


def _scalars(session: Session, plan: Plan, tally: Tally):
    return session.scalars(tally.ctx(session.manifest.ctx, plan.steps(tally), plan.progress(tally)))


def stage_ended(m: Manifest, stage: int, done: int) -> Diagnostic:
    """One stage of several has no more batches after `done` steps: the curriculum alone says where to go, and it says
    to stay."""
    return Diagnostic(
        "E-RUN-018", f"the stage `{m.stages[stage]}` ended before step {done + 1}, and the curriculum still chooses it",
        notes=(f"{done} steps are done and saved",),
        fix=Fix("let `curriculum` leave it sooner, make the stage `:infinite true`, or stop there with "
                f"`--steps {done}`"))
