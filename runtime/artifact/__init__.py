"""The artifact: its manifest, its seal, and reading one from a file nobody vouches for."""

from sexpgpu.runtime.artifact.codec import CodecError
from sexpgpu.runtime.artifact.manifest import (
    KIND,
    REFLECTION_KEY,
    SCHEMA,
    Cost,
    Counter,
    CtxKey,
    Evaluation,
    Export,
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
)
from sexpgpu.runtime.artifact.read import Artifact, read_artifact, read_manifest
from sexpgpu.runtime.artifact.seal import seal, seal_bytes

__all__ = [
    "KIND", "REFLECTION_KEY", "SCHEMA",
    "Artifact", "CodecError", "Cost", "Counter", "CtxKey", "Evaluation", "Export", "Field", "Manifest", "Metric",
    "MetricTable", "Parameter", "Schedule", "Source", "StateTensor", "Target", "Versions",
    "read_artifact", "read_manifest", "seal", "seal_bytes",
]
