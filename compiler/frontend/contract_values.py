"""What the contract forms make: loaders, evaluations, optimizers and the rest, checked when they are made.

A form with a mistake still makes its value as far as it is known (`complete` is false then), so that a bad loader does
not hide a bad product in the model.
"""

from __future__ import annotations

from sexpgpu.compiler.frontend.optimizer_groups import Group
from sexpgpu.compiler.frontend.values import Dim, plist_items
from sexpgpu.diagnostics import Span
from sexpgpu.diagnostics.record import record
from sexpgpu.runtime.dataio.spec import FieldSpec, FilesSource, LoaderSpec, ManifestSource, StageSpec
from sexpgpu.runtime.dtypes import DType


@record(eq=False)
class Field:
    """A declared field. `shape` is one row's; None where it is wrong."""

    name: str
    column: str
    dtype: DType | None
    shape: tuple[Dim, ...] | None
    span: Span


@record(eq=False)
class Source:
    """A `files` or `manifest` form; files of several encodings are several specs, in order."""

    specs: tuple[FilesSource | ManifestSource, ...]
    weight: float | None
    span: Span


@record(eq=False)
class Stage:
    name: str
    sources: tuple[Source, ...]
    shuffle: int
    infinite: bool
    span: Span
    name_span: Span


@record(eq=False)
class Loader:
    """`batch_size` is None where it is wrong; not `complete` where a field, a stage or a source is."""

    fields: tuple[Field, ...]
    stages: tuple[Stage, ...]
    batch_size: Dim | None
    complete: bool
    span: Span

    @property
    def infinite(self) -> bool:
        return any(stage.infinite for stage in self.stages)

    def spec(self, base: str) -> LoaderSpec:
        """What the runtime is told. Only of a complete loader."""
        return LoaderSpec(
            fields=tuple(FieldSpec(f.name, f.column, f.dtype.name, tuple(map(int, f.shape))) for f in self.fields),
            stages=tuple(StageSpec(s.name, tuple(x for source in s.sources for x in source.specs), s.shuffle,
                                   s.infinite) for s in self.stages),
            batch_size=int(self.batch_size), base=base)


@record(eq=False)
class Batch:
    """What `prepare` is given: a tensor for each field of the loader, poison where the field is wrong."""

    tensors: dict[str, object]
    loader: Loader


@record(eq=False)
class Evaluation:
    name: str
    loader: Loader | None
    every: int | None
    batches: int | None
    at_start: bool
    at_end: bool
    span: Span


@record(eq=False)
class Export:
    """A function of its own in the artifact, for inference; `inputs` are declared with their whole shapes."""

    name: str
    function: object
    inputs: tuple[Field, ...]
    span: Span
    function_span: Span


@record(eq=False)
class Optimizer:
    """`hyper` is a plist of numbers and functions of ctx; `init` gives a parameter's state, `update` applies a
    gradient; the rest are the options that every optimizer takes. `ema` is the share that the average keeps."""

    hyper: tuple
    init: object
    update: object
    clip_norm: float | None
    clip_value: float | None
    weight_decay: float
    skip_nonfinite: bool
    groups: tuple[Group, ...]
    groups_span: Span
    ema: float | None
    span: Span

    def hypers(self) -> list[tuple[str, object]]:
        """Everything that `@optimizer` takes as a number: the hyper-parameters, then those of the groups."""
        return [*plist_items(self.hyper),
                *((group.schedule_name(name), value) for group in self.groups for name, value in group.hyper)]

    def group_of(self, parameter: str) -> Group | None:
        return next((group for group in self.groups if group.matches(parameter)), None)

    def values_inside(self) -> tuple:
        return (*(value for _, value in self.hypers()), self.init, self.update)


@record(eq=False)
class Precision:
    """`loss_scale` is a number, `"dynamic"`, or None."""

    compute: DType
    params: DType
    loss_scale: float | str | None
    span: Span


@record(eq=False)
class Run:
    """Defaults of the run file: option to value, each with the place of its keyword."""

    settings: dict[str, object]
    places: dict[str, Span]
    span: Span
