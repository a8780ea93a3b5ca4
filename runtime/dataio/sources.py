"""From a loader's spec and a stage's name to the files to read, in reading order."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sexpgpu.diagnostics import one_of
from sexpgpu.runtime.dataio.faults import error
from sexpgpu.runtime.dataio.located import SourceFile, located
from sexpgpu.runtime.dataio.manifest.shards import manifest_files
from sexpgpu.runtime.dataio.spec import FilesSource, LoaderSpec, ManifestSource, StageSpec


@dataclass(frozen=True, slots=True)
class Source:
    """Files that follow each other. `weight` is the share in a mix, None where there is but one source."""

    files: tuple[SourceFile, ...]
    weight: float | None


def stage_named(spec: LoaderSpec, name: str) -> StageSpec:
    """The stage of that name, or E-DATA-012."""
    for stage in spec.stages:
        if stage.name == name:
            return stage
    raise error("E-DATA-012", f"the loader has no stage `{name}`",
                fix="there is " + one_of(name, [s.name for s in spec.stages]))


def stage_sources(stage: StageSpec, base: str) -> tuple[Source, ...]:
    """The sources of a stage that are read, in order; without weights all their files are one.

    Relative paths resolve against `base`. A source of weight 0 is never opened.
    """
    found = [Source(tuple(_files(source, base)) if source.weight != 0 else (), source.weight)
             for source in stage.sources]
    if not any(source.files for source in found):
        raise error("E-DATA-008", f"the stage `{stage.name}` lists no files")
    weighted = [source for source in found if source.weight is not None]
    if not weighted:
        return (Source(tuple(file for source in found for file in source.files), None),)
    if len(weighted) < len(found) or not any(source.weight for source in found):
        raise ValueError(f"the sources of the stage {stage.name!r} have weights, one above 0, or none has")
    if any(weight is not None and not 0 <= weight < math.inf for weight in (source.weight for source in weighted)):
        raise ValueError(f"the weights of the stage {stage.name!r} are finite numbers from 0 on")
    read = [source for source in found if source.weight]
    for source in read:
        if not source.files:
            raise error("E-DATA-008", f"a source of the stage `{stage.name}` lists no files")
    return tuple(read)


def _files(source: FilesSource | ManifestSource, base: str) -> list[SourceFile]:
    match source:
        case FilesSource(paths, encoding):
            return [SourceFile(p, located(p, base), encoding) for p in paths]
        case ManifestSource():
            return manifest_files(source, base)
