"""Running `sexpgpu-run` in tests: in this process, or in one of its own that can be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from fake_loader import FakeLoader
from sexpgpu.cli.run import main
from sexpgpu.runtime.folder.lines import VOLATILE

HERE = Path(__file__).parent


def run(artifact: Path, out: Path, *flags: str) -> int:
    """The exit status, in this process, with made-up data."""
    return main([str(artifact), "--out", str(out), *flags], FakeLoader)


def spawn(artifact: Path, out: Path, *flags: str, **environment: str) -> subprocess.Popen[str]:
    """The same in a process of its own; `environment` steers the made-up data (see `run_fake.py`)."""
    return subprocess.Popen(
        [sys.executable, str(HERE / "run_fake.py"), str(artifact), "--out", str(out), *flags],
        env={**os.environ, "COLUMNS": "120", **environment}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Status, stdout, stderr."""
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def lines(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def steady(out: Path) -> list[dict]:
    """The lines without what differs from run to run."""
    return [{k: v for k, v in line.items() if not k.startswith(VOLATILE)} for line in lines(out)]


def last_state(out: Path) -> dict[str, bytes]:
    """The bytes of the newest checkpoint's tensor files."""
    folder = max((out / "checkpoints").glob("step-*"), key=lambda p: int(p.name[5:]))
    return {"step": folder.name.encode(), **{p.name: p.read_bytes() for p in sorted(folder.glob("*.safetensors"))}}
