"""PyTorch eager: the operation and `autograd.grad` of it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import torch
import torch.nn.functional as F

from peers import serve_operations
from peers.op_cases import OPERATIONS, cotangent

torch.set_num_threads(2)


def prepared(op):
    given = [torch.tensor(a, requires_grad=True) if a.dtype.kind == "f" else torch.tensor(a).long()
             for a in op.arguments.values()]
    floats = [t for t in given if t.requires_grad]
    seed = torch.tensor(cotangent(tuple(op.torch(torch, F, *given).shape)))

    def once() -> list[torch.Tensor]:
        return torch.autograd.grad(op.torch(torch, F, *given), floats, seed)

    return once, lambda: np.asarray(once()[-1])


serve_operations({op.name: prepared(op) for op in OPERATIONS
                  if any(word in op.name for word in sys.argv[1:]) or not sys.argv[1:]})
