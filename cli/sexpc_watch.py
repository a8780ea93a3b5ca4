"""`sexpc check --watch`: checks, and checks again whenever one of the files is saved, until it is interrupted."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from sexpgpu.cli.words import Arguments
from sexpgpu.diagnostics.diagnostic import SexpError
from sexpgpu.diagnostics.emit import emit, exit_status
from sexpgpu.diagnostics.span import SourceMap

#: Seconds between two looks at the files.
INTERVAL = 0.1


def watch(arguments: Arguments, work: Callable[[SourceMap], int]) -> int:
    """Never returns by itself. `work` checks and shows; the files it names are watched, with those of the command
    line, which may be missing for a moment while an editor replaces them."""
    while True:
        sources = SourceMap()
        # Before the check: what is saved while it runs is checked again.
        stamps = _stamps(arguments.operands)
        try:
            status = work(sources)
        except SexpError as error:
            emit(error.diagnostics, sources, arguments.last("format", "text") or "text")
            status = exit_status(error.diagnostics)
        state = "clean" if status == 0 else "not clean"
        print(f"{time.strftime('%H:%M:%S')} {state}; watching, Ctrl-C ends", file=sys.stderr, flush=True)
        names = (*arguments.operands, *(file.name for file in sources if not file.name.startswith("<")))
        stamps = {**_stamps(names), **stamps}
        while _stamps(names) == stamps:
            time.sleep(INTERVAL)


def _stamps(names: tuple[str, ...]) -> dict[str, tuple[int, int] | None]:
    found: dict[str, tuple[int, int] | None] = {}
    for name in names:
        try:
            status = os.stat(name)
            found[name] = (status.st_mtime_ns, status.st_size)
        except OSError:
            found[name] = None
    return found
