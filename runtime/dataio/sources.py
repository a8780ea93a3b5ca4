"""From a loader's spec and a stage's name to the files to read, in reading order."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from sexpgpu.diagnostics import one_of
from sexpgpu.runtime.dataio.faults import error
from sexpgpu.runtime.dataio.spec import FilesSource, LoaderSpec, ManifestSource, StageSpec

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """`name` is the path as it is written in the experiment, `path` where it lies, `encoding` how its bytes read."""

    name: str
    path: str
    encoding: str


def stage_named(spec: LoaderSpec, name: str) -> StageSpec:
    """The stage of that name, or E-DATA-012."""
    for stage in spec.stages:
        if stage.name == name:
            return stage
    raise error("E-DATA-012", f"the loader has no stage `{name}`",
                fix="there is " + one_of(name, [s.name for s in spec.stages]))


def source_files(stage: StageSpec, base: str) -> list[SourceFile]:
    """All files of the stage; relative paths resolve against `base`."""
    files: list[SourceFile] = []
    for source in stage.sources:
        match source:
            case FilesSource(paths, encoding):
                files += [SourceFile(p, _local(p, base), encoding) for p in paths]
            case ManifestSource(uri):
                raise error("E-DATA-011", f"the stage `{stage.name}` reads the manifest `{uri}`, and no reader here "
                                          "takes manifests", fix="list the files with `(files [...])`")
    if not files:
        raise error("E-DATA-008", f"the stage `{stage.name}` lists no files")
    return files


def _local(path: str, base: str) -> str:
    scheme = _SCHEME.match(path)
    if scheme and scheme[1] != "file":
        raise error("E-STORE-009", f"`{path}` lies in a store of the kind `{scheme[1]}`, which no reader here reaches",
                    fix="copy the file to a local path")
    return os.path.join(base, path[len("file://"):] if scheme else path)
