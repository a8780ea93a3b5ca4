"""A whole experiment through the compiler: cut and resumed, its passes, its stages, its weights taken elsewhere."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import life
import numpy as np
import pytest
from runs import last_state, lines, steady
from safetensors.numpy import load_file
from sexpgpu.runtime.artifact import read_artifact, read_manifest
from sexpgpu.runtime.dataio import Loader

BATCHES = 120
"""A little more than a run takes: 60 of training, and passes of 6 or 7 calls of the loader each."""


@pytest.fixture(scope="module")
def whole(life_artifact: Path, tmp_path_factory) -> tuple[Path, Path]:
    """The artifact, and the folder of its uncut run."""
    out = tmp_path_factory.mktemp("whole") / "run"
    assert life.run(life_artifact, out, "--keep-best", "eval/val/loss") == 0
    return life_artifact, out


def cursor(out: Path) -> dict:
    found = json.loads((out / f"checkpoints/step-{life.STEPS}/cursor.json").read_text())
    return {k: v for k, v in found.items() if k != "seconds"}


def same(out: Path, expected: Path) -> None:
    assert steady(out) == steady(expected)
    assert last_state(out) == last_state(expected)
    assert cursor(out) == cursor(expected)
    summaries = [json.loads((p / "summary.json").read_text()) for p in (out, expected)]
    for key in ("steps", "records", "counters", "skipped", "best", "evaluations"):
        assert summaries[0][key] == summaries[1][key], key


def cut_and_resume(whole: tuple[Path, Path], out: Path, *cuts: int) -> None:
    artifact, expected = whole
    for cut in cuts:
        assert life.run(artifact, out, "--keep-best", "eval/val/loss", cut=cut) in (0, 130)
    assert life.run(artifact, out, "--keep-best", "eval/val/loss") == 0
    same(out, expected)


@pytest.mark.parametrize("cuts", [(1,), (3,), (9,), (31,), (77,), (110,), (10, 10, 25, 40)])
def test_cut_and_resumed_is_the_same(whole: tuple[Path, Path], tmp_path: Path, cuts: tuple[int, ...]) -> None:
    cut_and_resume(whole, tmp_path / "run", *cuts)


@pytest.mark.slow
def test_cut_everywhere_and_resumed_is_the_same(whole: tuple[Path, Path], tmp_path: Path) -> None:
    """Before every batch of the sixty steps and of their passes."""
    for cut in range(1, BATCHES + 1):
        cut_and_resume(whole, tmp_path / f"run-{cut}", cut)
        shutil.rmtree(tmp_path / f"run-{cut}")


def test_the_run_has_what_is_to_be_put_back(whole: tuple[Path, Path]) -> None:
    """Else the tests above would say little."""
    _, out = whole
    log = [line for line in lines(out) if "train/loss" in line]
    assert log[-1]["optimizer/skipped"] > 0, "the loss scale began too high"
    stages = [line["stage"] for line in log]
    assert sum(a != b for a, b in pairwise(stages)) >= 4
    found = cursor(out)
    assert set(found["loaders"]) == {"easy", "hard"}
    state = load_file(out / f"checkpoints/step-{life.STEPS}/optimizer.safetensors")
    assert any(name.endswith(".ema") for name in state) and any("scale" in name for name in {
        **state, **load_file(out / f"checkpoints/step-{life.STEPS}/weights.safetensors")})


def test_the_curriculum_by_hand(whole: tuple[Path, Path]) -> None:
    """Its rule, applied to the counters that the lines show: totals of a stage begin anew, and it can be come back to.
    """
    _, out = whole
    log = [line for line in lines(out) if "train/loss" in line]
    stage, tokens, steps, total, expected = "easy", 0, 0, 0, []
    for line in log:
        chosen = ("hard" if tokens >= 24 else "easy") if stage == "easy" else ("easy" if steps >= 5 else "hard")
        if chosen != stage:
            stage, tokens, steps = chosen, 0, 0
        expected.append(stage)
        tokens, steps, total = tokens + line["counter/tokens"] - total, steps + 1, line["counter/tokens"]
    assert [line["stage"] for line in log] == expected
    status = json.loads((out / "status.json").read_text())
    assert status["stage_totals"]["tokens"] == tokens and status["stage_totals"]["steps"] == steps


def test_schedules_by_hand(whole: tuple[Path, Path]) -> None:
    _, out = whole
    for line in lines(out)[1:]:
        done = line["step"] - 1
        assert line["schedule/lr"] == 0.05 * (1.0 - done / life.STEPS) * min((done + 1) / 5, 1.0)


def test_passes_leave_training_alone(whole: tuple[Path, Path], tmp_path: Path, monkeypatch) -> None:
    """The same run without any pass: losses, weights, optimizer, counters, places in the data are the same."""
    from sexpgpu.runtime.train import execute

    def without(path: str):
        artifact = read_artifact(path)
        return replace(artifact, manifest=replace(artifact.manifest, evaluations=()))

    artifact, expected = whole
    monkeypatch.setattr(execute, "read_artifact", without)
    assert life.run(artifact, tmp_path / "run") == 0
    with_passes = [{k: v for k, v in line.items() if not k.startswith("eval/")} for line in steady(expected)]
    assert steady(tmp_path / "run") == with_passes[1:]
    assert last_state(tmp_path / "run") == last_state(expected)
    mine, theirs = cursor(tmp_path / "run"), cursor(expected)
    assert (mine["tally"], mine["loaders"]) == (theirs["tally"], theirs["loaders"])


def test_a_pass_by_hand(whole: tuple[Path, Path], tmp_path: Path) -> None:
    """22 rows in batches of four: every row counts once in the loss; the masked mean goes by its own weight, also in a
    batch where that weight is one."""
    artifact, _ = whole
    metrics = read_manifest(artifact).evaluations[0].metrics
    assert [(m.name, m.weighted) for m in metrics] == [("loss", False), ("masked", True), ("worst", False)]
    out = tmp_path / "run"
    assert life.run(artifact, out, "--steps", "1", "--on-nonfinite", "rewind") == 0
    state = load_file(out / "checkpoints/step-0/weights.safetensors")
    data = life.table("v")
    assert data["m"][:4].sum() == 1.0
    errors = (np.tanh(data["x"] @ state["w"] + state["b"]) @ state["v"] + state["c"])[:, 0] - data["y"]
    found = lines(out)[0]
    assert found["eval/val/loss"] == pytest.approx(float((errors**2).mean()), rel=2e-3)
    assert found["eval/val/masked"] == pytest.approx(float((errors**2)[data["m"] == 1].mean()), rel=2e-3)
    assert found["eval/val/worst"] == pytest.approx(float((errors**2).max()), rel=2e-3)


def test_weights_alone(whole: tuple[Path, Path], tmp_path: Path) -> None:
    """The optimizer begins as it would have with these weights: their average is they themselves, and what a pass at
    the start finds is what they are worth, not what the initialisers were."""
    artifact, expected = whole
    weights = expected / f"checkpoints/step-{life.STEPS}/weights.safetensors"
    out = tmp_path / "run"
    assert life.run(artifact, out, "--steps", "1", "--on-nonfinite", "rewind", "--init-from", str(weights)) == 0
    taken, begun = load_file(weights), load_file(out / "checkpoints/step-0/weights.safetensors")
    assert all((taken[name] == begun[name]).all() for name in ("w", "b", "v", "c"))
    optimizer = load_file(out / "checkpoints/step-0/optimizer.safetensors")
    for name in ("w", "b", "v", "c"):
        assert (optimizer[f"{name}.ema"] == taken[name]).all(), "the average begins at the weights"
    assert lines(out)[0]["eval/val/loss"] < 0.5 * lines(expected)[0]["eval/val/loss"]


def test_a_skipped_update_leaves_all_state_alone(whole: tuple[Path, Path], tmp_path: Path) -> None:
    """Also the statistics of the batch: one row that is no number would stay in them for ever."""
    class Poisoned(Loader):
        def next(self):
            batch = super().next()
            if batch is not None and batch.cursor["stage"] == "easy" and batch.cursor["position"] == 12:
                batch.arrays["x"].flags.writeable = True
                batch.arrays["x"][1] = np.nan
            return batch

    from sexpgpu.cli.run import main

    artifact, _ = whole
    assert main([str(artifact), "--out", str(tmp_path / "run")], Poisoned) == 0
    assert any(line.get("train/loss", 0) is None for line in lines(tmp_path / "run"))
    for name in ("weights", "optimizer"):
        state = load_file(tmp_path / f"run/checkpoints/step-{life.STEPS}/{name}.safetensors")
        assert all(np.isfinite(array).all() for array in state.values()), name


def test_others_read_a_checkpoint(whole: tuple[Path, Path]) -> None:
    """By the format's own package, under the names of the experiment's `param` forms."""
    artifact, out = whole
    found = load_file(out / f"checkpoints/step-{life.STEPS}/weights.safetensors")
    assert {p.name for p in read_manifest(artifact).parameters} <= set(found)
    assert found["w"].shape == (4, 8) and found["w"].dtype == np.float32
