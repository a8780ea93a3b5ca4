"""The same training step by each contender, each in a process of its own that works only when it is asked to.

`serve` is the whole protocol: a line on standard input, a line of JSON on standard output. A contender is a function
that takes one batch and gives the loss before its update; of `serve_operations`, one for each operation.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

Batch = Mapping[str, np.ndarray]
Step = Callable[[Batch], float]


def serve(step: Step, data: Sequence[Batch]) -> None:
    """`losses N`: N steps, their losses. `time N`: one step unmeasured, then N: seconds each, page faults a step.
    `peak`: the most MiB that were resident so far, beyond what was before the first step."""
    print(json.dumps({"ready": True}), flush=True)
    at, before = 0, peak()

    def once() -> float:
        nonlocal at
        at += 1
        return step(data[at % len(data)])

    for line in sys.stdin:
        word, _, number = line.strip().partition(" ")
        if word == "losses":
            print(json.dumps([once() for _ in range(int(number))]), flush=True)
        elif word == "time":
            once()
            faults, seconds = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, []
            for _ in range(int(number)):
                begun = time.perf_counter()
                once()
                seconds.append(time.perf_counter() - begun)
            faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
            print(json.dumps({"seconds": seconds, "faults": faults / len(seconds)}), flush=True)
        elif word == "peak":
            print(json.dumps(peak() - before), flush=True)


def peak() -> float:
    """MiB of resident memory at most so far. (`ru_maxrss` begins with that of the process that started this one.)"""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def serve_operations(prepared: Mapping[str, tuple[Callable[[], object], Callable[[], np.ndarray]]]) -> None:
    """`time NAME N`: NAME once unmeasured, then N times: seconds each. `last NAME`: some numbers of its last result."""
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "last":
            flat = prepared[rest][1]().ravel()
            sums = [float(x.sum(dtype=np.float64)) for x in (flat, np.abs(flat))]
            print(json.dumps(sums), flush=True)
        elif word == "time":
            name, _, number = rest.rpartition(" ")
            once, seconds = prepared[name][0], []
            once()
            for _ in range(int(number)):
                begun = time.perf_counter()
                once()
                seconds.append(time.perf_counter() - begun)
            print(json.dumps({"seconds": seconds, "faults": 0}), flush=True)
