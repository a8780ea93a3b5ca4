"""A run of any length needs the memory of its first steps, and `remat` needs less."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from commands import run

SOURCE = Path(__file__).with_name("memory.sexp")

#: Resident MiB after every tenth step of a session in a process of its own, and the peak.
STEPS = """
import json, resource, sys
import numpy as np
from sexpgpu.runtime.artifact.read import read_artifact
from sexpgpu.runtime.session import Device, Session, aligned

session = Session(read_artifact(sys.argv[1]), Device("local-task", 2))
session.init(0)
batch = {f.name: aligned(tuple(f.shape), np.dtype("float32")) for f in session.manifest.fields}
for values in batch.values():
    values[...] = 0.5
rates = [1e-4] * len(session.manifest.schedules)
resident = []
for step in range(100):
    for part in range(2):
        session.microbatch(batch, (0, step, part, 0), rates)
    session.update(rates, 2)
    if step % 10 == 9:
        resident.append(int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**20)
print(json.dumps([resident, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10]))
"""


def resident(artifact: Path) -> tuple[list[float], float]:
    done = subprocess.run([sys.executable, "-c", STEPS, artifact], capture_output=True, text=True, check=True)
    values, peak = json.loads(done.stdout)
    return values, peak


def test_memory_stays(tmp_path):
    """What is lost a step would be a gradient or an activation: 256 KiB at least, 10 MiB in 40 steps."""
    run("sexpc", "build", SOURCE, "-o", tmp_path / "again.vmfb")
    values, peak = resident(tmp_path / "again.vmfb")
    assert values[-1] - values[5] < 6, values
    run("sexpc", "build", SOURCE, "-o", tmp_path / "kept.vmfb", "-D", "again=false")
    kept, without = resident(tmp_path / "kept.vmfb")
    assert kept[-1] - kept[5] < 6, kept
    # Each layer keeps six activations of half a MiB, or with `remat` one.
    assert peak < without - 8, (peak, without)
