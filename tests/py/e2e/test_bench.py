"""The scripts of `bench/` start and say what they measure; what they cannot is told before anything is built."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[3] / "bench"
SCRIPTS = sorted(path.name for path in BENCH.glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))


def said(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], cwd=BENCH.parent, capture_output=True, text=True,
                          env={"COLUMNS": "200", **environment}, check=False)


@pytest.mark.parametrize("script", SCRIPTS)
def test_help(script: str) -> None:
    done = said(f"bench/{script}", "--help")
    assert done.returncode == 0, done.stderr
    first = (BENCH / script).read_text(encoding="utf-8").splitlines()[0].strip('"')
    assert first in done.stdout and "--help" in done.stdout


@pytest.mark.parametrize("words, told", [
    (("turns.py", "examples/linear/experiment.sexp"), "an experiment stands alone"),
    (("turns.py", "a.vmfb", "--without", "rows"), "are for an experiment"),
    (("turns.py", "examples/linear/experiment.sexp", "--without", "rows,colums"), "`colums` cannot be left out"),
    (("turns.py", "examples/linear/experiment.sexp", "--without", "rows", "-D", "x"), "`x` is not NAME=VALUE"),
    (("ops.py", "no-such-operation"), "no operation has such a name"),
    (("shares.py", "examples/linear/experiment.sexp"), "there is no `perf`"),
])
def test_what_cannot_be_measured(words: tuple[str, ...], told: str) -> None:
    done = said(f"bench/{words[0]}", *words[1:], PATH="")
    assert done.returncode != 0 and told in done.stderr and "Traceback" not in done.stderr


def test_turns() -> None:
    done = said("bench/turns.py", "examples/linear/experiment.sexp", "--without", "rows,columns", "--rounds", "1",
                "--steps", "1")
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith(("| as it", "| without"))]
    assert [row[0] for row in rows] == ["| as it is", "| without rows, columns"]
    assert all(float(row[1]) > 0 for row in rows)
