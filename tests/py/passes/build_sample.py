"""A small experiment's artifact without a frontend: linear regression with everything an artifact can have.

`python build_sample.py OUT [TARGET]`, or `build_sample(path)`. Fields x [8, 4] f32, y [8] f32, id [8] i32; parameters
w, block.0.b; a buffer `mean`; AdamW; counters `tokens` (i64) and `weight` (f64); metrics; schedule `lr` by a ctx
function and `beta` a constant; one evaluation with a row export; dropout-like noise from a random site.
"""

from __future__ import annotations

import sys
from pathlib import Path

from iree.compiler import ir

sys.path.insert(0, str(Path(__file__).parent))

from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes.build import build
from staging import Stage

BATCH, WIDTH = 8, 4
CTX = [("step", "i64"), ("steps", "i64"), ("progress", "f64"), ("stage", "i64"), ("stage-step", "i64"),
       ("records", "i64"), ("stage-records", "i64"), ("loss", "f64"), ("tokens", "i64"), ("stage-tokens", "i64"),
       ("weight", "f64"), ("stage-weight", "f64")]


def fields(rows: int) -> list[dict[str, object]]:
    return [{"name": "x", "dtype": "f32", "shape": [rows, WIDTH]}, {"name": "y", "dtype": "f32", "shape": [rows]},
            {"name": "id", "dtype": "i32", "shape": [rows]}]


def loader() -> dict[str, object]:
    columns = [{"name": "x", "column": "x", "dtype": "f32", "shape": [WIDTH]},
               {"name": "y", "column": "y", "dtype": "f32", "shape": []},
               {"name": "id", "column": "id", "dtype": "i32", "shape": []}]
    source = {"kind": "files", "paths": ["sample.jsonl.gz"], "encoding": "jsonl.gz"}
    return {"fields": columns, "batch_size": BATCH, "base": ".",
            "stages": [{"name": "main", "sources": [source], "shuffle": 0, "infinite": True}]}


def field_types(rows: int) -> list[ir.Type]:
    return [hlo.tensor_type([rows, WIDTH], "f32"), hlo.tensor_type([rows], "f32"), hlo.tensor_type([rows], "i32")]


def loss(stage: Stage, x: ir.Value, y: ir.Value, training: bool) -> ir.Value:
    rows = hlo.shape_of(x)[0]
    w = stage.param("w", [WIDTH], lambda: stage.uniform(0, [WIDTH], -0.5, 0.5))
    b = stage.param("block.0.b", [], lambda: hlo.splat(0, [], "f32"), decay=False)
    predicted = hlo.add(hlo.dot_general(x, w, contract=([1], [0])), hlo.broadcast_scalar(b, [rows]))
    if training:
        noise = stage.uniform(0, [rows], -0.01, 0.01)
        predicted = hlo.add(predicted, noise)
    error = hlo.subtract(predicted, y)
    total = hlo.reduce(hlo.multiply(error, error), [0], "add")
    return hlo.divide(total, hlo.splat(rows, [], "f32"))


def train(stage: Stage) -> None:
    with stage.function("train", "train", field_types(BATCH)) as ((x, y, ids), results):
        stage.counter("tokens", hlo.splat(BATCH * WIDTH, [], "i64"))
        weight = hlo.reduce(hlo.convert(ids, "f32"), [0], "add")
        stage.counter("weight", weight)
        value = loss(stage, x, y, True)
        mean = stage.buffer("mean", [WIDTH], lambda: hlo.splat(0, [WIDTH], "f32"))
        fresh = hlo.divide(hlo.reduce(x, [0], "add"), hlo.splat(BATCH, [WIDTH], "f32"))
        half = hlo.splat(0.5, [WIDTH], "f32")
        stage.update_buffer("mean", hlo.add(hlo.multiply(mean, half), hlo.multiply(fresh, half)))
        stage.metric("weighted", value, weight)
        stage.metric("largest", hlo.reduce(y, [0], "maximum"), reduce="max")
        beta = stage.schedule("beta")
        results.append(hlo.multiply(value, beta))


def evaluate(stage: Stage, rows: int, name: str) -> None:
    with stage.function(name, "evaluate", field_types(rows)) as ((x, y, _), results):
        value = loss(stage, x, y, False)
        stage.metric("twice", hlo.multiply(value, hlo.splat(2, [], "f32")), reduce="sum")
        results.append(value)


def learning_rate(stage: Stage) -> None:
    """0.1 · (1 − progress)."""
    types = [ir.IntegerType.get_signless(64) if t == "i64" else ir.F64Type.get() for _, t in CTX]
    with stage.function("ctx.lr", "ctx", types) as (arguments, results):
        progress = arguments[2]

        def number(value: float) -> ir.Value:
            return hlo.make("arith.constant", [ir.F64Type.get()], [],
                            {"value": ir.FloatAttr.get(ir.F64Type.get(), value)}).result

        rest = hlo.make("arith.subf", [ir.F64Type.get()], [number(1.0), progress]).result
        results.append(hlo.make("arith.mulf", [ir.F64Type.get()], [number(0.1), rest]).result)


def stage_sample() -> Stage:
    """The staged module, open for more; its manifest is complete but for what passes learn."""
    stage = Stage()
    with stage:
        train(stage)
        evaluate(stage, BATCH, "evaluate.val")
        evaluate(stage, 1, "evaluate.val.row")
        stage.finish_inits()
        stage.adamw([("w", [WIDTH]), ("block.0.b", [])])
        learning_rate(stage)
        stage.manifest(
            kind="sexpgpu.artifact", schema=1, name="sample",
            source={"file": "sample.sexp", "sha256": "0" * 64, "base": "."},
            versions={"sexpgpu": "0.1.0", "iree": "3.13.0"},
            loader=loader(), fields=fields(BATCH),
            schedules=[{"name": "lr", "export": None, "constant": None},
                       {"name": "beta", "export": None, "constant": 1.0}],
            ctx=[{"key": k, "type": t} for k, t in CTX], stages=["main"], curriculum=None,
            evaluations=[{"name": "val", "every": 10, "batches": None, "at_start": False, "at_end": True,
                          "loader": loader(), "fields": fields(BATCH), "export": "", "row_export": None,
                          "metrics": [], "size": 0}],
            run={"steps": 50}, cost={"flops": 0, "bytes": 0})
    return stage


def build_sample(path: Path | str, target: str = "cpu") -> None:
    """Writes the sample's artifact."""
    build(stage_sample().module, target, path)


if __name__ == "__main__":
    build_sample(sys.argv[1], *sys.argv[2:3])
