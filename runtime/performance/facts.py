"""What a run says about speed and memory, in `status.json` and `summary.json` under `performance`.

    flops_per_step     of forward and backward over all microbatches, as the compiler counted them; the optimizer's are
                       not in it
    flops_per_s        flops_per_step over the mean time of a step, waits and the runtime's own time included
    matmul_peak        FLOP/s of the best square product (`runtime/performance/peak.py`)
    matmul_share       flops_per_s / matmul_peak
    host_bytes, host_peak_bytes      resident memory of the process, now and at its most
    device_bytes, device_peak_bytes  what the device's allocator counts, on devices with memory of their own

Absent is what is not known.
"""

from __future__ import annotations

import os
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

from sexpgpu.runtime.dataio.spec import Json
from sexpgpu.runtime.performance.peak import measure
from sexpgpu.runtime.session import Session
from sexpgpu.runtime.train.speed import Speed


@dataclass(frozen=True, slots=True)
class Performance:
    """`peak` is the measured matmul peak in FLOP/s, `before` the device's most memory so far: that of the measuring."""

    session: Session
    microbatches: int
    peak: float | None
    before: int = 0

    @staticmethod
    def of(session: Session, microbatches: int) -> Performance:
        """Measures the peak. Before `init`: the matrices are gone when the state comes."""
        peak = measure(session)
        return Performance(session, microbatches, peak, session.device.bytes_at_peak() or 0)

    def facts(self, speed: Speed) -> dict[str, Json]:
        found: dict[str, Json] = {}
        flops = self.session.manifest.cost.flops * self.microbatches
        if flops:
            found["flops_per_step"] = flops
        if flops and speed.seconds > 0:
            found["flops_per_s"] = round(flops * speed.steps / speed.seconds)
        if self.peak is not None:
            found["matmul_peak"] = round(self.peak)
            rate = found.get("flops_per_s")
            if isinstance(rate, int):
                found["matmul_share"] = round(rate / self.peak, 6)
        found.update(host_memory())
        device = self.session.device
        now, peak = device.bytes_in_use(), device.bytes_at_peak()
        if now and not device.local:   # a local device's memory is the host's
            found["device_bytes"] = now
        if peak and peak > self.before and not device.local:
            found["device_peak_bytes"] = peak
        return found


def host_memory() -> dict[str, Json]:
    """Resident bytes of this process, now (on Linux) and at its most."""
    unit = 1 if sys.platform == "darwin" else 1024   # getrusage counts KiB on Linux
    found: dict[str, Json] = {"host_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit}
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return found
    return {"host_bytes": pages * os.sysconf("SC_PAGE_SIZE"), **found}
