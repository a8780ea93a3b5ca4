"""`sexpgpu-run report`: `report.html` of a run folder, whatever state the run is in."""

from __future__ import annotations

from pathlib import Path

from sexpgpu.cli.words import Arguments
from sexpgpu.diagnostics import Diagnostic, SexpError


def run(arguments: Arguments) -> int:
    from sexpgpu.runtime.look.report import write_report
    from sexpgpu.runtime.look.run import open_run

    found = open_run(arguments.operands[0])
    output = arguments.last("output")
    to = None if output is None else Path(output)
    try:
        print(write_report(found, to))
    except OSError as error:
        raise SexpError(Diagnostic("E-RUN-006", f"`{to or found.path}` cannot be written: "
                                   f"{(error.strerror or str(error)).lower()}")) from error
    return 0
