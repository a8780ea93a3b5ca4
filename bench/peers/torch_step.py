"""PyTorch eager, fused AdamW: `torch_step.py WEIGHTS.npz BATCH HEADS LAYERS RATE`."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2] / "tests/py/twins")]

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch_models import bytes_gpt  # noqa: E402

from peers import batches, serve  # noqa: E402

torch.set_num_threads(2)
weights, batch, heads, layers, rate = sys.argv[1], *map(int, sys.argv[2:5]), float(sys.argv[5])
w = {name: torch.tensor(array, requires_grad=True) for name, array in np.load(weights).items()}
decayed = [t for name, t in w.items() if not name.endswith((".b", "gain", "bias"))]
rest = [t for name, t in w.items() if name.endswith((".b", "gain", "bias"))]
optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
                              lr=rate, fused=True)


def step(tokens: np.ndarray) -> float:
    ids = torch.from_numpy(tokens).long()
    logits = bytes_gpt(w, ids[:, :-1], heads=heads, layers=layers)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(w.values()), 1.0)
    optimizer.step()
    return loss.item()


vocab, seq = w["tokens"].shape[0], w["places"].shape[0]
serve(step, batches((batch, seq + 1), vocab))
