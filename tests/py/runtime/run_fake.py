"""`sexpgpu-run` on made-up data, as a process. What the environment can ask for:

    FAKE_DELAY=S        seconds that every batch takes
    FAKE_KILL_AT=N      SIGKILL to itself before the N-th batch of the process, training and passes counted together
    FAKE_SIGNAL_AT=N    SIGINT to itself there
"""

from __future__ import annotations

import os
import signal
import sys
import time

from fake_loader import FakeBatch, FakeLoader
from sexpgpu.cli.run import main

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


sys.exit(main(sys.argv[1:], Unruly))
