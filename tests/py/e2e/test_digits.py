"""Examples of what people train: each reaches the result that its text states."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import EXAMPLES, make_data, run
from sexpgpu.runtime.checkpoint.tensors import TensorFile

#: Example, and what must hold of the last line of its metrics.
RESULTS = {
    "digits/mlp": {"eval/test/accuracy": (0.96, 1)},
    "digits/conv": {"eval/test/accuracy": (0.97, 1)},
    "digits/experts": {"eval/test/accuracy": (0.94, 1), "train/imbalance": (1, 2)},
    "digits/adapters": {"eval/test/accuracy": (0.92, 1)},
    "digits/own-optimizer": {"eval/test/accuracy": (0.95, 1)},
    "digits/vae": {"eval/test/bound": (15, 27)},
    "digits/diffusion": {"eval/test/loss": (0.1, 0.35)},
    "digits/contrastive": {"train/found": (0.5, 1), "eval/test/found": (0.8, 1)},
    "adding/experiment": {"train/loss": (0, 0.02)},
    "poisson/experiment": {"train/error": (0, 0.02)},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    made: dict[str, Path] = {}

    def of(example: str) -> Path:
        if example not in made:
            made[example] = tmp_path_factory.mktemp(example)
            make_data(example, made[example])
        return made[example]

    return of


@pytest.mark.parametrize("name", list(RESULTS))
def test_reaches_its_result(name, data, tmp_path):
    folder, _ = name.split("/")
    artifact, out = tmp_path / "m.vmfb", tmp_path / "run"
    run("sexpc", "build", EXAMPLES / f"{name}.sexp", "-o", artifact)
    run("sexpgpu-run", artifact, "--data-root", data(folder), "--out", out)
    last = json.loads((out / "metrics.jsonl").read_text().splitlines()[-1])
    for metric, (low, high) in RESULTS[name].items():
        assert low <= last[metric] <= high, (metric, last[metric])
    if name == "digits/adapters":
        adapters_alone_move(artifact, data(folder), out, tmp_path / "start")


def adapters_alone_move(artifact: Path, data: Path, end: Path, start: Path) -> None:
    """The base is after the run what it was after the first step."""
    run("sexpgpu-run", artifact, "--data-root", data, "--out", start, "--steps", "1")
    first, last = (TensorFile(next(folder.glob("checkpoints/step-*/weights.safetensors"))) for folder in (start, end))
    for name in first.shapes:
        assert (first.read(name) == last.read(name)).all() == name.startswith("base."), name
