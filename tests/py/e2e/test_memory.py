"""A run of any length needs the memory of its first steps, and `remat` needs less."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import heap
import pytest
from commands import run

SOURCE = Path(__file__).with_name("memory.sexp")
ATTENTION = Path(__file__).with_name("attention.sexp")

#: MiB that stand allocated after every tenth step of a session in a process of its own.
STEPS = """
from sexpgpu.runtime.allocator import start_over
start_over()
import json, sys
import numpy as np
from heap import allocated
from sexpgpu.runtime.artifact.read import read_artifact
from sexpgpu.runtime.session import Device, Session, aligned

session = Session(read_artifact(sys.argv[1]), Device("local-task", 2))
session.init(0)
batch = {f.name: aligned(tuple(f.shape), np.dtype("float32")) for f in session.manifest.fields}
for values in batch.values():
    values[...] = 0.5
rates = [1e-4] * len(session.manifest.schedules)
in_use = []
for step in range(100):
    for part in range(2):
        session.microbatch(batch, (0, step, part, 0), rates)
    session.update(rates, 2)
    if step % 10 == 9:
        in_use.append(allocated())
print(json.dumps(in_use))
"""


def measured(artifact: Path, script: Path, text: str = STEPS) -> Any:
    script.write_text(text)
    done = subprocess.run([sys.executable, script, artifact], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(Path(heap.__file__).parent)})
    return json.loads(done.stdout)


#: The most that was resident in the first call, in MiB, on a device without threads: what the call needs at once.
#: (Not `ru_maxrss`: a process starts with that of the one that made it.)
PEAK = STEPS.replace("range(100)", "range(1)").replace("range(2)", "range(1)").replace(
    "local-task", "local-sync").replace(
    "in_use))", "int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) / 1024))")


#: MiB: IREE takes the memory of a call from the system in pieces of this size.
PIECE = 64


def test_memory_stays(tmp_path):
    """Calls may overlap once or twice, which takes a piece more each time; 3 MiB lost a step would be four of them."""
    peaks = {}
    for again in ("true", "false"):
        artifact = tmp_path / f"{again}.vmfb"
        run("sexpc", "build", SOURCE, "-o", artifact, "-D", f"again={again}")
        in_use = measured(artifact, tmp_path / "steps.py")
        assert in_use[-1] - in_use[0] < 2.5 * PIECE, in_use
        peaks[again] = measured(artifact, tmp_path / "peak.py", PEAK)
    # Each layer keeps six activations of half a MiB, or with `remat` one.
    assert peaks["true"] < peaks["false"] - 8, peaks


def growth(folder, rate):
    """MiB that four layers of attention more need at most."""
    peaks = []
    for layers in (2, 6):
        artifact = folder / f"{layers}.vmfb"
        run("sexpc", "build", ATTENTION, "-o", artifact, "-D", f"layers={layers}", "-D", f"rate={rate}")
        peaks.append(measured(artifact, folder / "peak.py", PEAK))
    return peaks[1] - peaks[0]


def test_attention_keeps_no_probabilities(tmp_path):
    """Each layer's are 28 MiB, and so are its scores: four layers more keep nothing of that size."""
    assert growth(tmp_path, 0) < 4 * 28 / 2


@pytest.mark.slow
def test_attention_keeps_no_mask(tmp_path):
    """Each layer's is 7 MiB."""
    without, dropped = growth(tmp_path, 0), growth(tmp_path, 0.1)
    assert dropped - without < 4 * 7 / 2, (without, dropped)
