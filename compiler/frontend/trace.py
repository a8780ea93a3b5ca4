"""The function that is being staged, and what its code has declared so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING

from sexpgpu.compiler.frontend.layer_names import MARK, LayerText, loops_of
from sexpgpu.compiler.frontend.values import Closure, HostScalar, Tensor
from sexpgpu.diagnostics import Span
from sexpgpu.diagnostics.record import fresh, record
from sexpgpu.runtime.dtypes import DType

if TYPE_CHECKING:
    from iree.compiler import ir
    from sexpgpu.compiler.frontend.ops.support.rounds import Rounds


class Phase(Enum):
    """Whose code is running; the value is how a message says it."""

    TOP = "the top level"
    PREPARE = "`prepare`"
    EVAL_PREPARE = "`eval-prepare`"
    MODEL = "`model`"
    OBJECTIVE = "`objective`"
    EVALUATE = "`evaluate`"
    INIT = "an initialiser"
    OPTIMIZER = "an optimizer"
    CTX = "a function of `ctx`"
    EXPORT = "an export"


@record(eq=False)
class Variable:
    """A parameter or a buffer, as it was first declared. In a `repeat` it is a stack: the first `layers` axes of its
    shape count the layers, and each has a `*` in the name."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    init: object
    init_given: bool
    decay: bool
    trainable: bool
    span: Span
    layers: int = 0
    decay_given: bool = True

    @property
    def own_shape(self) -> tuple[int, ...]:
        """The shape of one layer's."""
        return self.shape[self.layers:]


@record(eq=False)
class Leaving:
    """Values that are known in a region, and what is done with them outside of it."""

    values: list[ir.Value]
    then: Callable[[list[ir.Value]], None]


@record(eq=False)
class Region:
    """A part of the graph that runs in every step, but is staged aside: the body of a `remat`, the layer of a `repeat`.
    What belongs at the top level of the function leaves it as more of its results, by key; a layer's as stacks."""

    leaving: dict[tuple[str, str], Leaving] = fresh(factory=dict)


@record
class Metric:
    """`weighted` says that a mean has a weight of the user's."""

    name: str
    reduce: str
    span: Span
    weighted: bool = False


@record
class Counter:
    """`dtype` is `"i64"`, or `"f64"` for the sum of a float."""

    name: str
    dtype: str
    span: Span


@record(eq=False)
class Schedule:
    """A number, or a function of `ctx`, that follows the run."""

    name: str
    function: object
    span: Span


@record(eq=False)
class Trace:
    """`training` is what `training?` says. `branches` counts the staged branches around the place, `gradients` the
    `gradient` forms, `loops` holds its loops, `regions` those of them and the `remat`s that things leave, both from the
    outside in; `uncertain` counts the wrong forms around it, which could change what is declared in them. `made` are
    the values of the parameters. `again` says that the same code was traced just before, for another batch size."""

    phase: Phase = Phase.TOP
    training: bool = True
    asked_training: bool = False
    branches: int = 0
    gradients: int = 0
    again: bool = False
    path: list[str] = fresh(factory=list)
    loops: list[Rounds] = fresh(factory=list)
    regions: list[Region | Rounds] = fresh(factory=list)
    parameters: dict[str, Variable] = fresh(factory=dict)
    buffers: dict[str, Variable] = fresh(factory=dict)
    made: dict[str, ir.Value] = fresh(factory=dict)
    metrics: dict[str, Metric] = fresh(factory=dict)
    counters: dict[str, Counter] = fresh(factory=dict)
    counters_known: bool = True
    schedules: dict[str, Schedule] = fresh(factory=dict)
    sites: int = 0
    uncertain: int = 0

    @property
    def in_graph(self) -> bool:
        return self.phase is not Phase.CTX

    @property
    def is_differentiated(self) -> bool:
        return self.training or self.gradients > 0

    @property
    def speaks(self) -> bool:
        """Whether `print` prints: what training said is not said again for each evaluation."""
        return self.training or (not self.again and self.phase in (Phase.EVAL_PREPARE, Phase.EVALUATE))

    def next_site(self) -> int:
        self.sites += 1
        return self.sites - 1

    @property
    def layered(self) -> list[Rounds]:
        """The `repeat`s around the place, the outer one first."""
        return [loop for loop in self.loops if loop.layered]

    def full_name(self, name: str) -> LayerText:
        """`name` with the scopes around it, and a `*` for the number of each layer that is in none of them."""
        parts = [*self.path, name]
        marked = [loop for part in parts for loop in loops_of(part)]
        for loop in reversed(self.layered):
            if loop not in marked:
                parts.insert(loop.depth, LayerText(MARK, (loop,)))
        return LayerText.joined(parts, ".")

    def leave(self, key: tuple[str, str], values: Sequence[ir.Value], then: Callable[[list[ir.Value]], None]) -> None:
        """`then` of the values as they are at the top level of the function, in the round of a `repeat` with an axis
        for the layers in front. Of one key the last counts."""
        if self.regions:
            self.regions[-1].leaving[key] = Leaving(list(values), then)
        else:
            then(list(values))

    @contextmanager
    def within_region(self, region: Region | Rounds) -> Iterator[None]:
        self.regions.append(region)
        try:
            yield
        finally:
            self.regions.pop()

    def left(self, region: Region | Rounds, values: Sequence[ir.Value]) -> None:
        """What left a region, by `values`, those after the region's end; at an insertion point behind it."""
        rest = iter(values)
        for key, leaving in region.leaving.items():
            self.leave(key, [next(rest) for _ in leaving.values], leaving.then)

    @contextmanager
    def within(self, phase: Phase) -> Iterator[None]:
        outer, self.phase = self.phase, phase
        try:
            yield
        finally:
            self.phase = outer


def holds_tensors(value: object, _seen: set[int] | None = None) -> bool:
    """Whether a value belongs to one staged function: a tensor, a list with one, a closure over one."""
    if isinstance(value, (Tensor, HostScalar)):
        return True
    if isinstance(value, Closure):
        frame, seen = value.frame, set() if _seen is None else _seen
        while frame is not None and id(frame) not in seen:
            seen.add(id(frame))
            if any(holds_tensors(item, seen) for item in frame[1:]):
                return True
            frame = frame[0]
        return False
    if isinstance(value, tuple):
        return any(holds_tensors(item, _seen) for item in value)
    inside = getattr(value, "values_inside", None)
    return inside is not None and any(holds_tensors(item, _seen) for item in inside())
