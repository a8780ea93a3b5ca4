"""Imports the native part, after the Arrow libraries that it is linked to.

pyarrow's wheel carries the libraries, one major version a SONAME: importing it first loads them, and a wheel of
another major would fail in the dynamic linker with a message that helps nobody.
"""

from __future__ import annotations

import pyarrow

ARROW_MAJOR = 26


def _checked() -> None:
    found = pyarrow.__version__
    if int(found.split(".")[0]) != ARROW_MAJOR:
        raise ImportError(
            f"sexpgpu's data loader was built for pyarrow {ARROW_MAJOR}, and pyarrow {found} is installed; "
            f"run: pip install 'pyarrow=={ARROW_MAJOR}.0.*'"
        )


_checked()

from sexpgpu.runtime.dataio import _native  # noqa: E402

if _native.ARROW_MAJOR != ARROW_MAJOR:
    raise ImportError(
        f"sexpgpu's data loader was compiled against pyarrow {_native.ARROW_MAJOR} and wants {ARROW_MAJOR}; "
        "build it again: pip install --force-reinstall --no-deps sexpgpu"
    )

Core = _native.Core
Fetch = _native.Fetch
FetchQueue = _native.FetchQueue
Lease = _native.Lease
StopFlag = _native.StopFlag
open_core = _native.open_core
peek = _native.peek
survey = _native.survey

__all__ = ["ARROW_MAJOR", "Core", "Fetch", "FetchQueue", "Lease", "StopFlag", "open_core", "peek", "survey"]
