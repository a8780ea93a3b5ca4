"""PyTorch eager, fused AdamW: `torch_step.py MODEL WEIGHTS.npz RATE`."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2] / "tests/py/twins")]

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

from peers import serve  # noqa: E402
from peers.step_models import MODELS, Batch, decays  # noqa: E402

torch.set_num_threads(2)
model, rate = MODELS[sys.argv[1]], float(sys.argv[3])
w = {name: torch.tensor(array, requires_grad=True) for name, array in np.load(sys.argv[2]).items()}
optimizer = torch.optim.AdamW([
    {"params": [t for name, t in w.items() if decays(name)], "weight_decay": model.decay},
    {"params": [t for name, t in w.items() if not decays(name)], "weight_decay": 0.0}], lr=rate, fused=True)


def step(batch: Batch) -> float:
    loss = model.torch(torch, F, w, {name: torch.from_numpy(array) for name, array in batch.items()})
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    if model.clip is not None:
        torch.nn.utils.clip_grad_norm_(list(w.values()), model.clip)
    optimizer.step()
    return loss.item()


serve(step, model.batches())
