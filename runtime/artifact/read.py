"""From a path to a verified artifact: bytes, manifest, or one coded error.

Order matters: the seal is checked before IREE sees a byte, the manifest before anything is run. `read_manifest` opens
no device, so it is quick enough for `inspect`.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError, did_you_mean
from sexpgpu.runtime.artifact.codec import CodecError
from sexpgpu.runtime.artifact.manifest import REFLECTION_KEY, LaterSchema, Manifest
from sexpgpu.runtime.artifact.seal import Damage, check

if TYPE_CHECKING:
    from iree.runtime import VmInstance, VmModule

_REBUILD = "build it again with `sexpc build`"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A module that was verified and loaded, not yet on a device. `path` is as the user gave it."""

    path: str
    manifest: Manifest
    instance: VmInstance
    module: VmModule


def read_manifest(path: str | Path) -> Manifest:
    """The manifest of the artifact at `path`. Raises `SexpError` with an `E-ARTIFACT` code."""
    return read_artifact(path).manifest


def read_artifact(path: str | Path) -> Artifact:
    """Reads, verifies and loads. Raises `SexpError` with an `E-ARTIFACT` code, whatever the bytes are."""
    name = str(path)
    data = _read(name)
    _check_seal(name, data)

    import iree.runtime as iree

    instance = iree.VmInstance()
    try:
        module = iree.VmModule.copy_buffer(instance, data)
    except (RuntimeError, ValueError) as error:
        _fail("008", f"`{name}` is not loaded by IREE", notes=(_first_line(error),), fix=_REBUILD)
    init = module.lookup_function("init")
    text = init.reflection.get(REFLECTION_KEY) if init is not None else None
    if text is None:
        _fail("004", f"`{name}` is an IREE module without a manifest", fix=_REBUILD)
    manifest = _manifest(name, text)
    _check_exports(name, manifest, set(module.function_names))
    return Artifact(name, manifest, instance, module)


def _read(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        near = _near(Path(name))
        fix = f"did you mean `{near}`?" if near else "name a `.vmfb` file that `sexpc build` wrote"
        _fail("001", f"`{name}` cannot be read: {reason}", fix=fix)
    except ValueError:  # a name with a zero byte
        _fail("001", f"`{name!r}` is no file name")


def _near(path: Path) -> Path | None:
    """An artifact that `path` may have meant: beside it of a name like it, or an experiment's; in a folder the
    only one."""
    try:
        beside = sorted(p.name for p in (path if path.is_dir() else path.parent).iterdir() if p.suffix == ".vmfb")
    except OSError:
        return None
    if path.is_dir():
        return path / beside[0] if len(beside) == 1 else None
    near = did_you_mean(path.name, beside) if path.suffix == ".vmfb" else path.with_suffix(".vmfb").name
    return path.with_name(near) if near in beside else None


def _check_seal(name: str, data: bytes) -> None:
    match check(data):
        case None:
            return
        case Damage.EMPTY:
            _fail("002", f"`{name}` is empty", fix=_REBUILD)
        case Damage.NOT_VMFB:
            source = name.endswith(".sexp")
            _fail("002", f"`{name}` is {'an experiment, not a' if source else 'no'} compiled artifact",
                  fix=f"build it first: `sexpc build {name}`" if source else "name a `.vmfb` that `sexpc build` wrote")
        case Damage.NO_SEAL:
            # A whole ZIP without our name in it comes from elsewhere; anything else lost its end.
            if REFLECTION_KEY.encode() not in data and _whole_zip(data):
                _fail("004", f"`{name}` is an IREE module that `sexpc build` did not write", fix=_REBUILD)
            _fail("003", f"`{name}` is cut short", fix=_REBUILD,
                  notes=(f"{len(data)} bytes, and no seal at their end",))
        case Damage.LENGTH | Damage.HASH:
            _fail("003", f"`{name}` is damaged",
                  notes=("the seal at its end does not fit the bytes before it",), fix=_REBUILD)


def _whole_zip(data: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.testzip() is None
    except Exception:  # zipfile raises many kinds on hostile bytes, and each means the same here
        return False


def _manifest(name: str, text: str) -> Manifest:
    try:
        manifest = Manifest.from_json(json.loads(text))
    except LaterSchema as error:
        _fail("005", f"`{name}` has a manifest of schema {error.schema}", notes=(error.problem,),
              fix="install the version of sexpgpu that built it, or build it again with this one")
    except (CodecError, ValueError, RecursionError) as error:
        _fail("007", f"the manifest of `{name}` cannot be understood", notes=(str(error),), fix=_REBUILD)
    here = iree_version()
    if manifest.versions.iree != here:
        _fail("006", f"`{name}` was compiled with IREE {manifest.versions.iree}, and IREE {here} is installed",
              fix=f"{_REBUILD}, or install iree-base-runtime=={manifest.versions.iree}")
    return manifest


def iree_version() -> str:
    """The version of the installed `iree-base-runtime`."""
    from importlib.metadata import version
    return version("iree-base-runtime")


def _check_exports(name: str, manifest: Manifest, exports: set[str]) -> None:
    wanted = ["init", "microbatch", "update", "state_get", "state_set"]
    wanted += [e.export for e in manifest.evaluations]
    wanted += [e.row_export for e in manifest.evaluations if e.row_export is not None]
    wanted += [s.export for s in manifest.schedules if s.export is not None]
    wanted += [e.export for e in manifest.exports]
    if manifest.peak is not None:
        wanted.append(manifest.peak.export)
    if manifest.curriculum is not None:
        wanted.append(manifest.curriculum)
    missing = [w for w in wanted if w not in exports]
    if missing:
        _fail("007", f"`{name}` lacks {', '.join(f'`{m}`' for m in missing)}", fix=_REBUILD)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _fail(number: str, message: str, notes: tuple[str, ...] = (), fix: str | None = None) -> NoReturn:
    raise SexpError(Diagnostic(f"E-ARTIFACT-{number}", message, notes=notes, fix=Fix(fix) if fix else None))
