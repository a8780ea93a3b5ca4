"""Kills a run at random moments until it has come to its end, or often enough.

    killing.py ARTIFACT OUT SEED MOST [flag …]

A parent that has imported everything, and started no thread, forks a child for each session, so that a kill costs
little and falls into a run rather than into its imports. Prints the number of kills and whether the end was reached.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import iree.runtime  # noqa: F401 (for the children)
import rich.console  # noqa: F401
import sexpgpu.runtime.train.execute  # noqa: F401
from sexpgpu.cli.run import main
from sexpgpu.runtime.dataio import Loader


def session(words: list[str]) -> int:
    """The pid of a child that goes on with the run; its output goes into a file beside the folder."""
    pid = os.fork()
    if pid:
        return pid
    status = 70
    try:
        log = os.open(words[2] + ".log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        status = main(words, Loader)
    finally:
        os._exit(status)


def run(artifact: str, out: str, seed: int, most: int, flags: list[str]) -> tuple[int, bool]:
    rng = random.Random(seed)
    words = [artifact, "--out", out, *flags]
    for kills in range(most):
        pid = session(words)
        # Once the run has its folder, or a little before.
        while not Path(out, "status.json").exists() and rng.random() < 0.98:
            if os.waitpid(pid, os.WNOHANG)[0]:
                raise SystemExit(f"a session ended by itself: {Path(out + '.log').read_text()[-2000:]}")
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.6))
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):
            if os.WEXITSTATUS(status) != 0:
                raise SystemExit(f"status {os.WEXITSTATUS(status)}: {Path(out + '.log').read_text()[-2000:]}")
            return kills, True
    return most, False


if __name__ == "__main__":
    artifact, out, seed, most, *flags = sys.argv[1:]
    print(*run(artifact, out, int(seed), int(most), flags))
