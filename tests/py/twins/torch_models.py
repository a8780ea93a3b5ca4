"""The examples' models written a second time, in PyTorch, over a dictionary of the artifact's own parameter names."""

from __future__ import annotations

import torch
import torch.nn.functional as F

Weights = dict[str, torch.Tensor]


def bytes_gpt(w: Weights, tokens: torch.Tensor, *, heads: int, layers: int) -> torch.Tensor:
    """`[batch time]` int64 -> `[batch time vocab]`: `examples/bytes-gpt/experiment.sexp`."""
    width = w["tokens"].shape[1]

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(x, (width,), w[f"{name}.gain"], w[f"{name}.bias"], eps=1e-5)

    def project(x: torch.Tensor, name: str) -> torch.Tensor:
        return x @ w[f"{name}.w"] + w[f"{name}.b"]

    def split(x: torch.Tensor) -> torch.Tensor:
        return x.view(*x.shape[:2], heads, width // heads).transpose(1, 2)

    x = w["tokens"][tokens] + w["places"]
    for i in range(layers):
        at = f"block.{i}"
        y = norm(x, f"{at}.norm-1")
        q, k, v = (split(project(y, f"{at}.{name}")) for name in "qkv")
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + project(y.transpose(1, 2).reshape(x.shape), f"{at}.out")
        y = F.gelu(project(norm(x, f"{at}.norm-2"), f"{at}.up"))
        x = x + project(y, f"{at}.down")
    return norm(x, "norm") @ w["tokens"].T


def perceptron(w: Weights, x: torch.Tensor) -> torch.Tensor:
    """`[batch 2]` -> `[batch 3]`: `examples/spirals/experiment.sexp` without its dropout."""
    x = F.relu(x @ w["first.w"] + w["first.b"])
    x = F.relu(x @ w["second.w"] + w["second.b"])
    return x @ w["third.w"] + w["third.b"]
