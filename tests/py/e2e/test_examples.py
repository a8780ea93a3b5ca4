"""Every example builds and, where it has data, trains to the result its text promises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import build, make_data, run


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def train(example: str, tmp_path: Path, *words: str) -> list[dict]:
    make_data(example, tmp_path)
    artifact = build(example, tmp_path / "m.vmfb")
    out = tmp_path / "run"
    done = run("sexpgpu-run", artifact, "--data-root", tmp_path, "--out", out, *words)
    assert str(out) in done.stdout + done.stderr, "the end names the run folder"
    return lines(out)


def test_linear_regression_finds_the_line(tmp_path: Path) -> None:
    found = train("linear", tmp_path)
    assert found[-1]["step"] == 200
    assert found[-1]["train/loss"] < 3e-4, "noise of deviation 0.01 leaves a mean square of 1e-4"


def test_spirals_are_told_apart(tmp_path: Path) -> None:
    found = train("spirals", tmp_path)
    assert found[-1]["eval/test/accuracy"] > 0.9
    assert found[0]["eval/test/accuracy"] < 0.6, "at the start the three classes are guessed"


def test_bytes_gpt_learns(tmp_path: Path) -> None:
    found = train("bytes-gpt", tmp_path, "--steps", "40", "--log-every", "1")
    assert 5.3 < found[0]["train/loss"] < 5.7
    assert found[-1]["train/loss"] < 3.6
    assert found[-1]["counter/tokens"] == 40 * 16 * 128
    assert found[-1]["counter/records"] == 40 * 16
    assert "eval/held-out/loss" in found[-1]


@pytest.mark.parametrize("example", ["gpt", "bytes-gpt", "spirals", "linear"])
def test_checks_clean(example: str) -> None:
    done = run("sexpc", "check", Path("examples") / example / "experiment.sexp",
               cwd=Path(__file__).resolve().parents[3])
    assert done.stdout + done.stderr == "" or "error" not in done.stderr


def test_gpt_with_the_manuals_loader_builds(tmp_path: Path) -> None:
    """Its `train-loader` and `prepare` are the manual's, word for word."""
    assert build("gpt", tmp_path / "gpt.vmfb").stat().st_size < 2_000_000


def test_nanogpt_is_sixty_lines() -> None:
    """The whole experiment, without blank lines and comments; its model in forty."""
    text = (Path(__file__).resolve().parents[3] / "examples" / "gpt" / "experiment.sexp").read_text()
    code = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(";")]
    model = text[text.index("(defun norm"):text.index("(defun objective")]
    assert len(code) <= 60 and len([line for line in model.splitlines() if line.strip()]) <= 40
    for part in ("layer-norm", "attention", "gelu", "dropout", "(transpose table)"):
        assert part in model


@pytest.mark.parametrize(("target", "layers"), [
    ("vulkan", 2), ("cuda", 2), ("cpu:x86-64-v3", 1), ("cuda:sm_89", 1),
    pytest.param("vulkan", 5, marks=pytest.mark.slow), pytest.param("cuda", 5, marks=pytest.mark.slow)])
def test_the_demo_builds_for_every_target(target: str, layers: int, tmp_path: Path) -> None:
    artifact = build("bytes-gpt", tmp_path / "m.vmfb", "--target", target, "-D", f"layers={layers}")
    shown = json.loads(run("sexpc", "inspect", "--json", artifact).stdout)
    assert shown["target"]["name"] == target
