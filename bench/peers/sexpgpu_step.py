"""This project: `sexpgpu_step.py ARTIFACT RATE WEIGHTS.npz`. Writes the first weights for the others to start from."""

import sys
from pathlib import Path

from sexpgpu.runtime.allocator import start_over

start_over()

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
from sexpgpu.runtime.artifact.read import read_artifact  # noqa: E402
from sexpgpu.runtime.session import Device, Session, aligned  # noqa: E402

from peers import batches, serve  # noqa: E402

artifact, rate, weights = sys.argv[1], float(sys.argv[2]), sys.argv[3]
session = Session(read_artifact(artifact), Device("local-task", 2))
session.init(0)
names = {p.name for p in session.manifest.parameters}
np.savez(weights, **{k: v for k, v in session.state_get().items() if k in names})
(tokens,) = session.manifest.fields
vocab = next(p.shape[0] for p in session.manifest.parameters if p.name == "tokens")
count = 0


def slab(array: np.ndarray) -> np.ndarray:
    """As the loader hands it over: aligned, so that the device reads it in place."""
    copy = aligned(array.shape, array.dtype)
    copy[...] = array
    return copy


def step(batch: np.ndarray) -> float:
    global count
    count += 1
    outcome = session.microbatch({"tokens": batch}, (0, count, 0, 0), [rate])
    session.update([rate], 1)
    return float(outcome.metrics[0])


serve(step, [slab(b) for b in batches(tuple(tokens.shape), vocab)])
