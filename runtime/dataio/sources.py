"""From a loader's spec and a stage's name to the files to read, in reading order."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass

from sexpgpu.diagnostics import one_of
from sexpgpu.runtime.dataio.faults import error
from sexpgpu.runtime.dataio.spec import FilesSource, LoaderSpec, ManifestSource, StageSpec

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """`name` is the path as it is written in the experiment, `path` where it lies, `encoding` how its bytes read.

    `bytes` (-1: not known) and `blocks` (rows, bytes and offset of each) are what a manifest tells about it.
    """

    name: str
    path: str
    encoding: str
    bytes: int = -1
    blocks: tuple[tuple[int, int, int], ...] = ()


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
    found = [Source(tuple(_files(stage, source, base)) if source.weight != 0 else (), source.weight)
             for source in stage.sources]
    if not any(source.files for source in found):
        raise error("E-DATA-008", f"the stage `{stage.name}` lists no files")
    weighted = [source for source in found if source.weight is not None]
    if not weighted:
        return (Source(tuple(file for source in found for file in source.files), None),)
    if len(weighted) < len(found) or not any(source.weight for source in found):
        raise ValueError(f"the sources of the stage {stage.name!r} have weights, one above 0, or none has")
    if any(not math.isfinite(source.weight) or source.weight < 0 for source in weighted):
        raise ValueError(f"the weights of the stage {stage.name!r} are finite numbers from 0 on")
    read = [source for source in found if source.weight]
    for source in read:
        if not source.files:
            raise error("E-DATA-008", f"a source of the stage `{stage.name}` lists no files")
    return tuple(read)


def _files(stage: StageSpec, source: FilesSource | ManifestSource, base: str) -> list[SourceFile]:
    match source:
        case FilesSource(paths, encoding):
            return [SourceFile(p, _local(p, base), encoding) for p in paths]
        case ManifestSource(uri):
            raise error("E-DATA-011", f"the stage `{stage.name}` reads the manifest `{uri}`, and no reader here "
                                      "takes manifests", fix="list the files with `(files [...])`")


def _local(path: str, base: str) -> str:
    scheme = _SCHEME.match(path)
    if scheme and scheme[1] != "file":
        raise error("E-STORE-009", f"`{path}` lies in a store of the kind `{scheme[1]}`, which no reader here reaches",
                    fix="copy the file to a local path")
    return os.path.join(base, path[len("file://"):] if scheme else path)
