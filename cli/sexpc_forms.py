"""`sexpc build --emit forms`: the experiment as the reader understood it, without comments, quotes written out."""

from __future__ import annotations

from pathlib import Path

from sexpgpu.diagnostics.diagnostic import Diagnostic
from sexpgpu.diagnostics.emit import emit, exit_status
from sexpgpu.diagnostics.span import SourceMap


def print_forms(path: Path, sources: SourceMap) -> int:
    from sexpgpu.compiler.frontend.printer import shown
    from sexpgpu.compiler.frontend.reader import read
    from sexpgpu.compiler.frontend.reader_files import load_source

    found: list[Diagnostic] = []
    data = read(load_source(path, str(path), sources), found.append)
    if found:
        emit(found, sources)
        return exit_status(found)
    print("\n\n".join(shown(datum) for datum in data))
    return 0
