"""A clean environment with only the base install, no compiler, runs an artifact."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from commands import ROOT, build, make_data


def test_an_artifact_runs_where_no_compiler_is(tmp_path: Path) -> None:
    make_data("linear", tmp_path)
    artifact = build("linear", tmp_path / "m.vmfb", "--target", "cpu:x86-64-v3")
    wheels = tmp_path / "wheels"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, ROOT], check=True)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *wheels.glob("*.whl")],
                   check=True)
    missing = subprocess.run([python, "-c", "import iree.compiler"], capture_output=True, text=True)
    assert "ModuleNotFoundError" in missing.stderr, "the base install must not bring the compiler"
    out = tmp_path / "run"
    done = subprocess.run([tmp_path / "venv" / "bin" / "sexpgpu-run", artifact, "--data-root", tmp_path, "--out", out],
                          capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    last = json.loads((out / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["step"] == 200
    assert last["train/loss"] < 3e-4
