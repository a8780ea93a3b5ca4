"""`sexpgpu-run` on made-up data, as a process. What the environment can ask for:

    FAKE_DELAY=S        seconds that every batch takes
    FAKE_KILL_AT=N      SIGKILL to itself before the N-th batch of the process, training and passes counted together
    FAKE_SIGNAL_AT=N    SIGINT to itself there
    FAKE_DEVICE=S       seconds that every call of the device takes besides, which no signal cuts short
    FAKE_DISK=S         seconds that every file of a checkpoint takes besides
    FAKE_FILE_LIMIT=N   no file may grow beyond N bytes (the disk is full, as a process sees it)
"""

from __future__ import annotations

import os
import signal
import sys
import time

from fake_loader import FakeBatch, FakeLoader
from sexpgpu.cli.run import main
from sexpgpu.runtime.checkpoint import store
from sexpgpu.runtime.session import Session

handed_out = 0


class Unruly(FakeLoader):
    def next(self) -> FakeBatch | None:
        global handed_out
        handed_out += 1
        if handed_out == int(os.environ.get("FAKE_KILL_AT", "0")):
            os.kill(os.getpid(), signal.SIGKILL)
        if handed_out == int(os.environ.get("FAKE_SIGNAL_AT", "0")):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)  # for the thread that listens
        time.sleep(float(os.environ.get("FAKE_DELAY", "0")))
        return super().next()


def slowed(function, seconds: float):
    def slow(*arguments, **named):
        time.sleep(seconds)
        return function(*arguments, **named)
    return slow


if "FAKE_DEVICE" in os.environ:
    seconds = float(os.environ["FAKE_DEVICE"])
    Session.microbatch = slowed(Session.microbatch, seconds)  # type: ignore[method-assign]
    Session.evaluate = slowed(Session.evaluate, seconds)  # type: ignore[method-assign]
if "FAKE_DISK" in os.environ:
    store.write = slowed(store.write, float(os.environ["FAKE_DISK"]))
if "FAKE_FILE_LIMIT" in os.environ:
    import resource
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(os.environ["FAKE_FILE_LIMIT"]),) * 2)
sys.exit(main(sys.argv[1:], Unruly, ends=True))
