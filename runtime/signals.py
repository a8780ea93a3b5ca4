"""SIGINT, SIGTERM and SIGUSR1: each asks every loop to finish and save. A SIGINT after any of them ends the process at
once; the others may come as often as they like, since launchers send them twice and to whole groups.

Python runs signal handlers between bytecodes, so a handler would wait for a device call that takes minutes. The
interpreter's C handler writes a byte into a pipe instead, and a thread waits at its other end. The Python handler does
one thing: it ends a wait for data, which may take as long as a store hangs.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""The exit status after any of them, saved or not: the same command goes on."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)

_NOTICE = b"\nfinishing the step, then saving; Ctrl-C stops at once\n"
_SHOW_CURSOR = b"\x1b[?25h\n"


class Stopped(BaseException):
    """A signal came while the main thread waited for data. Nothing that was done is lost but the step in hand."""


class StopFlag:
    """`requested` is what loops look at. As a context manager, from the main thread, it listens to the signals and
    puts back at its end what was there before; in any other thread it hears nothing. Where the process `ends` with it,
    a launcher's second signal is ignored from then on: it would turn a run that is saved into one that was killed."""

    def __init__(self, *, ends: bool = False) -> None:
        self.requested = False
        self._ends = ends
        self._waiting = False
        self._before: list[tuple[int, object]] = []
        self._pipe: tuple[int, int] | None = None

    def __enter__(self) -> StopFlag:
        if threading.current_thread() is threading.main_thread():
            reader, writer = self._pipe = os.pipe()
            os.set_blocking(writer, False)
            self._before = [(number, signal.signal(number, self._handle)) for number in SIGNALS]
            signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
            threading.Thread(target=self._wait, args=(reader,), name="signals", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._pipe is not None:
            signal.set_wakeup_fd(-1)
            for number, handler in self._before:
                ignored = self._ends and self.requested and number != signal.SIGINT
                signal.signal(number, signal.SIG_IGN if ignored else handler)  # type: ignore[arg-type]
            os.close(self._pipe[1])  # the thread reads the end of the pipe, and ends
            self._pipe = None

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Around a wait that a signal ends by raising `Stopped`, in the main thread; where one came before, at once."""
        try:
            self._waiting = True
            if self.requested:
                raise Stopped
            yield
        finally:
            self._waiting = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Runs in the main thread. There has to be a Python handler for the byte to be written, too."""
        if self._waiting:
            self._waiting = False
            raise Stopped

    def _wait(self, reader: int) -> None:
        while numbers := os.read(reader, 64):
            for number in numbers:
                if number in SIGNALS:
                    self._hear(number)
        os.close(reader)

    def _hear(self, number: int) -> None:
        if not self.requested:
            self.requested = True
            os.write(2, _NOTICE)
        elif number == signal.SIGINT:
            if sys.stderr.isatty():
                os.write(2, _SHOW_CURSOR)  # a progress bar may have hidden it
            os._exit(INTERRUPTED)
