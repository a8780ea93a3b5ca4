"""A hand-written artifact: linear regression with everything the runtime has to deal with, compiled in the tests.

One field of each kind (`x` f32 [4, 3], `y` f32 [4], `mask` bool [4], `tag` u8 [4]); momentum; a bf16 buffer; a loss
that hangs on the key, so that a wrong seed, step, microbatch or rank shows; an integer and a float counter; a metric
of each reduction; a schedule of `ctx`, a constant one, a curriculum; an evaluation of a whole loader.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from sexpgpu.diagnostics.record import replace
from sexpgpu.runtime.artifact import (
    Counter,
    CtxKey,
    Evaluation,
    Field,
    Manifest,
    Metric,
    MetricTable,
    Parameter,
    Schedule,
    Source,
    StateTensor,
    Target,
    Versions,
    seal_bytes,
)
from sexpgpu.runtime.dataio.spec import FieldSpec, FilesSource, LoaderSpec, StageSpec

BATCH = 4
FIELDS = (("x", "f32", (3,)), ("y", "f32", ()), ("mask", "bool", ()), ("tag", "u8", ()))
METRICS = (("loss", "mean"), ("mae", "mean"), ("peak", "max"), ("low", "min"), ("total", "sum"), ("final", "last"))


@dataclass(frozen=True, slots=True)
class Options:
    """What a test may want otherwise."""

    name: str = "sample"
    nan_at: int = -1            # the loss of this step (from 0) is not a number
    skip_nan: bool = False      # the optimizer leaves the state alone where the loss is no number
    stages: tuple[str, ...] = ("main",)
    every: int | None = None
    batches: int | None = None
    at_start: bool = False
    at_end: bool = True
    finite: bool = False
    width: int = 3
    run: tuple[tuple[str, object], ...] = (("steps", 10),)


DEFAULT = Options()
_TEMPLATE = Path(__file__).with_name("hand_artifact.mlir").read_text(encoding="utf-8")


def loader_spec(options: Options, *, infinite: bool, name: str = "train") -> LoaderSpec:
    fields = tuple(FieldSpec(n, n, d, (options.width,) if n == "x" else s) for n, d, s in FIELDS)
    source = (FilesSource((f"{name}.parquet",), "parquet"),)
    return LoaderSpec(fields, tuple(StageSpec(s, source, 8 if infinite else 0, infinite) for s in options.stages),
                      BATCH, "/data")


def manifest(options: Options = DEFAULT, driver: str = "local-task") -> Manifest:
    from sexpgpu.runtime.artifact.read import iree_version

    fields = tuple(Field(n, d, (BATCH, *((options.width,) if n == "x" else s))) for n, d, s in FIELDS)
    offset, train = 0, []
    for name, reduce in METRICS:
        train.append(Metric(name, reduce, offset))
        offset += train[-1].width
    train.append(Metric("mass", "sum", offset, counter=True))
    keys = [CtxKey(k, "f64" if k in ("progress", "loss") else "i64")
            for k in ("step", "steps", "progress", "stage", "stage-step", "records", "stage-records", "loss")]
    keys += [CtxKey("tokens", "i64"), CtxKey("stage-tokens", "i64"), CtxKey("mass", "f64"), CtxKey("stage-mass", "f64")]
    evaluation = Evaluation(
        "val", "evaluate_0", None if options.batches else "evaluate_0_row", options.every, options.batches,
        options.at_start, options.at_end, replace(loader_spec(options, infinite=False, name="val"),
                                                  stages=loader_spec(options, infinite=False, name="val").stages[:1]),
        fields, tuple(Metric(m.name, m.reduce, m.offset) for m in train[:2]), 4)
    w = options.width
    return Manifest(
        name=options.name, source=Source("sample.sexp", "0" * 64, "/data"),
        versions=Versions("0.1.0", iree_version()), target=Target("cpu", "host", driver),
        loader=loader_spec(options, infinite=not options.finite), fields=fields,
        parameters=(Parameter("w", (w,), "f32", True, True), Parameter("b", (), "f32", True, False)),
        state=(StateTensor("w", (w,), "f32", "parameter"), StateTensor("b", (), "f32", "parameter"),
               StateTensor("seen", (2,), "bf16", "buffer"),
               StateTensor("w.v", (w,), "f32", "optimizer"), StateTensor("b.v", (), "f32", "optimizer")),
        counters=(Counter("tokens", "i64"), Counter("mass", "f64")),
        metrics=MetricTable(tuple(train), offset + 3),
        schedules=(Schedule("lr", "ctx_0", None), Schedule("beta", None, 0.875)),
        ctx=tuple(keys), stages=options.stages, curriculum="ctx_1" if len(options.stages) > 1 else None,
        evaluations=(evaluation,), run=dict(options.run), skips=options.skip_nan)


# -- the module -------------------------------------------------------------------------------------------------------

def mlir(options: Options = DEFAULT, driver: str = "local-task") -> str:
    pieces = {name: text for name, text in (part.split("\n", 1) for part in _TEMPLATE.split("//// ")[1:])}
    text = json.dumps(manifest(options, driver).to_json(), ensure_ascii=False)
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    values = {"@MANIFEST@": quoted, "@W@": str(options.width), "@B@": str(BATCH),
              "NAN_AT": str(options.nan_at), "@SKIP@": "%finite" if options.skip_nan else "%always"}

    def forward(rows: int, stirred: bool) -> str:
        """The loss and its gradients; in training the key stirs the loss."""
        return (pieces["stirred" if stirred else "still"] + pieces["forward"]).replace("#B#", str(rows))

    module = pieces["module"]
    for name, piece in (("@TRAIN@", forward(BATCH, True)), ("@EVALUATE@", forward(BATCH, False)),
                        ("@ROW@", forward(1, False)), ("UPDATE", pieces["update"]),
                        ("ARGS4", pieces["arguments"].strip().replace("#B#", str(BATCH))),
                        ("ARGS1", pieces["arguments"].strip().replace("#B#", "1")),
                        ("SCALARS", pieces["scalars"].strip()), *values.items()):
        module = module.replace(name, piece)
    return module


FLAGS = {
    "local-task": ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
                   "--iree-llvmcpu-target-cpu=host"),
    "vulkan": ("--iree-hal-target-device=vulkan", "--iree-vulkan-target=turing"),
}


def compile_text(text: str, driver: str = "local-task") -> bytes:
    """A `.vmfb`, not yet sealed."""
    from iree.compiler.tools import compile_str
    return compile_str(text, input_type="stablehlo", extra_args=[
        *FLAGS[driver], "--iree-input-demote-f64-to-f32=false", "--mlir-print-op-on-diagnostic=false"])


def write(path: Path, options: Options = DEFAULT, driver: str = "local-task") -> Path:
    path.write_bytes(seal_bytes(compile_text(mlir(options, driver), driver)))
    return path
