"""The demo on a Vulkan device (a CPU implementation serves): some steps with losses near the CPU's."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from commands import build, make_data, run

DRIVERS = list(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))
STEPS = 4


@pytest.mark.skipif(not DRIVERS, reason="no lavapipe here: install the distribution's mesa-vulkan-drivers")
def test_bytes_gpt_on_vulkan(tmp_path: Path) -> None:
    make_data("bytes-gpt", tmp_path)
    losses = {}
    for target in ("cpu", "vulkan"):
        artifact = build("bytes-gpt", tmp_path / f"{target}.vmfb", "--target", target, "-D", "layers=2")
        out = tmp_path / target
        run("sexpgpu-run", artifact, "--data-root", tmp_path, "--out", out, "--steps", str(STEPS), "--log-every", "1",
            env={"VK_ICD_FILENAMES": os.environ.get("VK_ICD_FILENAMES", str(DRIVERS[0]))})
        losses[target] = [json.loads(line)["train/loss"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert len(losses["vulkan"]) == STEPS
    np.testing.assert_allclose(losses["vulkan"], losses["cpu"], rtol=2e-3)
