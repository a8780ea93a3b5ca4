"""An example trained here and in PyTorch, with the same first weights and the same batches."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sexpgpu.runtime.artifact.read import read_artifact
from sexpgpu.runtime.dataio import Loader
from sexpgpu.runtime.session import Device, Session

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def command(name: str) -> list[str]:
    """One of the project's commands, run by the interpreter of the tests."""
    module = {"sexpc": "sexpc", "sexpgpu-run": "run"}[name]
    return [sys.executable, "-c", f"import sys; from sexpgpu.cli.{module} import main; sys.exit(main())"]


def make_data(example: str, folder: Path) -> None:
    subprocess.run([sys.executable, str(EXAMPLES / example / "make_data.py"), str(folder / "data")], check=True,
                   capture_output=True)


def build(example: str, out: Path, **overrides: str) -> Path:
    """Builds an example, or fails with what `sexpc` said."""
    changed = [word for name, value in overrides.items() for word in ("-D", f"{name}={value}")]
    done = subprocess.run([*command("sexpc"), "build", str(EXAMPLES / example / "experiment.sexp"), "-o", str(out),
                           *changed], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


@dataclass
class Run:
    """An artifact with its first weights set, and the batches it would be given."""

    session: Session
    weights: dict[str, NDArray]
    data: Path

    @staticmethod
    def open(artifact: Path, data: Path, seed: int = 0) -> Run:
        session = Session(read_artifact(artifact), Device("local-task", 2))
        session.init(seed)
        parameters = {p.name for p in session.manifest.parameters}
        return Run(session, {k: v for k, v in session.state_get().items() if k in parameters}, data)

    def batches(self, steps: int) -> Iterator[dict[str, NDArray]]:
        with Loader(self.session.manifest.loader, data_root=str(self.data)) as loader:
            for _ in range(steps):
                batch = loader.next()
                assert batch is not None
                yield {name: np.array(array) for name, array in batch.arrays.items()}
                batch.release()

    def losses(self, steps: int, rate: float) -> list[float]:
        """The loss before each update, with the one schedule, the learning rate, held at `rate`."""
        found = []
        for step, batch in enumerate(self.batches(steps)):
            found.append(float(self.session.microbatch(batch, (0, step, 0, 0), [rate]).metrics[0]))
            self.session.update([rate], 1)
        return found


def torch_losses(run: Run, loss: Callable[[dict[str, torch.Tensor], dict[str, torch.Tensor]], torch.Tensor],
                 steps: int, rate: float, *, decay: float, clip: float | None) -> list[float]:
    """The same run by `torch.optim.AdamW`: parameters with `:decay false` are left out of the decay."""
    torch.set_num_threads(2)
    weights = {name: torch.tensor(array, requires_grad=True) for name, array in run.weights.items()}
    decayed = {p.name for p in run.session.manifest.parameters if p.decay}
    optimizer = torch.optim.AdamW([
        {"params": [w for name, w in weights.items() if name in decayed], "weight_decay": decay},
        {"params": [w for name, w in weights.items() if name not in decayed], "weight_decay": 0.0},
    ], lr=rate)
    losses = []
    for batch in run.batches(steps):
        value = loss(weights, {name: torch.from_numpy(array) for name, array in batch.items()})
        optimizer.zero_grad()
        value.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(list(weights.values()), clip)
        optimizer.step()
        losses.append(value.item())
    return losses
