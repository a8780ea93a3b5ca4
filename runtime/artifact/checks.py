"""What the types of a manifest cannot say: closed sets, sizes, and offsets that stay inside their vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sexpgpu.runtime.artifact.codec import CodecError
from sexpgpu.runtime.dtypes import DTYPES

if TYPE_CHECKING:
    from sexpgpu.runtime.artifact.manifest import Manifest

REDUCTIONS = ("mean", "sum", "max", "min", "last")
STRUCTURES = ("tensor", "list", "plist")
ROLES = ("parameter", "buffer", "optimizer")


def check(m: Manifest) -> None:
    """Raises `CodecError`."""
    for place, group in (("fields", m.fields), ("parameters", m.parameters), ("state", m.state),
                         *((f"evaluations[{i}].fields", e.fields) for i, e in enumerate(m.evaluations)),
                         *((f"exports[{i}].inputs", e.inputs) for i, e in enumerate(m.exports)),
                         *((f"exports[{i}].outputs", e.outputs) for i, e in enumerate(m.exports))):
        for i, tensor in enumerate(group):
            if tensor.dtype not in DTYPES:
                raise CodecError(f"{place}[{i}].dtype", f"`{tensor.dtype}` is no dtype")
            if any(n < 1 for n in tensor.shape):
                raise CodecError(f"{place}[{i}].shape", "every dimension is positive")
    for i, tensor in enumerate(m.state):
        if tensor.role not in ROLES:
            raise CodecError(f"state[{i}].role", f"`{tensor.role}` is none of {', '.join(ROLES)}")
    for place, metrics, size in (("metrics.train", m.metrics.train, m.metrics.size),
                                 *((f"evaluations[{i}].metrics", e.metrics, e.size)
                                   for i, e in enumerate(m.evaluations))):
        for i, metric in enumerate(metrics):
            if metric.reduce not in REDUCTIONS:
                raise CodecError(f"{place}[{i}].reduce", f"`{metric.reduce}` is none of {', '.join(REDUCTIONS)}")
            if not 0 <= metric.offset <= size - metric.width:
                raise CodecError(f"{place}[{i}].offset", f"{metric.offset} lies outside a vector of {size}")
        if not metrics or metrics[0].name != "loss" or metrics[0].reduce != "mean":
            raise CodecError(place, "the first entry is the loss, a mean")
    for i, schedule in enumerate(m.schedules):
        if (schedule.export is None) == (schedule.constant is None):
            raise CodecError(f"schedules[{i}]", "it has an export or a constant")
    for i, export in enumerate(m.exports):
        if export.structure not in STRUCTURES:
            raise CodecError(f"exports[{i}].structure", f"`{export.structure}` is none of {', '.join(STRUCTURES)}")
        if not export.outputs or (export.structure == "tensor" and len(export.outputs) != 1):
            raise CodecError(f"exports[{i}].outputs", "a tensor is one, anything else at least one")
    if m.peak is not None and (not 1 <= m.peak.size <= 1 << 15 or m.peak.dtype not in DTYPES):
        raise CodecError("peak", "no square matrix of a dtype")
    if not m.stages:
        raise CodecError("stages", "there is at least one")
    if len(m.stages) > 1 and m.curriculum is None:
        raise CodecError("curriculum", "several stages need one")
