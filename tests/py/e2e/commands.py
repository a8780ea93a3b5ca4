"""The project's commands as a user runs them, and the examples' data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
BIN = Path(sys.executable).parent


def run(*words: str | Path, cwd: Path | None = None, ok: bool = True,
        env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command of the tests' environment; with `ok`, it must succeed."""
    program, *rest = map(str, words)
    done = subprocess.run([str(BIN / program), *rest], capture_output=True, text=True, cwd=cwd, timeout=600,
                          env={**os.environ, "NO_COLOR": "1", **(env or {})})
    assert not ok or done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback (most recent call last)" not in done.stderr, done.stderr
    return done


def make_data(example: str, folder: Path) -> None:
    """The example's dataset under `folder/data`."""
    subprocess.run([sys.executable, str(EXAMPLES / example / "make_data.py"), str(folder / "data")], check=True,
                   capture_output=True)


def build(example: str, out: Path, *words: str) -> Path:
    run("sexpc", "build", EXAMPLES / example / "experiment.sexp", "-o", out, *words)
    return out
