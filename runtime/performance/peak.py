"""The matmul peak of a device: the best of a few square products, timed before the run begins.

The product is an export of the artifact (`compiler/passes/peak.py`), so it is in the dtype that the model computes in,
compiled as the model was, on the device and the threads of the run.
"""

from __future__ import annotations

import time

import numpy as np
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.artifact.manifest import Field
from sexpgpu.runtime.infer.arrays import fit
from sexpgpu.runtime.session import Session

CALLS = 4
ENOUGH = 0.15
"""Seconds: no further call begins after them."""


def measure(session: Session) -> float | None:
    """Floating-point operations a second; None where the artifact has no such product, or the device no room for it."""
    peak = session.manifest.peak
    if peak is None:
        return None
    n = peak.size
    numbers = np.random.default_rng(0).normal(size=(n, n)).astype(np.float32)
    matrix = fit(Field("matrix", peak.dtype, (n, n)), numbers)
    try:
        argument = session.device.copy(matrix, peak.dtype)
        begun, best = time.perf_counter(), float("inf")
        for _ in range(1 + CALLS):   # the first one loads code and wakes threads; on a slow device it is the only one
            start = time.perf_counter()
            session.call(peak.export, [argument, argument])
            end = time.perf_counter()
            best = min(best, end - start)
            if end - begun > ENOUGH:
                break
    except SexpError:
        return None
    return 2 * n**3 / max(best, 1e-9)
