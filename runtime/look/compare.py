"""Two runs side by side: what was set otherwise, what came out, and metrics at steps that both have written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.display.display import duration, number
from sexpgpu.runtime.look.run import RunFiles, entries, facts
from sexpgpu.runtime.look.run import number as number_of

ROWS = 10
"""Steps that the table of curves shows."""


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def compare(a: RunFiles, b: RunFiles) -> list[Table]:
    names = (str(a.path), str(b.path))
    return [table for table in (_about(a, b, names), _settings(a, b, names), _last(a, b, names), *_curves(a, b, names))
            if table.rows]


def _about(a: RunFiles, b: RunFiles, names: tuple[str, str]) -> Table:
    rows = [("state", a.state(), b.state())]
    for what, one, two in (
            ("experiment", *(_pick(r, "source", "file") for r in (a, b))),
            ("its SHA-256", *(str(_pick(r, "source", "sha256") or "")[:12] for r in (a, b))),
            ("target", *(_pick(r, "target", "detail") for r in (a, b))),
            ("steps", *(r.summary.get("steps", r.status.get("step")) for r in (a, b))),
            ("time", *(_time(r) for r in (a, b)))):
        rows.append((what, _text(one), _text(two)))
    return Table("runs", ("", *names), tuple(rows))


def _settings(a: RunFiles, b: RunFiles, names: tuple[str, str]) -> Table:
    """Those that differ; where a run was written to always does."""
    one, two = a.settings, b.settings
    keys = [k for k in dict.fromkeys([*one, *two]) if k != "out" and one.get(k) != two.get(k)]
    return Table("settings that differ", ("", *names), tuple((k, _text(one.get(k)), _text(two.get(k))) for k in keys))


def _last(a: RunFiles, b: RunFiles, names: tuple[str, str]) -> Table:
    one, two = ({**facts(r.summary.get("last") or r.status.get("metrics")), **facts(r.summary.get("evaluations"))}
                for r in (a, b))
    keys = [k for k in dict.fromkeys([*one, *two]) if k.startswith(("train/", "eval/", "rate/", "time/", "memory/"))]
    rows = []
    for key in keys:
        x, y = number_of(one.get(key)), number_of(two.get(key))
        rows.append((key, _number(x), _number(y), _change(x, y)))
    return Table("at the end", ("", *names, "change"), tuple(rows))


def _curves(a: RunFiles, b: RunFiles, names: tuple[str, str]) -> Iterator[Table]:
    """A table for the loss of training and of each pass, at steps that both have."""
    both = _names(a) & _names(b)
    for metric in sorted(both, key=lambda n: (not n.startswith("train/"), n)):
        steps = sorted(_steps(a, metric) & _steps(b, metric))
        if len(steps) > ROWS:
            steps = [steps[round(i * (len(steps) - 1) / (ROWS - 1))] for i in range(ROWS)]
        one, two = _values(a, metric, steps), _values(b, metric, steps)
        yield Table(f"{metric} at equal steps", ("step", *names, "change"), tuple(
            (f"{s:,}", _number(one.get(s)), _number(two.get(s)), _change(one.get(s), two.get(s))) for s in steps))


def _names(run: RunFiles) -> set[str]:
    return {name for entry, _ in entries(run.metrics) for name in entry
            if name == "train/loss" or (name.startswith("eval/") and name.endswith("/loss"))}


def _steps(run: RunFiles, metric: str) -> set[int]:
    return {int(entry["step"]) for entry, _ in entries(run.metrics) if metric in entry}  # type: ignore[arg-type]


def _values(run: RunFiles, metric: str, steps: Sequence[int]) -> dict[int, float | None]:
    wanted = set(steps)
    return {int(entry["step"]): number_of(entry[metric])  # type: ignore[arg-type]
            for entry, _ in entries(run.metrics) if metric in entry and entry["step"] in wanted}


# -- texts ------------------------------------------------------------------------------------------------------------

def _pick(run: RunFiles, *keys: str) -> Json:
    found: Json = run.artifact
    for key in keys:
        found = facts(found).get(key)
    return found


def _time(run: RunFiles) -> str | None:
    seconds = number_of(run.summary.get("seconds"))
    return duration(seconds) if seconds is not None else None


def _text(value: Json) -> str:
    return "–" if value is None else f"{value:,}" if type(value) is int else str(value)


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return number(value) if abs(value) >= 10 or value == 0 else f"{value:.5g}"


def _change(x: float | None, y: float | None) -> str:
    """Of the second against the first, in percent."""
    if x is None or y is None or x == 0:
        return ""
    return "same" if x == y else f"{(y - x) / abs(x):+.2%}"

