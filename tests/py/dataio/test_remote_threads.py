"""The native half of far files under ThreadSanitizer: `tests/native/fetches.cpp`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NATIVE = ROOT / "runtime" / "dataio" / "native"


def build(folder: Path) -> Path:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    flags = ["-std=c++20", "-fsanitize=thread", "-g", "-O1", "-pthread", "-I", str(NATIVE)]
    (folder / "none.cpp").write_text("int main() { return 0; }")
    if subprocess.run([compiler, *flags, str(folder / "none.cpp"), "-o", str(folder / "none")],
                      capture_output=True).returncode or subprocess.run([str(folder / "none")]).returncode:
        pytest.skip("the compiler has no ThreadSanitizer here")
    program = folder / "fetches"
    sources = [ROOT / "tests" / "native" / "fetches.cpp", NATIVE / "remote" / "fetch.cpp",
               NATIVE / "remote" / "remote_file.cpp"]
    subprocess.run([compiler, *flags, *map(str, sources), "-o", str(program)], check=True)
    return program


@pytest.mark.parametrize("seconds", [2, pytest.param(60, marks=pytest.mark.slow)])
def test_readers_and_workers_do_not_race(tmp_path: Path, seconds: int) -> None:
    out = subprocess.run([str(build(tmp_path)), str(seconds)], text=True, capture_output=True, timeout=60 + 2 * seconds)
    assert out.returncode == 0 and "WARNING: ThreadSanitizer" not in out.stderr, out.stdout + out.stderr
