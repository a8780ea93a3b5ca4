"""What the linker and other tools of the code generator print goes to the bundle, not to the user's terminal.

They are child processes that inherit file descriptor 2, so it is the descriptor that is turned aside.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def captured_console() -> Iterator[list[str]]:
    """The list holds the lines printed to standard error once the block is left."""
    lines: list[str] = []
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            lines.extend(file.read().decode("utf-8", "replace").splitlines())
