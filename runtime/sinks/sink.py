"""What a sink is, which ones there are, and whether their packages are here.

A sink gets lines in the order of `metrics.jsonl` and each step at most once in the life of a run, however often the
run is cut and resumed: a resumed run repeats lines bit for bit, so what a sink already has is left out, or (for files)
written anew from `metrics.jsonl`.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError
from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.replace import replace_file


@dataclass(frozen=True, slots=True)
class Line:
    """A step's numbers by name; `time` is in seconds since 1970. What is not finite is NaN or an infinity."""

    step: int
    time: float
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Opening:
    """What a sink knows when it is opened. `before` is None for a fresh run; a resumed one writes lines from that step
    on. `metrics` may still hold later lines, of a session that was cut."""

    name: str
    folder: Path
    metrics: Path
    settings: Mapping[str, Json]
    before: int | None

    def recall(self, sink: str) -> str | None:
        """What an earlier session of this run remembered for a sink: the name it has in that system."""
        if self.before is None:
            return None
        value = _memory(self.folder).get(sink)
        return value if isinstance(value, str) else None

    def remember(self, sink: str, value: str) -> None:
        text = json.dumps({**_memory(self.folder), sink: value}, indent=1)
        replace_file(self.folder / MEMORY, text.encode() + b"\n")


MEMORY = "sinks.json"
"""In the run folder: the run's identity in other systems."""


def _memory(folder: Path) -> dict[str, Json]:
    try:
        data = json.loads((folder / MEMORY).read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


class Sink(Protocol):
    """`write` and `close` are called from one thread, and may raise anything: the run goes on without the sink."""

    def write(self, lines: Sequence[Line]) -> None: ...
    def close(self, state: str) -> None:
        """`state` is `finished`, `interrupted` or `failed`."""
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """`package` is what has to be importable, `extra` what `pip install` calls it; `module` holds `open_sink`."""

    name: str
    packages: tuple[str, ...]
    module: str

    @property
    def pip(self) -> str:
        return f'pip install "sexpgpu[{self.name}]"'

    def require(self) -> Diagnostic | None:
        """Imports the packages; E-RUN-030 where one is missing or broken."""
        for package in self.packages:
            try:
                importlib.import_module(package)
            except Exception as error:  # a broken installation raises anything
                missing = isinstance(error, ModuleNotFoundError)
                return Diagnostic(
                    "E-RUN-030", f"the sink `{self.name}` needs the package `{package}`, which "
                    f"{'is not installed' if missing else 'cannot be imported'}",
                    notes=(f"{type(error).__name__}: {error}",), fix=Fix(self.pip))
        return None

    def open(self, opening: Opening) -> Sink:
        opener: Callable[[Opening], Sink] = importlib.import_module(self.module).open_sink
        return opener(opening)


KINDS = (
    Kind("tensorboard", ("tensorboard.summary.writer.event_file_writer",), "sexpgpu.runtime.sinks.to_tensorboard"),
    Kind("wandb", ("wandb",), "sexpgpu.runtime.sinks.to_wandb"),
    Kind("mlflow", ("mlflow", "sqlalchemy", "alembic"), "sexpgpu.runtime.sinks.to_mlflow"),
)


def chosen(names: str | None) -> tuple[Kind, ...]:
    """The kinds of an option's value (names with commas), each with its package imported. Raises E-RUN-030, all at
    once."""
    wanted = [kind for kind in KINDS if kind.name in (names or "").split(",")]
    problems = [problem for kind in wanted if (problem := kind.require()) is not None]
    if problems:
        raise SexpError(*problems)
    return tuple(wanted)


def line_from(entry: Mapping[str, Json]) -> Line:
    """A line of metrics, before or after it was JSON: numbers only, null as NaN."""
    values = {name: math.nan if value is None else float(value) for name, value in entry.items()
              if name not in ("step", "time") and (value is None or isinstance(value, int | float))}
    step, when = entry["step"], entry["time"]
    assert isinstance(step, int) and isinstance(when, int | float)
    return Line(step, float(when), values)


def lines_of(metrics: Path) -> Iterator[Line]:
    """The whole lines of a `metrics.jsonl`; it ends at the first that is not one."""
    if not metrics.exists():
        return
    with open(metrics, "rb") as file:
        for text in file:
            try:
                yield line_from(json.loads(text))
            except (ValueError, KeyError, AttributeError, AssertionError):
                return


def last_step(metrics: Path) -> int:
    """The step of the last whole line; -1 where there is none."""
    step = -1
    for line in lines_of(metrics):
        step = line.step
    return step
