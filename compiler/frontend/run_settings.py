"""`(run …)` inside an experiment: its keywords and values are those of the run file, checked where they are written."""

from __future__ import annotations

from sexpgpu.compiler.frontend.contract_values import Run
from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.compiler.frontend.report import Reporter
from sexpgpu.compiler.frontend.trace import Trace
from sexpgpu.compiler.frontend.values import has_poison
from sexpgpu.diagnostics import Diagnostic, Fix, Label
from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.settings import read_layer


def check_run(reporter: Reporter, run: Run, training: Trace) -> None:
    """E-RUN-001 for a keyword that is no option, -002 for a value it does not take, -003 for two lengths, or for one
    by a counter that `prepare` does not have."""
    problems: list[Diagnostic] = []
    given = {name: plain(value) for name, value in run.settings.items() if not has_poison(value)}
    read_layer("the experiment", given, ":", problems, run.places)
    for problem in problems:
        reporter.add(problem)
    if "tokens" in given and training.counters_known and "tokens" not in training.counters:
        reporter.add(Diagnostic(
            "E-RUN-003", "`:tokens` counts by a counter that the experiment does not have",
            Label(run.places["tokens"], "no counter `tokens`"),
            fix=Fix("give `:steps` or `:records`, or add `(counter :tokens …)` to `prepare`")))


def plain(value: object) -> Json:
    """A setting of the run file as JSON: keywords as their names, lists as lists."""
    match value:
        case Keyword():
            return value.name
        case tuple():
            return [plain(item) for item in value]
        case bool() | None | str() | float():
            return value
        case int():
            return int(value)
    return str(value)
