"""Any artifact: `artifact_step.py ARTIFACT`. Its batches are made up: integers below 256, floats normal."""

import sys
from pathlib import Path

from sexpgpu.runtime.allocator import start_over

start_over()

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
from sexpgpu.runtime.artifact.manifest import Field  # noqa: E402
from sexpgpu.runtime.artifact.read import read_artifact  # noqa: E402
from sexpgpu.runtime.dtypes import DTYPES  # noqa: E402
from sexpgpu.runtime.session import Device, Session, aligned  # noqa: E402

from peers import Batch, serve  # noqa: E402

session = Session(read_artifact(sys.argv[1]), Device("local-task", 2))
session.init(0)
rng = np.random.default_rng(0)
rates = [1e-4] * len(session.manifest.schedules)
count = 0


def made_up(field: Field) -> np.ndarray:
    array = aligned(tuple(field.shape), np.dtype(DTYPES[field.dtype].numpy))
    if array.dtype.kind == "f":
        array[...] = rng.standard_normal(field.shape)
    else:
        array[...] = rng.integers(0, 2 if array.dtype.kind == "b" else 128 if array.itemsize == 1 else 256, field.shape)
    return array


def step(batch: Batch) -> float:
    global count
    count += 1
    outcome = session.microbatch(batch, (0, count, 0, 0), rates)
    session.update(rates, 1)
    return float(outcome.metrics[0])


serve(step, [{f.name: made_up(f) for f in session.manifest.fields} for _ in range(4)])
