"""What a run was made of, for `manifest.json`: the artifact's hash, versions, the host, revisions of the data."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import socket
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.artifact.manifest import Manifest
from sexpgpu.runtime.dataio.located import SourceFile
from sexpgpu.runtime.dataio.sources import stage_sources
from sexpgpu.runtime.dataio.spec import Json, LoaderSpec, StageSpec

PACKAGES = ("sexpgpu", "iree-base-runtime", "numpy", "pyarrow")


def provenance(artifact: str, manifest: Manifest, device: str, data_root: str | None) -> dict[str, Json]:
    """Facts that can be had without reading any data."""
    return {
        "artifact_sha256": _hash_of(Path(artifact)),
        "versions": {**{name: _version(name) for name in PACKAGES}, "python": platform.python_version(),
                     "built_with": {"sexpgpu": manifest.versions.sexpgpu, "iree": manifest.versions.iree}},
        "host": {"name": socket.gethostname(), "system": platform.platform(), "machine": platform.machine(),
                 "cpus": os.cpu_count(), "device": device, "pid": os.getpid(),
                 "job": os.environ.get("SLURM_JOB_ID")},
        "data": {"train-loader": _stages(manifest.loader, data_root),
                 **{f"evaluation {e.name}": _stages(e.loader, data_root) for e in manifest.evaluations}},
    }


def _hash_of(path: Path) -> str | None:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None   # it was there when it was loaded


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _stages(spec: LoaderSpec, data_root: str | None) -> dict[str, Json]:
    return {stage.name: _revision(stage, spec.base if data_root is None else data_root) for stage in spec.stages}


def _revision(stage: StageSpec, base: str) -> Json:
    """The number of files, their bytes where known, and a hash of names, sizes and versions: another revision means
    that something else is read. None where the files cannot be listed, which their loader says louder."""
    try:
        sources = stage_sources(stage, base)
    except (SexpError, OSError):
        return None
    rows = [[source.weight, [_version_of(file) for file in source.files]] for source in sources]
    sizes = [size for _, files in rows for _, size, _ in files]
    return {"files": len(sizes), "bytes": None if None in sizes else sum(sizes),
            "revision": hashlib.sha256(json.dumps(rows).encode()).hexdigest()}


def _version_of(file: SourceFile) -> tuple[str, int | None, str]:
    """Name, bytes and version: what a manifest lists, else what the file system tells at once."""
    if file.bytes >= 0:
        return file.name, file.bytes, file.version
    try:
        found = os.stat(file.path)
    except (OSError, ValueError):   # in S3, or gone
        return file.name, None, ""
    return file.name, found.st_size, str(found.st_mtime_ns)
