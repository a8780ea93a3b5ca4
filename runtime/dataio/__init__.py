"""The data loader: a C++20 core with its own threads, and its thin Python face.

`Loader` is imported on first use, so that `spec` — which the compiler reads too — needs neither Arrow nor the native
part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sexpgpu.runtime.dataio.spec import FieldSpec, FilesSource, LoaderSpec, ManifestSource, StageSpec

if TYPE_CHECKING:
    from sexpgpu.runtime.dataio.batch import Batch
    from sexpgpu.runtime.dataio.loader import Loader
    from sexpgpu.runtime.dataio.report import LoaderStats, Omission

_LAZY = {"Batch": "batch", "Loader": "loader", "LoaderStats": "report", "Omission": "report"}

__all__ = ["Batch", "FieldSpec", "FilesSource", "Loader", "LoaderSpec", "LoaderStats", "ManifestSource", "Omission",
           "StageSpec"]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
