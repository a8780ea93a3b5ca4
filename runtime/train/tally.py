"""What a run has counted: steps, records, counters, for the run and for the stage; and `ctx`, which shows them.

Integers are Python's, so they never wrap and never round; float counters are sums in f64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sexpgpu.runtime.artifact.manifest import CtxKey
from sexpgpu.runtime.dataio.spec import Json

Number = int | float


@dataclass(slots=True)
class Tally:
    """`step` counts finished updates; `loss` is the last one's, NaN before the first; `skipped` counts updates that
    the optimizer left out, `skipped_in_a_row` those since the last one it did not; `rewinds` how often the run went
    back to a checkpoint."""

    step: int = 0
    stage: int = 0
    stage_step: int = 0
    records: int = 0
    stage_records: int = 0
    skipped: int = 0
    skipped_in_a_row: int = 0
    rewinds: int = 0
    loss: float = math.nan
    counters: dict[str, Number] = field(default_factory=dict)
    stage_counters: dict[str, Number] = field(default_factory=dict)

    @staticmethod
    def start(integers: Sequence[str], floats: Sequence[str]) -> Tally:
        zeros: dict[str, Number] = {**dict.fromkeys(integers, 0), **dict.fromkeys(floats, 0.0)}
        return Tally(counters=dict(zeros), stage_counters=dict(zeros))

    def copy(self) -> Tally:
        return replace(self, counters=dict(self.counters), stage_counters=dict(self.stage_counters))

    def enter(self, stage: int) -> None:
        """The curriculum's choice before each step; moving to another stage starts its counts at nothing."""
        if stage == self.stage:
            return
        self.stage, self.stage_step, self.stage_records = stage, 0, 0
        self.stage_counters = {name: type(value)(0) for name, value in self.stage_counters.items()}

    def add(self, records: int, counted: dict[str, Number], loss: float, skipped: bool) -> None:
        """One finished step."""
        self.step += 1
        self.stage_step += 1
        self.records += records
        self.stage_records += records
        self.skipped += skipped
        self.skipped_in_a_row = self.skipped_in_a_row + 1 if skipped else 0
        self.loss = loss
        for name, value in counted.items():
            self.counters[name] += value
            self.stage_counters[name] += value

    def ctx(self, keys: Sequence[CtxKey], steps: int, progress: float) -> list[Number]:
        """The values of `ctx` in the manifest's order; `steps` and `progress` are the plan's."""
        own: dict[str, Number] = {
            "step": self.step, "steps": steps, "progress": progress, "stage": self.stage,
            "stage-step": self.stage_step, "records": self.records, "stage-records": self.stage_records,
            "loss": self.loss,
        }
        for name, value in self.counters.items():
            own[name] = value
            own[f"stage-{name}"] = self.stage_counters[name]
        return [own[k.key] for k in keys]

    def to_json(self) -> dict[str, Json]:
        """Floats as C99 hexadecimal text: exact, and JSON has no NaN."""
        return {"step": self.step, "stage": self.stage, "stage_step": self.stage_step, "records": self.records,
                "stage_records": self.stage_records, "skipped": self.skipped,
                "skipped_in_a_row": self.skipped_in_a_row, "rewinds": self.rewinds, "loss": self.loss.hex(),
                "counters": {n: _out(v) for n, v in self.counters.items()},
                "stage_counters": {n: _out(v) for n, v in self.stage_counters.items()}}

    @staticmethod
    def from_json(data: dict[str, Json]) -> Tally:
        whole = {k: data[k] for k in ("step", "stage", "stage_step", "records", "stage_records", "skipped")}
        whole |= {k: data.get(k, 0) for k in ("skipped_in_a_row", "rewinds")}  # younger than the first checkpoints
        if not all(type(v) is int and v >= 0 for v in whole.values()):
            raise ValueError("a count is not a whole number")
        return Tally(**whole, loss=float.fromhex(data["loss"]),  # type: ignore[arg-type]
                     counters={n: _in(v) for n, v in data["counters"].items()},  # type: ignore[union-attr]
                     stage_counters={n: _in(v) for n, v in data["stage_counters"].items()})  # type: ignore[union-attr]


def _out(value: Number) -> Json:
    return value if isinstance(value, int) else value.hex()


def _in(value: Json) -> Number:
    return value if isinstance(value, int) else float.fromhex(value)  # type: ignore[arg-type]
