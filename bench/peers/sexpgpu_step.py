"""This project: `sexpgpu_step.py MODEL WEIGHTS.npz RATE ARTIFACT`. Writes the first
weights for the others to start from."""

import sys
from pathlib import Path

from sexpgpu.runtime.allocator import start_over

start_over()

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
from sexpgpu.runtime.artifact.read import read_artifact  # noqa: E402
from sexpgpu.runtime.session import Device, Session, aligned  # noqa: E402

from peers import serve  # noqa: E402
from peers.step_models import MODELS, Batch  # noqa: E402

model, weights, rate = MODELS[sys.argv[1]], sys.argv[2], float(sys.argv[3])
session = Session(read_artifact(sys.argv[4]), Device("local-task", 2))
session.init(0)
names = {p.name for p in session.manifest.parameters}
np.savez(weights, **{k: v for k, v in session.state_get().items() if k in names})
count = 0


def slab(array: np.ndarray) -> np.ndarray:
    """As the loader hands it over: aligned, so that the device reads it in place."""
    copy = aligned(array.shape, array.dtype)
    copy[...] = array
    return copy


def step(batch: Batch) -> float:
    global count
    count += 1
    outcome = session.microbatch(batch, (0, count, 0, 0), [rate])
    session.update([rate], 1)
    return float(outcome.metrics[0])


serve(step, [{name: slab(array) for name, array in batch.items()} for batch in model.batches()])
