"""`(run …)` inside an experiment: its keywords are those of the run file, and the counters, which are budgets."""

from __future__ import annotations

from sexpgpu.compiler.frontend.contract_values import Run
from sexpgpu.compiler.frontend.report import Reporter
from sexpgpu.compiler.frontend.trace import Trace
from sexpgpu.diagnostics import Edit, Fix, did_you_mean, one_of
from sexpgpu.diagnostics.suggest import is_sure

KEYWORDS = ("steps", "records", "microbatches", "seed", "out", "device", "threads", "checkpoint-every", "keep",
            "resume", "init-from", "data-root", "log-every", "sinks", "prefetch", "on-bad-data", "bad-budget",
            "on-nonfinite")


def check_run(reporter: Reporter, run: Run, training: Trace) -> None:
    """E-RUN-001 for a keyword that is neither an option nor a counter."""
    known = [*KEYWORDS, *training.counters]
    for name, place in run.places.items():
        if name in known or not training.counters_known:
            continue
        choices = [f":{word}" for word in known]
        near = did_you_mean(f":{name}", choices)
        reporter.error("E-RUN-001", f"`run` has no option `:{name}`", place, "unknown option",
                       fix=Fix(f"the options are {one_of(f':{name}', choices)}", (Edit(place, near),) if near else (),
                               bool(near) and is_sure(f":{name}", near)))
