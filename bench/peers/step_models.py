"""The experiments that `bench/train.py` times, and their losses in PyTorch and JAX over the artifact's own names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Batch = Mapping[str, NDArray]
COUNT = 8


@dataclass(frozen=True, slots=True)
class Model:
    """`experiment` is under `examples/`; `batches` gives the same data to everyone. `torch` and `jax` are losses of
    that library's names, the weights and a batch. `decay` and `clip` are AdamW's, of parameters that are no biases or
    gains."""

    experiment: str
    batches: Callable[[], list[Batch]]
    torch: Callable
    jax: Callable
    overrides: Mapping[str, int] = field(default_factory=dict)
    decay: float = 0.0
    clip: float | None = None


def decays(name: str) -> bool:
    return name.rpartition(".")[2] not in ("b", "gain", "bias")


def tokens(batch: int, vocab: int) -> Callable[[], list[Batch]]:
    def made() -> list[Batch]:
        rng = np.random.default_rng(0)
        return [{"tokens": rng.integers(0, vocab, (batch, 129), dtype=np.int32)} for _ in range(COUNT)]

    return made


def pictures() -> list[Batch]:
    rng = np.random.default_rng(0)
    return [{"pixels": rng.random((50, 8, 8), dtype=np.float32), "label": rng.integers(0, 10, 50, dtype=np.int32)}
            for _ in range(COUNT)]


def sequences() -> list[Batch]:
    rng = np.random.default_rng(0)
    xs = [np.stack([rng.random((64, 30)), rng.random((64, 30)) > 0.9], -1).astype(np.float32) for _ in range(COUNT)]
    return [{"sequence": x, "sum": (x[..., 0] * x[..., 1]).sum(1)} for x in xs]


def gpt_torch(heads: int, layers: int) -> Callable:
    def loss(torch, F, w, batch):
        from torch_models import bytes_gpt

        ids = batch["tokens"].long()
        return F.cross_entropy(bytes_gpt(w, ids[:, :-1], heads=heads, layers=layers).flatten(0, 1),
                               ids[:, 1:].flatten())

    return loss


def gpt_jax(heads: int, layers: int) -> Callable:
    def loss(jax, w, batch):
        jnp, ids = jax.numpy, batch["tokens"]
        seq, width = w["places"].shape

        def norm(x, name):
            centred = x - x.mean(-1, keepdims=True)
            variance = jnp.square(centred).mean(-1, keepdims=True)
            return centred * jax.lax.rsqrt(variance + 1e-5) * w[f"{name}.gain"] + w[f"{name}.bias"]

        def project(x, name):
            return x @ w[f"{name}.w"] + w[f"{name}.b"]

        x = w["tokens"][ids[:, :-1]] + w["places"]
        mask = jnp.tril(jnp.ones((seq, seq), bool))
        for i in range(layers):
            at = f"block.{i}"
            y = norm(x, f"{at}.norm-1")
            q, k, v = (project(y, f"{at}.{n}").reshape(*x.shape[:2], heads, -1) for n in "qkv")
            scores = jnp.einsum("bthd,bshd->bhts", q, k) / np.float32(np.sqrt(width // heads))
            share = jax.nn.softmax(jnp.where(mask, scores, -1e30), -1)
            x = x + project(jnp.einsum("bhts,bshd->bthd", share, v).reshape(x.shape), f"{at}.out")
            y = jax.nn.gelu(project(norm(x, f"{at}.norm-2"), f"{at}.up"), approximate=False)
            x = x + project(y, f"{at}.down")
        return entropy(jax, norm(x, "norm") @ w["tokens"].T, ids[:, 1:])

    return loss


def entropy(jax, logits, labels):
    return -jax.numpy.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1).mean()


def conv_torch(torch, F, w, batch):
    h = batch["pixels"][:, None]
    for name in ("first", "second"):
        h = F.conv2d(h, w[f"{name}.w"].permute(3, 2, 0, 1), padding=1)
        h = F.batch_norm(h, None, None, w[f"{name}.gain"], w[f"{name}.bias"], training=True)
        h = F.max_pool2d(F.relu(h), 2)
    return F.cross_entropy(h.permute(0, 2, 3, 1).flatten(1) @ w["classes.w"] + w["classes.b"], batch["label"].long())


def conv_jax(jax, w, batch):
    h = batch["pixels"][..., None]
    for name in ("first", "second"):
        h = jax.lax.conv_general_dilated(h, w[f"{name}.w"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        centred = h - h.mean((0, 1, 2))
        h = centred * jax.lax.rsqrt((centred ** 2).mean((0, 1, 2)) + 1e-5) * w[f"{name}.gain"] + w[f"{name}.bias"]
        h = jax.lax.reduce_window(jax.nn.relu(h), -np.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return entropy(jax, h.reshape(h.shape[0], -1) @ w["classes.w"] + w["classes.b"], batch["label"])


def mlp_torch(torch, F, w, batch):
    h = F.relu(batch["pixels"].flatten(1) @ w["hidden.w"] + w["hidden.b"])
    return F.cross_entropy(h @ w["classes.w"] + w["classes.b"], batch["label"].long())


def mlp_jax(jax, w, batch):
    h = jax.nn.relu(batch["pixels"].reshape(50, -1) @ w["hidden.w"] + w["hidden.b"])
    return entropy(jax, h @ w["classes.w"] + w["classes.b"], batch["label"])


def lstm_torch(torch, F, w, batch):
    xs = batch["sequence"].transpose(0, 1)
    h = c = torch.zeros(xs.shape[1], w["out"].shape[0])
    for x in xs:
        forget, write, new, show = (torch.cat([x, h], -1) @ w["w"] + w["b"]).chunk(4, -1)
        c = torch.sigmoid(forget + 1) * c + torch.sigmoid(write) * torch.tanh(new)
        h = torch.sigmoid(show) * torch.tanh(c)
    return (((h @ w["out"] + w["bias"])[:, 0] - batch["sum"]) ** 2).mean()


def lstm_jax(jax, w, batch):
    jnp = jax.numpy

    def cell(carry, x):
        h, c = carry
        forget, write, new, show = jnp.split(jnp.concatenate([x, h], -1) @ w["w"] + w["b"], 4, -1)
        c = jax.nn.sigmoid(forget + 1) * c + jax.nn.sigmoid(write) * jnp.tanh(new)
        return (jax.nn.sigmoid(show) * jnp.tanh(c), c), None

    nothing = jnp.zeros((batch["sum"].shape[0], w["out"].shape[0]))
    (h, _), _ = jax.lax.scan(cell, (nothing, nothing), batch["sequence"].transpose(1, 0, 2))
    return (((h @ w["out"] + w["bias"])[:, 0] - batch["sum"]) ** 2).mean()


def gpt(layers: int, batch: int, vocab: int, overrides: Mapping[str, int] | None = None) -> Model:
    return Model("bytes-gpt/experiment.sexp", tokens(batch, vocab), gpt_torch(4, layers), gpt_jax(4, layers),
                 overrides or {}, decay=0.1, clip=1.0)


MODELS = {
    "bytes-gpt": gpt(5, 16, 256),
    "gpt4": gpt(4, 4, 4096, {"layers": 4, "width": 256, "vocab": 4096, "batch-size": 4}),
    "conv": Model("digits/conv.sexp", pictures, conv_torch, conv_jax, decay=1e-2),
    "mlp": Model("digits/mlp.sexp", pictures, mlp_torch, mlp_jax, decay=1e-2),
    "lstm": Model("adding/experiment.sexp", sequences, lstm_torch, lstm_jax, clip=1.0),
}
