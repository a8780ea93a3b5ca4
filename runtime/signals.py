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

SIGNALS = (signal.SIGINT, signal.SIGTERM)

_NOTICE = b"\nfinishing the step, then saving; once more stops at once\n"
_SHOW_CURSOR = b"\x1b[?25h\n"


class StopFlag:
    """`requested` is what loops look at. As a context manager, from the main thread, it listens to the signals and
    puts back at its end what was there before; in any other thread it hears nothing."""

    def __init__(self) -> None:
        self.requested = False
        self._before: list[tuple[int, object]] = []
        self._pipe: tuple[int, int] | None = None

    def __enter__(self) -> StopFlag:
        if threading.current_thread() is threading.main_thread():
            reader, writer = self._pipe = os.pipe()
            os.set_blocking(writer, False)
            self._before = [(number, signal.signal(number, _nothing)) for number in SIGNALS]
            signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
            threading.Thread(target=self._wait, args=(reader,), name="signals", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._pipe is not None:
            signal.set_wakeup_fd(-1)
            for number, handler in self._before:
                signal.signal(number, handler)  # type: ignore[arg-type]
            os.close(self._pipe[1])  # the thread reads the end of the pipe, and ends
            self._pipe = None

    def _wait(self, reader: int) -> None:
        while numbers := os.read(reader, 64):
            for number in numbers:
                if number in SIGNALS:
                    self._hear()
        os.close(reader)

    def _hear(self) -> None:
        if self.requested:
            if sys.stderr.isatty():
                os.write(2, _SHOW_CURSOR)  # a progress bar may have hidden it
            os._exit(INTERRUPTED)
        self.requested = True
        os.write(2, _NOTICE)


def _nothing(number: int, frame: FrameType | None) -> None:
    """There has to be a Python handler for the byte to be written."""
