"""The draft of the manifest: what the frontend knows of it (docs/design.md, section 2). Passes fill in the rest."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeAlias

from sexpgpu.compiler.frontend.contract_values import Evaluation, Loader, Run
from sexpgpu.compiler.frontend.run_settings import plain
from sexpgpu.compiler.frontend.staging_ctx import ctx_keys
from sexpgpu.compiler.frontend.staging_export import StagedExport
from sexpgpu.compiler.frontend.trace import Schedule, Trace, Variable

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def _name(path: Path) -> str:
    """What the experiment is called: its file, or the folder of one that is just `experiment.sexp`."""
    return path.parent.name or path.stem if path.stem == "experiment" else path.stem


def draft(path: Path, files: Sequence[Path], loader: Loader, training: Trace, schedules: Sequence[Schedule],
          optimizer_state: Sequence[Json], evaluations: Sequence[tuple[Evaluation, Trace]],
          exports: Sequence[StagedExport], run: Run | None, skips: bool) -> dict[str, Json]:
    base = str(path.resolve().parent)
    metrics = _metric_rows(training)
    return {
        "kind": "sexpgpu.artifact", "schema": 1,
        "name": _name(path.resolve()),
        "source": {"file": path.name, "sha256": _hash(files), "base": base},
        "versions": {"sexpgpu": _version(), "iree": ""},
        "loader": loader.spec(base).to_json(),
        "fields": _fields(loader),
        "parameters": [_row(v) | {"trainable": v.trainable, "decay": v.decay} for v in training.parameters.values()],
        "state": [*(_row(v) | {"role": "parameter"} for v in training.parameters.values()),
                  *(_row(v) | {"role": "buffer"} for v in training.buffers.values()), *optimizer_state],
        "counters": [{"name": c.name, "dtype": c.dtype} for c in training.counters.values()],
        "metrics": {"train": metrics, "size": _size(metrics) + 2},
        "schedules": [_schedule(s) for s in schedules],
        "ctx": [{"key": key, "type": kind} for key, kind in ctx_keys(training)],
        "stages": [stage.name for stage in loader.stages],
        "curriculum": None,
        "evaluations": [_evaluation(i, e, trace, base) for i, (e, trace) in enumerate(evaluations)],
        "exports": [_export(i, e) for i, e in enumerate(exports)],
        "run": {name: plain(value) for name, value in run.settings.items()} if run else {},
        "cost": {"flops": 0, "bytes": 0},
        "skips": skips,
    }


def _version() -> str:
    try:
        return version("sexpgpu")
    except PackageNotFoundError:
        return "0"


def _hash(files: Sequence[Path]) -> str:
    """Of the experiment's text with everything it includes, in reading order."""
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()


def _row(variable: Variable) -> dict[str, Json]:
    return {"name": variable.name, "shape": [int(n) for n in variable.shape], "dtype": variable.dtype.name}


def _fields(loader: Loader) -> list[Json]:
    return [{"name": f.name, "dtype": f.dtype.name, "shape": [int(loader.batch_size), *map(int, f.shape)]}
            for f in loader.fields]


def _metric_rows(trace: Trace) -> list[Json]:
    """Where each number stands: a mean takes two, value × weight and weight."""
    rows: list[Json] = [{"name": "loss", "reduce": "mean", "offset": 0, "counter": False, "weighted": False}]
    entries = [(m.name, m.reduce, False, m.weighted) for m in trace.metrics.values()]
    entries += [(c.name, "sum", True, False) for c in trace.counters.values() if c.dtype == "f64"]
    for name, reduce, is_counter, weighted in entries:
        rows.append({"name": name, "reduce": reduce, "offset": _size(rows), "counter": is_counter,
                     "weighted": weighted})
    return rows


def _size(rows: Sequence[Json]) -> int:
    return sum(2 if row["reduce"] == "mean" else 1 for row in rows)


def _schedule(schedule: Schedule) -> Json:
    constant = float(schedule.function) if isinstance(schedule.function, (int, float)) else None
    return {"name": schedule.name, "export": None, "constant": constant}


def _evaluation(index: int, evaluation: Evaluation, trace: Trace, base: str) -> Json:
    loader = evaluation.loader
    rows = [{k: row[k] for k in ("name", "reduce", "offset", "weighted")} for row in _metric_rows(trace)]
    return {
        "name": evaluation.name, "export": f"evaluate_{index}",
        "row_export": f"evaluate_{index}_row" if evaluation.batches is None else None,
        "every": evaluation.every, "batches": evaluation.batches,
        "at_start": evaluation.at_start, "at_end": evaluation.at_end,
        "loader": loader.spec(base).to_json(), "fields": _fields(loader), "metrics": rows, "size": _size(rows),
    }


def _export(index: int, staged: StagedExport) -> Json:
    return {
        "name": staged.export.name, "export": f"export_{index}", "structure": staged.structure,
        "inputs": [_tensor(f.name, f.dtype.name, f.shape) for f in staged.export.inputs],
        "outputs": [_tensor(name, tensor.dtype.name, tensor.shape) for name, tensor in staged.outputs],
    }


def _tensor(name: str, dtype: str, shape: Sequence[int]) -> Json:
    return {"name": name, "dtype": dtype, "shape": [int(n) for n in shape]}
