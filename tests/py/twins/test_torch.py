"""Whole experiments against PyTorch: the same first weights, the same batches, 50 steps of AdamW, loss by loss."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the twins are PyTorch programs: install the `twins` extra")

from harness import Run, build, make_data, torch_losses  # noqa: E402
from torch_models import bytes_gpt, perceptron  # noqa: E402

STEPS = 50
#: At 1e-3 and without warm-up two correct programs drift apart in the fourth digit after some 35 steps: rounding grows.
RATE = 3e-4


def test_bytes_gpt(tmp_path: Path) -> None:
    make_data("bytes-gpt", tmp_path)
    run = Run.open(build("bytes-gpt", tmp_path / "m.vmfb"), tmp_path)

    def loss(w: dict, batch: dict) -> torch.Tensor:
        tokens = batch["tokens"].long()
        logits = bytes_gpt(w, tokens[:, :-1], heads=4, layers=5)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    want = torch_losses(run, loss, STEPS, RATE, decay=0.1, clip=1.0)
    got = run.losses(STEPS, RATE)
    assert want[-1] < want[0] - 1.0, "the twin did not learn"
    np.testing.assert_allclose(got, want, rtol=1e-4)


def test_perceptron(tmp_path: Path) -> None:
    make_data("spirals", tmp_path)
    run = Run.open(build("spirals", tmp_path / "m.vmfb", rate="0.0"), tmp_path)

    def loss(w: dict, batch: dict) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(perceptron(w, batch["point"]), batch["label"].long())

    want = torch_losses(run, loss, STEPS, 3e-3, decay=1e-3, clip=None)
    got = run.losses(STEPS, 3e-3)
    assert want[-1] < want[0] - 0.1, "the twin did not learn"
    np.testing.assert_allclose(got, want, rtol=1e-4)
