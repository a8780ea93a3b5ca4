"""The manifest: what an artifact says about itself (docs/design.md, section 2), as frozen dataclasses.

The compiler writes it through `Manifest.to_json`, the runtime reads it through `Manifest.from_json`; a key that is
missing, unknown or of another type is refused, and so is a later schema. Shapes are tuples of positive integers,
dtypes names of `sexpgpu.runtime.dtypes.DTYPES`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields

from sexpgpu.runtime.artifact.checks import check
from sexpgpu.runtime.artifact.codec import CodecError, decode, encode
from sexpgpu.runtime.dataio.spec import Json, LoaderSpec
from sexpgpu.runtime.dtypes import DTYPES

KIND = "sexpgpu.artifact"
SCHEMA = 1
REFLECTION_KEY = "sexpgpu.manifest"
"""Where the JSON stands in the `iree.reflection` of the export `init`."""


class LaterSchema(CodecError):
    """The manifest was written by a later version of us; `schema` is its number."""

    def __init__(self, schema: int) -> None:
        super().__init__("schema", f"{schema} was written by a later version; {SCHEMA} is the last one known here")
        self.schema = schema


@dataclass(frozen=True, slots=True)
class Source:
    """The experiment: its file, the hash of its text with its includes, and the folder relative paths start from."""

    file: str
    sha256: str
    base: str


@dataclass(frozen=True, slots=True)
class Versions:
    sexpgpu: str
    iree: str


@dataclass(frozen=True, slots=True)
class Target:
    """`name` as the user chose it, `detail` what it came to, `driver` IREE's driver that runs it; `features` are those
    of a processor that the code may use, by LLVM's names."""

    name: str
    detail: str
    driver: str
    features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """An argument of the training function; `shape` includes the batch axis."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    shape: tuple[int, ...]
    dtype: str
    trainable: bool
    decay: bool


@dataclass(frozen=True, slots=True)
class StateTensor:
    """One tensor of `state_get` and `state_set`; `role` is `parameter`, `buffer` or `optimizer`."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    role: str

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * DTYPES[self.dtype].bytes


@dataclass(frozen=True, slots=True)
class Counter:
    """`dtype` is `i64` (exact, in the counters' result) or `f64` (a `sum` entry of the metrics)."""

    name: str
    dtype: str


@dataclass(frozen=True, slots=True)
class Metric:
    """Where a metric stands in the metrics' vector: value × weight and weight for a mean, one number otherwise.

    `weighted` says of a mean whether its weight is the user's (masked tokens); without one it weighs a call by its
    records. None is "not said": then a weight of exactly 1 is taken for none.
    """

    name: str
    reduce: str
    offset: int
    counter: bool = False
    weighted: bool | None = None

    @property
    def width(self) -> int:
        return 2 if self.reduce == "mean" else 1


@dataclass(frozen=True, slots=True)
class MetricTable:
    """`size` counts what `microbatch` returns, and the gradient norm and the skip flag of `update`."""

    train: tuple[Metric, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """A function of `ctx` by its export, or a plain number."""

    name: str
    export: str | None
    constant: float | None


@dataclass(frozen=True, slots=True)
class CtxKey:
    """One argument of every `ctx` function; `type` is `i64` or `f64`."""

    key: str
    type: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One pass. `batches` is None where the whole of a finite loader is read; then `row_export` is there."""

    name: str
    export: str
    row_export: str | None
    every: int | None
    batches: int | None
    at_start: bool
    at_end: bool
    loader: LoaderSpec
    fields: tuple[Field, ...]
    metrics: tuple[Metric, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Export:
    """A function for inference. `structure` says what it gives: a `tensor`, a `list` or a `plist` of the outputs."""

    name: str
    export: str
    structure: str
    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """Floating-point operations and bytes touched of one microbatch's forward and backward; 0 where unknown."""

    flops: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Peak:
    """The export of one product of two square matrices of `size` rows, to measure a device by."""

    export: str
    size: int
    dtype: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """See docs/design.md for each key."""

    name: str
    source: Source
    versions: Versions
    target: Target
    loader: LoaderSpec
    fields: tuple[Field, ...]
    parameters: tuple[Parameter, ...]
    state: tuple[StateTensor, ...]
    counters: tuple[Counter, ...]
    metrics: MetricTable
    schedules: tuple[Schedule, ...]
    ctx: tuple[CtxKey, ...]
    stages: tuple[str, ...]
    curriculum: str | None
    evaluations: tuple[Evaluation, ...]
    run: dict[str, Json] = field(default_factory=dict)
    cost: Cost = Cost()
    skips: bool = False
    """Whether `update` leaves the state alone where the gradient is not finite."""
    exports: tuple[Export, ...] = ()
    peak: Peak | None = None
    kind: str = KIND
    schema: int = SCHEMA

    def to_json(self) -> dict[str, Json]:
        names = ["kind", "schema", *(f.name for f in fields(self) if f.name not in ("kind", "schema"))]
        return {name: encode(getattr(self, name)) for name in names}

    @staticmethod
    def from_json(data: Json) -> Manifest:
        """Raises `LaterSchema` or `CodecError`."""
        if not isinstance(data, dict) or data.get("kind") != KIND:
            raise CodecError("kind", f"`{KIND}` was expected")
        schema = data.get("schema")
        if type(schema) is not int or schema < 1:
            raise CodecError("schema", "a positive integer was expected")
        if schema > SCHEMA:
            raise LaterSchema(schema)
        manifest = decode(Manifest, data)
        check(manifest)
        return manifest

    @property
    def integer_counters(self) -> tuple[str, ...]:
        """In the order of the counters' result."""
        return tuple(c.name for c in self.counters if c.dtype == "i64")
