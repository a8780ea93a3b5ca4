"""A step as a line of `metrics.jsonl`: which names there are and where each value comes from."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from sexpgpu.runtime.artifact.manifest import Manifest
from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.train.tally import Number, Tally


@dataclass(frozen=True, slots=True)
class StepFacts:
    """One finished step: reduced metrics in the manifest's order, what it counted, what it took (seconds)."""

    values: list[float]
    counted: dict[str, Number]
    records: int
    hyper: list[float]
    norm: float
    skipped: bool
    seconds: float
    device_seconds: float
    waited: float

    @property
    def loss(self) -> float:
        return self.values[0]


def line_of(facts: StepFacts, tally: Tally, manifest: Manifest, rates: Mapping[str, float],
            loader: Mapping[str, Json], device_bytes: int | None) -> dict[str, Json]:
    """`tally` already holds the step; `rates` are those of the last seconds, empty in the first step; `loader` are the
    stage's gauges. The loss is that before the update, as the field has it."""
    line: dict[str, Json] = {"step": tally.step, "time": round(time.time(), 3)}
    for metric, value in zip(manifest.metrics.train, facts.values, strict=True):
        if not metric.counter:
            line[f"train/{metric.name}"] = value
    for name, total in {"records": tally.records, **tally.counters}.items():
        line[f"counter/{name}"] = total
        if name in rates:
            line[f"rate/{name}"] = rates[name]
    for schedule, value in zip(manifest.schedules, facts.hyper, strict=True):
        line[f"schedule/{schedule.name}"] = value
    line["optimizer/grad-norm"] = facts.norm
    line["optimizer/skipped"] = tally.skipped
    if tally.rewinds:
        line["optimizer/rewinds"] = tally.rewinds
    if manifest.curriculum is not None:
        line["stage"] = manifest.stages[tally.stage]
    line["loader/wait-ms"] = round(facts.waited * 1e3, 3)
    line.update({f"loader/{name}": value for name, value in loader.items()})
    line["time/step-ms"] = round(facts.seconds * 1e3, 3)
    if device_bytes:
        line["memory/device-bytes"] = device_bytes
    return line
