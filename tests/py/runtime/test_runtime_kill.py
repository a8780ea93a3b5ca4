"""`kill -9` at random moments: what goes on from the last complete checkpoint is the unbroken run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import life
import pytest
from runs import HERE, last_state, steady
from sexpgpu.runtime.checkpoint.store import open_checkpoint, steps

FLAGS = ("--steps", "400", "--checkpoint-every", "2", "--keep", "2", "--keep-best", "eval/val/loss", "--log-every", "1")


@pytest.fixture(scope="module")
def whole(life_artifact: Path, tmp_path_factory) -> tuple[Path, Path]:
    out = tmp_path_factory.mktemp("whole") / "run"
    assert life.run(life_artifact, out, *FLAGS) == 0
    return life_artifact, out


def stray(out: Path) -> list[str]:
    """Everything that no run folder holds at its end."""
    usual = {".lock", "manifest.json", "metrics.jsonl", "status.json", "summary.json", "checkpoints", "report.html"}
    return sorted({p.name for p in out.iterdir()} - usual) + sorted(
        p.name for p in (out / "checkpoints").iterdir() if not p.name.startswith("step-"))


def kill_and_go_on(whole: tuple[Path, Path], out: Path, seed: int, most: int) -> int:
    """One run killed at most `most` times, then let to its end; gives the number of kills."""
    artifact, expected = whole
    done = subprocess.run([sys.executable, str(HERE / "killing.py"), str(artifact), str(out), str(seed), str(most),
                           *FLAGS], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    kills = int(done.stdout.split()[0])
    for step in steps(out / "checkpoints"):
        open_checkpoint(out / f"checkpoints/step-{step}")   # what bears the mark is whole
    assert life.run(artifact, out, *FLAGS) == 0
    assert steady(out) == steady(expected)
    assert last_state(out) == last_state(expected)
    assert not stray(out)
    return kills


def test_killed_at_some_moments(whole: tuple[Path, Path], tmp_path: Path) -> None:
    assert kill_and_go_on(whole, tmp_path / "run", 1, 6) > 0


@pytest.mark.slow
def test_killed_at_300_moments(whole: tuple[Path, Path], tmp_path: Path) -> None:
    kills = seed = 0
    while kills < 300:
        seed += 1
        kills += kill_and_go_on(whole, tmp_path / f"run-{seed}", seed, 25)
        shutil.rmtree(tmp_path / f"run-{seed}")
