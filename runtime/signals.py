"""SIGINT and SIGTERM: the first asks every loop to finish and save, the second ends the process at once.

Python runs signal handlers between bytecodes, so a handler would wait for a device call that takes minutes. The
interpreter's C handler writes a byte into a pipe instead, and a thread waits at its other end.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

INTERRUPTED = 130
"""The exit status after either signal, saved or not."""

_NOTICE = b"\nfinishing the step, then saving; once more stops at once\n"
_SHOW_CURSOR = b"\x1b[?25h\n"


class StopFlag:
    """`requested` is what loops look at. `install` must be called from the main thread."""

    def __init__(self) -> None:
        self.requested = False

    def install(self) -> None:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _nothing)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(target=self._wait, args=(reader,), name="signals", daemon=True).start()

    def _wait(self, reader: int) -> None:
        while True:
            for number in os.read(reader, 64):
                if number not in (signal.SIGINT, signal.SIGTERM):
                    continue
                if self.requested:
                    if sys.stderr.isatty():
                        os.write(2, _SHOW_CURSOR)  # a progress bar may have hidden it
                    os._exit(INTERRUPTED)
                self.requested = True
                os.write(2, _NOTICE)


def _nothing(number: int, frame: FrameType | None) -> None:
    """There has to be a Python handler for the byte to be written."""
