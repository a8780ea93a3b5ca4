"""`report.html`: one file that tells of a run, with nothing from outside: curves, where time went, settings, summary.

It is made from what stands in the run folder, by the run at its end and by `sexpgpu-run report` at any time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.display.display import duration, number
from sexpgpu.runtime.look.chart import COLOURS, Chart, figure
from sexpgpu.runtime.look.curves import Curve, read_curves
from sexpgpu.runtime.look.run import Facts, RunFiles, facts
from sexpgpu.runtime.look.run import number as number_of
from sexpgpu.runtime.replace import replace_file

NAME = "report.html"
_HERE = Path(__file__).parent

PHASES = (("device_s", "device"), ("loader_wait_s", "waiting for data"), ("evaluation_s", "evaluations"),
          ("checkpoint_s", "checkpoints"), ("host_s", "runtime"), ("other_s", "start and end"))
"""Keys of the summary's `session`, and how the report calls them."""


def write_report(run: RunFiles, to: Path | None = None) -> Path:
    """Writes the report of a run, whole or not at all. Raises `OSError`."""
    path = to or run.path / NAME
    replace_file(path, page(run).encode())
    return path


def page(run: RunFiles) -> str:
    curves = read_curves(run.metrics)
    figures = [figure(chart) for chart in charts(curves)]
    drawn = [f for f in figures if f]
    if drawn and len(drawn) % 2:
        drawn[0] = drawn[0].replace('class="chart"', 'class="chart wide"', 1)
    title = escape(f"{run.name}: {run.path.resolve().name}")
    return "\n".join([
        "<!doctype html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'; '
        'script-src \'unsafe-inline\'">',
        f"<title>{title}</title>", f"<style>{(_HERE / 'report.css').read_text(encoding='utf-8')}</style>", "</head>",
        "<body>", "<main>", _head(run, curves), _tiles(run, curves),
        "<h2>Curves</h2>" if drawn else "<h2>Curves</h2><p>no metrics yet</p>",
        f'<div class="charts">{"".join(drawn)}</div>', _time(run), _tables(run), "</main>",
        f"<script>{(_HERE / 'report.js').read_text(encoding='utf-8')}</script>", "</body>", "</html>", ""])


def charts(curves: Mapping[str, Curve]) -> list[Chart]:
    """Which curves stand together: a metric of training with those of the passes, the rest by kind."""
    left = dict(curves)
    found: list[Chart] = []

    def take(title: str, names: Sequence[str], shown: Sequence[str] = (), unit: str = "", smooth: bool = False,
             from_zero: bool = False) -> None:
        mine = {label: left.pop(name) for name, label in zip(names, shown or names, strict=True) if name in left}
        if mine:
            found.append(Chart(title, mine, unit, smooth, from_zero))

    metrics = list(dict.fromkeys(name.split("/", depth)[depth] for name in curves
                                 for prefix, depth in (("train/", 1), ("eval/", 2))
                                 if name.startswith(prefix) and name.count("/") >= depth))
    for metric in metrics:
        passes = [n for n in curves if n.startswith("eval/") and n.split("/", 2)[2:] == [metric]]
        take(metric, [f"train/{metric}", *passes], ["train", *(n.split("/")[1] for n in passes)], smooth=True)
    take("gradient norm", ["optimizer/grad-norm"], ["norm"], smooth=True)
    for name in [n for n in curves if n.startswith("schedule/")]:
        take(name, [name], ["value"])
    rates = [n for n in curves if n.startswith("rate/")]
    for name in rates:
        take(f"{name.removeprefix('rate/')} a second", [name], ["rate"], smooth=True, from_zero=True)
    take("time of a step", ["time/step-ms", "loader/wait-ms"], ["step", "waiting for data"], "ms", True, True)
    take("batches ready", ["loader/ready"], ["ready"], smooth=True, from_zero=True)
    for name in list(left):
        flat = len(set(left[name].values)) == 1 and left[name].last == 0.0
        if not flat and not name.startswith("counter/") and name != "loader/bytes":
            amount = name.startswith(("memory/", "loader/", "optimizer/"))
            take(name, [name], [name.rsplit("/", 1)[-1]], from_zero=amount)
    return found


# -- the parts of the page --------------------------------------------------------------------------------------------

def _head(run: RunFiles, curves: Mapping[str, Curve]) -> str:
    state = run.state()
    begun = number_of(run.status.get("started"))
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(begun)) if begun is not None else ""
    artifact = run.artifact
    target = facts(artifact.get("target"))
    about = [run.path.resolve().name, when, str(target.get("name") or ""), str(run.status.get("host") or "")]
    line = escape(" · ".join(part for part in about if part))
    return (f"<header><h1>{escape(run.name)}</h1>"
            f'<span class="state {escape(state)}">{escape(state)}</span><p>{line}</p></header>')


def _tiles(run: RunFiles, curves: Mapping[str, Curve]) -> str:
    summary, status = run.summary, run.status
    steps = number_of(summary.get("steps", status.get("step")))
    planned = number_of(status.get("steps"))
    tiles: list[tuple[str, str]] = []
    if steps is not None:
        of = f" of {planned:,.0f}" if planned is not None and planned != steps else ""
        tiles.append(("steps", f"{steps:,.0f}{of}"))
    if (seconds := number_of(summary.get("seconds"))) is not None:
        tiles.append(("time", duration(seconds)))
    if "train/loss" in curves:
        tiles.append(("train/loss, last", _short(curves["train/loss"].last)))
    for name, curve in curves.items():
        if name.startswith("eval/") and name.endswith("/loss") and curve.finite():
            tiles.append((f"{name}, best", _short(min(curve.finite()))))
    for name, value in {**facts(status.get("totals")), **facts(summary.get("counters"))}.items():
        if (total := number_of(value)) is not None:
            tiles.append((name, number(total)))
    session = facts(summary.get("session"))
    count, took = number_of(session.get("steps")), number_of(session.get("step_s"))
    if count and took:
        tiles.append(("a step, mean", f"{number(took / count * 1e3)} ms"))
    tiles += performance(run)
    return '<div class="tiles">' + "".join(
        f'<div class="tile"><span>{escape(name)}</span><b>{escape(text)}</b></div>' for name, text in tiles) + "</div>"


def performance(run: RunFiles) -> list[tuple[str, str]]:
    """What is known of speed and memory, as names with texts."""
    found = facts(run.summary.get("performance")) or facts(run.status.get("performance"))
    rows: list[tuple[str, str]] = []
    if (flops := number_of(found.get("flops_per_s"))) is not None:
        rows.append(("FLOP/s", number(flops)))
    if (share := number_of(found.get("matmul_share"))) is not None:
        rows.append(("of the matmul peak", f"{share:.0%}"))
    for key, name in (("host_peak_bytes", "host memory, peak"), ("device_peak_bytes", "device memory, peak")):
        if size := number_of(found.get(key)):
            rows.append((name, f"{size / 2**20:,.0f} MiB"))
    return rows


def _time(run: RunFiles) -> str:
    """Where the seconds of the last session went."""
    session = facts(run.summary.get("session"))
    parts = [(name, value) for key, name in PHASES if (value := number_of(session.get(key))) is not None and value > 0]
    total = sum(value for _, value in parts)
    if not total:
        return ""
    bars = "".join(f'<i class="c{i % COLOURS}" style="flex:{value / total:.4f}"></i>'
                   for i, (_, value) in enumerate(parts))
    keys = "".join(f'<span class="key c{i % COLOURS}">{escape(name)} <b>{value / total:.1%}</b> {_spent(value)}</span>'
                   for i, (name, value) in enumerate(parts))
    return (f'<h2>Where time went</h2><div class="card"><div class="share">{bars}</div>'
            f'<div class="legend" style="margin-bottom:10px">{keys}</div></div>')


def _spent(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < 10 else duration(seconds)


def _tables(run: RunFiles) -> str:
    artifact = run.artifact
    source, target = facts(artifact.get("source")), facts(artifact.get("target"))
    versions = facts(artifact.get("versions"))
    parameters = artifact.get("parameters")
    about: Facts = {
        "experiment": source.get("file"), "its SHA-256": source.get("sha256"),
        "target": " ".join(str(target[k]) for k in ("name", "detail") if target.get(k)),
        "built with": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "parameters": _parameters(parameters), "artifact": run.manifest.get("artifact"),
        "checkpoint": run.summary.get("checkpoint") or run.status.get("checkpoint")}
    last = facts(run.summary.get("last")) or facts(run.status.get("metrics"))
    found = [("Settings", run.settings), ("Artifact", about), ("Last values", last)]
    tables = "".join(f"<section><h2>{title}</h2><div class=\"card\">{_table(rows)}</div></section>"
                     for title, rows in found if rows)
    command = run.manifest.get("command")
    again = f"<h2>Command</h2><div class=\"card\"><pre>{escape(str(command))}</pre></div>" if command else ""
    return f'<div class="columns2">{tables}</div>{again}'


def _parameters(rows: Json) -> str | None:
    if not isinstance(rows, list):
        return None
    total = 0
    for row in rows:
        size = 1
        shape = facts(row).get("shape")
        for n in shape if isinstance(shape, list) else []:
            size *= int(number_of(n) or 0)
        total += size
    return f"{total:,} in {len(rows)} tensors"


def _table(rows: Facts) -> str:
    return "<table>" + "".join(
        f"<tr><td>{escape(str(name))}</td><td>{escape(_short(value))}</td></tr>" for name, value in rows.items()
        if value not in (None, "") and name != "time") + "</table>"


def _short(value: Json) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if type(value) is int else str(value)
