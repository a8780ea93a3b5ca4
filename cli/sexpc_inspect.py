"""`sexpc inspect`: what an artifact says about itself, for people or as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sexpgpu.cli.words import Arguments
from sexpgpu.diagnostics.span import SourceMap

if TYPE_CHECKING:
    from sexpgpu.runtime.artifact.manifest import Evaluation, Export, Manifest, Parameter

#: More parameters than this are shown by their first and last ones.
_MOST_ROWS = 40


def run(arguments: Arguments, _: SourceMap) -> int:
    from sexpgpu.runtime.artifact.read import read_manifest

    assert arguments.operand is not None
    manifest = read_manifest(arguments.operand)
    if arguments.given("json"):
        print(json.dumps(manifest.to_json(), indent=1, ensure_ascii=False))
    else:
        print(describe(manifest))
    return 0


def describe(manifest: Manifest) -> str:
    m = manifest
    count = sum(math.prod(p.shape) for p in m.parameters)
    state = sum(tensor.bytes for tensor in m.state)
    rows = [
        f"{m.name}  (from {m.source.file}, sha256 {m.source.sha256[:12]})",
        f"target       {m.target.name}  ({m.target.detail})",
        f"built with   sexpgpu {m.versions.sexpgpu}, iree {m.versions.iree}, schema {m.schema}",
        f"parameters   {count:,} in {len(m.parameters)} tensors; state {_bytes(state)}",
    ]
    if m.cost.flops:
        rows.append(f"a step       {_scaled(m.cost.flops)}FLOP, {_bytes(m.cost.bytes)} touched")
    rows += _section("fields", [(f.name, f"{f.dtype}{_shape(f.shape)}") for f in m.fields])
    rows += _section("parameters", _middle_out([(p.name, _parameter(p)) for p in m.parameters]))
    rows += _section("counters", [(c.name, c.dtype) for c in m.counters])
    rows += _section("metrics", [(f"train/{x.name}", x.reduce) for x in m.metrics.train if not x.counter])
    rows += _section("schedules", [(s.name, "follows ctx" if s.export else f"{s.constant:g}") for s in m.schedules])
    rows += _section("evaluations", [(e.name, _evaluation(e)) for e in m.evaluations])
    rows += _section("exports", [(e.name, _export(e)) for e in m.exports])
    if len(m.stages) > 1:
        rows += _section("stages", [(stage, "") for stage in m.stages])
    rows += _section("run", [(name, str(value)) for name, value in m.run.items()])
    return "\n".join(rows)


def _section(title: str, pairs: Sequence[tuple[str, str]]) -> list[str]:
    if not pairs:
        return []
    left = max(len(name) for name, _ in pairs) + 3
    return ["", f"{title}:", *(f"  {name:<{left}}{text}".rstrip() for name, text in pairs)]


def _middle_out(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    if len(pairs) <= _MOST_ROWS:
        return pairs
    half = _MOST_ROWS // 2
    return [*pairs[:half], ("…", f"{len(pairs) - 2 * half} more; --json shows all"), *pairs[-half:]]


def _parameter(parameter: Parameter) -> str:
    marks = ([] if parameter.trainable else ["frozen"]) + ([] if parameter.decay else ["no decay"])
    return f"{parameter.dtype}{_shape(parameter.shape)}" + (f"  ({', '.join(marks)})" if marks else "")


def _evaluation(evaluation: Evaluation) -> str:
    when = [f"every {evaluation.every} steps"] if evaluation.every else []
    when += ["at start"] if evaluation.at_start else []
    when += ["at end"] if evaluation.at_end else []
    rows = f"{evaluation.batches} batches" if evaluation.batches else "the whole loader"
    names = ", ".join(metric.name for metric in evaluation.metrics)
    return f"{rows}, {', '.join(when)}: {names}" if when else f"{rows}: {names}"


def _export(export: Export) -> str:
    """`tokens i32[1 128] -> output f32[1 128 256]`."""
    sides = [", ".join(f"{f.name} {f.dtype}{_shape(f.shape)}" for f in side)
             for side in (export.inputs, export.outputs)]
    return " -> ".join(sides).strip()


def _shape(shape: Sequence[int]) -> str:
    return f"[{' '.join(map(str, shape))}]"


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def _scaled(count: int) -> str:
    for unit, size in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} "
