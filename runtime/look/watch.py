"""Following a run from another terminal: what its status says, with the last stretch of its loss.

On a terminal the picture is drawn anew every second; in a pipe there is a line for each change. It ends with the run.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.display.display import duration, loss, main_rate, number
from sexpgpu.runtime.look.report import performance
from sexpgpu.runtime.look.run import ENDED, RunFiles, entries, facts, open_run
from sexpgpu.runtime.look.run import number as number_of

EVERY = 1.0
TAIL = 1 << 18
"""Bytes at the end of metrics.jsonl that the sparkline is made of."""

BARS = "▁▂▃▄▅▆▇█"
OVER = (*ENDED, "dead")


def status_of(state: str) -> int:
    """The exit status of a watch: 0 for a run that is well, also where it was stopped and saved."""
    return 1 if state in ("failed", "dead") else 0


def watch(folder: str, *, once: bool, sleep: Callable[[float], None] = time.sleep) -> int:
    """Follows until the run ends; gives the exit status. Raises E-RUN-035."""
    run = open_run(folder)
    if once or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return _lines(folder, run, once, sleep)
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    def picture(run: RunFiles) -> Text:
        return Text("\n".join(view(run, console.width)), no_wrap=True, overflow="ellipsis")

    console = Console(highlight=False)
    with Live(picture(run), console=console, auto_refresh=False) as live:
        while run.state() not in OVER:
            sleep(EVERY)
            run = open_run(folder)
            live.update(picture(run), refresh=True)
    return status_of(run.state())


def _lines(folder: str, run: RunFiles, once: bool, sleep: Callable[[float], None]) -> int:
    shown = None
    while True:
        state = run.state()
        if once:
            print("\n".join(view(run, 100)), flush=True)
        elif (state, run.status.get("step")) != shown:
            shown = (state, run.status.get("step"))
            print(line(run), flush=True)
        if once or state in OVER:
            return status_of(state)
        sleep(EVERY)
        run = open_run(folder)


def line(run: RunFiles) -> str:
    """The run in one line."""
    status = run.status
    parts = [run.state(), _steps(run)]
    last = number_of(facts(status.get("metrics")).get("train/loss"))
    if last is not None:
        parts.append(f"loss {loss(last)}")
    name, rate = _rate(run)
    if rate is not None:
        parts.append(f"{number(rate)} {name}/s")
    if (left := number_of(status.get("eta_s"))) is not None and run.state() not in OVER:
        parts.append(f"{duration(left)} left")
    return "  ".join(part for part in parts if part)


def view(run: RunFiles, width: int) -> list[str]:
    """The picture, a row a line."""
    status, state = run.status, run.state()
    metrics = facts(status.get("metrics")) or facts(run.summary.get("last"))
    stage = status.get("stage") if len(_stages(run)) > 1 else None
    rows = [f"{run.name} · {run.path}", ""]
    age = run.age()
    words = {"dead": f"dead: its process is gone, last sign {_ago(age)}",
             "silent": f"{status.get('state')}, but no sign for {duration(age)}"}
    rows.append(_row("state", words.get(state, state) + (f" · stage {stage}" if stage else "")))
    progress = number_of(status.get("progress"))
    if progress is not None:
        rows.append(_row("progress", f"{_bar(progress, min(30, max(10, width - 50)))} {_steps(run)}  {progress:.1%}"))
    if (left := number_of(status.get("eta_s"))) is not None and state not in OVER:
        rows.append(_row("time left", duration(left)))
    if (last := number_of(metrics.get("train/loss"))) is not None:
        rows.append(_row("loss", f"{loss(last)}  {sparkline(recent(run, 'train/loss'), min(40, max(8, width - 30)))}"))
    for name, value in facts(status.get("evaluations")).items():
        if (known := number_of(value)) is not None:
            rows.append(_row(name, loss(known)))
    name, rate = _rate(run)
    if rate is not None:
        rows.append(_row("rate", f"{number(rate)} {name}/s"))
    if (took := number_of(metrics.get("time/step-ms"))) is not None:
        waited = number_of(metrics.get("loader/wait-ms")) or 0.0
        rows.append(_row("a step", f"{number(took)} ms, {number(waited)} of them waiting for data"))
    rows += [_row(name, text) for name, text in performance(run)]
    totals = ", ".join(f"{number(t)} {n}" for n, v in facts(status.get("totals")).items()
                       if (t := number_of(v)) is not None)
    if totals:
        rows.append(_row("so far", totals))
    if checkpoint := status.get("checkpoint"):
        rows.append(_row("checkpoint", str(checkpoint)))
    if state in ("starting", "training", "evaluating", "saving"):
        rows.append(_row("last sign", _ago(age)))
    return rows


def recent(run: RunFiles, name: str) -> list[float]:
    """The last values of a metric."""
    try:
        size = run.metrics.stat().st_size
    except OSError:
        return []
    found = [number_of(entry.get(name)) for entry, _ in entries(run.metrics, max(0, size - TAIL))]
    return [value for value in found if value is not None]


def sparkline(values: list[float], width: int) -> str:
    """Means of `width` groups of the values as bars of eight heights."""
    if not values:
        return ""
    width = min(width, len(values))
    means = []
    for i in range(width):
        group = values[i * len(values) // width:(i + 1) * len(values) // width]
        means.append(sum(group) / len(group))
    low, high = min(means), max(means)
    return "".join(BARS[min(7, int((m - low) / (high - low) * 8))] if high > low else BARS[3] for m in means)


def _steps(run: RunFiles) -> str:
    step, steps = number_of(run.status.get("step")), number_of(run.status.get("steps"))
    if step is None:
        return ""
    return f"step {step:,.0f}" + (f"/{steps:,.0f}" if steps is not None else "")


def _rate(run: RunFiles) -> tuple[str, float | None]:
    rates = {n: r for n, v in facts(run.status.get("rates")).items() if (r := number_of(v)) is not None}
    return main_rate(rates) if "records" in rates else ("records", None)


def _stages(run: RunFiles) -> list[Json]:
    stages = run.artifact.get("stages")
    return stages if isinstance(stages, list) else []


def _ago(age: float | None) -> str:
    if age is None:
        return "never"
    return "just now" if age < 3 else f"{duration(age)} ago"


def _bar(part: float, width: int) -> str:
    full = round(min(1.0, max(0.0, part)) * width)
    return "━" * full + "┈" * (width - full)


def _row(name: str, text: str) -> str:
    return f"  {name:<18}  {text}"   # a longer name keeps its distance, too
