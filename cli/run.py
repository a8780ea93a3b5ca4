"""`sexpgpu-run`: an artifact, options, an exit status. Everything heavy is imported after the options are right."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sexpgpu.runtime.allocator import start_over

if TYPE_CHECKING:
    from sexpgpu.diagnostics import Diagnostic
    from sexpgpu.runtime.train.feed import OpenLoader


def main(words: Sequence[str] | None = None, open_loader: OpenLoader | None = None) -> int:
    """The entry point. With `words` given (tests, other programs) the process is not replaced."""
    begun = time.time()
    if words is None:
        start_over()
        words = sys.argv[1:]
    from sexpgpu.diagnostics import SexpError
    try:
        return _main(list(words), open_loader, begun)
    except SexpError as error:
        for diagnostic in error.diagnostics:
            _show(diagnostic)
        return error.diagnostics[0].exit_code


def _main(words: list[str], open_loader: OpenLoader | None, begun: float) -> int:
    from sexpgpu.runtime.flags import help_text, parse

    line = parse(words)
    if line.help:
        print(help_text())
        return 0
    if line.version:
        from importlib.metadata import version
        print(f"sexpgpu-run {version('sexpgpu')}")
        return 0
    from sexpgpu.runtime.train.execute import execute

    if open_loader is None:
        from sexpgpu.runtime.dataio import Loader
        open_loader = Loader
    return execute(line, ["sexpgpu-run", *words], open_loader, begun)


def _show(diagnostic: Diagnostic) -> None:
    lines = [f"error[{diagnostic.code}]: {diagnostic.message}"]
    lines += [f"  note: {note}" for note in diagnostic.notes]
    if diagnostic.fix is not None:
        lines.append(f"  fix: {diagnostic.fix.text}")
    sys.stderr.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
