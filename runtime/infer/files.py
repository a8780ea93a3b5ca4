"""Inputs from a file and outputs into one: `.npz` and `.json` by name, `.npy` for a single array.

JSON is an object of nested lists by name, or, where there is one input, a nested list alone. Nothing is unpickled.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sexpgpu.diagnostics import Diagnostic, Fix, SexpError
from sexpgpu.runtime.artifact.manifest import Export
from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.replace import replace_file

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

KINDS = (".npz", ".npy", ".json")
_KNOWN = Fix("files end in `.npz`, `.npy` or `.json`")


def read_inputs(path: str, export: Export) -> dict[str, ArrayLike]:
    """Raises E-RUN-034."""
    name = Path(path)
    try:
        match name.suffix:
            case ".npz":
                with np.load(name, allow_pickle=False) as archive:
                    return {key: archive[key] for key in archive.files}
            case ".npy":
                return {_only(path, [f.name for f in export.inputs], "input"): np.load(name, allow_pickle=False)}
            case ".json":
                data = json.loads(name.read_bytes())
                if isinstance(data, dict):
                    return data
                return {_only(path, [f.name for f in export.inputs], "input"): data}
    except OSError as error:
        raise SexpError(Diagnostic("E-RUN-034", f"`{path}` cannot be read: "
                                   f"{(error.strerror or str(error)).lower()}")) from error
    except (ValueError, EOFError, KeyError, RecursionError, zipfile.BadZipFile, MemoryError) as error:
        raise SexpError(Diagnostic("E-RUN-034", f"`{path}` is no whole {name.suffix[1:]} file of numbers",
                                   notes=((str(error).strip() or type(error).__name__).splitlines()[0],))) from error
    raise SexpError(Diagnostic("E-RUN-034", f"`{path}` is of no kind that is read", fix=_KNOWN))


def write_outputs(path: str | None, export: Export, outputs: Mapping[str, NDArray]) -> None:
    """Into a file, whole or not at all; with None as JSON on stdout. Raises E-RUN-034."""
    import io

    if path is None:
        print(_json(export, outputs))
        return
    buffer = io.BytesIO()
    match Path(path).suffix:
        case ".npz":
            # Not by keyword: an output may be called `file`.
            with zipfile.ZipFile(buffer, "w") as archive:
                for name, array in outputs.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                        np.lib.format.write_array(entry, array, allow_pickle=False)
        case ".npy":
            np.save(buffer, outputs[_only(path, list(outputs), "output")], allow_pickle=False)
        case ".json":
            buffer.write(_json(export, outputs).encode() + b"\n")
    try:
        replace_file(Path(path), buffer.getvalue())
    except OSError as error:
        raise SexpError(Diagnostic("E-RUN-034", f"`{path}` cannot be written: "
                                   f"{(error.strerror or str(error)).lower()}")) from error


def check_output(path: str | None, export: Export) -> None:
    """What can be said before anything is computed. Raises E-RUN-034."""
    if path is not None and Path(path).suffix not in KINDS:
        raise SexpError(Diagnostic("E-RUN-034", f"`{path}` is of no kind that is written", fix=_KNOWN))
    if path is not None and path.endswith(".npy"):
        _only(path, [f.name for f in export.outputs], "output")


def _only(path: str, names: list[str], what: str) -> str:
    if len(names) != 1:
        raise SexpError(Diagnostic("E-RUN-034", f"`{path}` holds one array, and the export has {len(names)} {what}s",
                                   fix=Fix("`.npz` and `.json` hold arrays by name")))
    return names[0]


def _json(export: Export, outputs: Mapping[str, NDArray]) -> str:
    """Numbers that are not finite are null: JSON has no word for them."""
    plain = {name: _finite(array.tolist()) for name, array in outputs.items()}
    return json.dumps(plain["output"] if export.structure == "tensor" else plain, ensure_ascii=False, allow_nan=False)


def _finite(value: Json) -> Json:
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
