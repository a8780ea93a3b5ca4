"""What happens when sexpc itself fails: a bundle with all that reproduces it, and one calm diagnostic."""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import traceback
import zipfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from sexpgpu.diagnostics.diagnostic import Diagnostic, Fix
from sexpgpu.diagnostics.span import SourceMap

_PACKAGES = ("sexpgpu", "iree-base-compiler", "iree-base-runtime", "numpy")


def internal_error(error: BaseException, words: Sequence[str], sources: SourceMap) -> Diagnostic:
    """Saves the bundle and gives the diagnostic that names it."""
    versions = _versions()
    shown = ", ".join(f"{name} {number}" for name, number in versions.items())
    summary = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
    try:
        bundle = f"a bundle that reproduces it is in {_save(error, words, sources, versions)}"
    except OSError as problem:
        bundle = f"no bundle could be saved: {problem.strerror}"
    return Diagnostic("E-ICE-004", "an internal error of sexpc", notes=(summary, f"versions: {shown}", bundle),
                      fix=Fix("this is a bug in sexpgpu, not in the experiment; report it with the bundle"))


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _save(error: BaseException, words: Sequence[str], sources: SourceMap, versions: dict[str, str]) -> str:
    """One zip file: the traceback, the command line, the versions, the sources that were read."""
    descriptor, path = tempfile.mkstemp(prefix="sexpgpu-ice-", suffix=".zip")
    facts = {"command": ["sexpc", *words], "folder": os.getcwd(), "versions": versions, "platform": platform.platform(),
             "python": sys.version}
    with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("traceback.txt", "".join(traceback.format_exception(error)))
        bundle.writestr("command.json", json.dumps(facts, indent=1))
        for source in sources:
            bundle.writestr("sources/" + source.name.strip("/").replace("..", "up"), source.text)
    return path
