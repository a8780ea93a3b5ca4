"""Schedules and the curriculum: functions of `ctx` over 64-bit scalars, which run on the host.

Each becomes `@"ctx.<name>"`, whose arguments are the keys of `ctx` in the manifest's order. A schedule gives an f64,
the curriculum an index into the stages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler.frontend.branch_types import choice_index
from sexpgpu.compiler.frontend.budget import Abandoned
from sexpgpu.compiler.frontend.contract import Definition
from sexpgpu.compiler.frontend.ops.support import host
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.trace import Phase, Schedule, Trace
from sexpgpu.compiler.frontend.values import POISON, Ctx, HostScalar, has_poison
from sexpgpu.diagnostics import Label, Span, one_of

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator

#: The keys of `ctx` before the counters', each with its type. `stage` is an index into the stages.
KEYS = (("step", "i64"), ("steps", "i64"), ("progress", "f64"), ("stage", "i64"), ("stage-step", "i64"),
        ("records", "i64"), ("stage-records", "i64"), ("loss", "f64"))

#: The function of the curriculum; no schedule may have its name.
CURRICULUM = "curriculum"


def ctx_keys(training: Trace) -> list[tuple[str, str]]:
    """All keys with their types: each counter adds its own and the one of the stage."""
    return [*KEYS, *((key, c.dtype) for c in training.counters.values() for key in (c.name, f"stage-{c.name}"))]


class CtxFunctions:
    """Stages functions of `ctx`. `stages` are the stage names, empty where the loader is wrong."""

    def __init__(self, evaluator: Evaluator, training: Trace, stages: Sequence[str]) -> None:
        self._evaluator = evaluator
        self._keys = ctx_keys(training)
        self._complete = training.counters_known
        self._stages = tuple(stages)

    def schedule(self, schedule: Schedule) -> None:
        """A schedule that is a function; one that is a number needs none."""
        if not isinstance(schedule.function, (int, float)):
            self._stage(schedule.name, schedule.function, schedule.span, self._number)

    def curriculum(self, definition: Definition) -> None:
        self._stage(CURRICULUM, definition.value, definition.span, self._stage_index)

    def _stage(self, name: str, function: object, span: Span, result: Callable[[str, object, Span], ir.Value]) -> None:
        evaluator = self._evaluator
        types = [ir.Type.parse(kind) for _, kind in self._keys]
        with evaluator.staging.function(f"ctx.{name}", "ctx", types, span, Trace(Phase.CTX)) as staged:
            values = {}
            for (key, kind), argument in zip(self._keys, staged.arguments, strict=True):
                choice = key == "stage" and bool(self._stages)
                values[key] = HostScalar(argument, "choice" if choice else kind, span, self._stages if choice else ())
            try:
                value = evaluator.apply(function, [Ctx(values, self._complete)], span)
            except Abandoned:
                value = POISON
            with evaluator.location(span):
                staged.results = [result(name, value, span)]

    def _number(self, name: str, value: object, span: Span) -> ir.Value:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return host.constant(float(value), span).value
        if isinstance(value, HostScalar) and value.kind in ("i64", "f64"):
            return host.to_kind(value, "f64")
        if not has_poison(value):
            self._evaluator.reporter.error("E-CONTRACT-023", f"the schedule `:{name}` gives {_described(value)}", span,
                                           f"gives {_described(value)}", secondary=_place(value),
                                           fix="a schedule computes a number from `ctx`")
        return host.constant(0.0, span).value

    def _stage_index(self, _name: str, value: object, span: Span) -> ir.Value:
        names = (value,) if isinstance(value, str) else ()
        if isinstance(value, HostScalar) and value.kind == "choice":
            names = value.choices
        reporter = self._evaluator.reporter
        if not names and not has_poison(value):
            reporter.error("E-CONTRACT-023", f"`curriculum` gives {_described(value)}, not the name of a stage", span,
                           f"gives {_described(value)}", secondary=_place(value),
                           fix=f"it picks one of {one_of('', self._stages)}" if self._stages else None)
        unknown = [name for name in names if name not in self._stages]
        if unknown and self._stages:
            reporter.error("E-CONTRACT-015", f"`curriculum` picks the stage `{unknown[0]}`, which the loader does not "
                           "have", span, f"may give `{unknown[0]}`", secondary=_place(value),
                           fix=f"the loader has the stages {one_of(unknown[0], self._stages)}")
        if not names or unknown:
            return host.constant(0, span).value
        return choice_index(value, self._stages)


def _described(value: object) -> str:
    return "a boolean" if isinstance(value, HostScalar) and value.kind == "bool" else describe(value)


def _place(value: object) -> list[Label]:
    return [Label(value.span, "this is its value")] if isinstance(value, HostScalar) else []
