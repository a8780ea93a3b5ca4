"""Some thousand steps: memory is flat, and the files are as long as the steps are many. `bench/long_run.py` runs ten
thousand, and reports what the host costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from runs import HERE, lines

STEPS = 2500


def resident(pid: int) -> int:
    """KiB."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0])


def step_of(out: Path) -> int:
    try:
        return json.loads((out / "status.json").read_text()).get("step", 0)
    except FileNotFoundError:
        return 0


def test_memory_and_files(make_artifact, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with open(tmp_path / "log", "w") as log_file:   # the delay lets the status, written once a second, be seen
        process = subprocess.Popen(
            [sys.executable, str(HERE / "run_fake.py"), str(make_artifact(every=500)), "--out", str(out), "--steps",
             str(STEPS), "--checkpoint-every", "100"], env={**os.environ, "FAKE_DELAY": "0.002"}, stdout=log_file,
            stderr=log_file)
    seen: list[tuple[int, int]] = []
    while process.poll() is None:
        try:
            seen.append((step_of(out), resident(process.pid)))
        except (FileNotFoundError, ProcessLookupError, IndexError):
            break
        time.sleep(0.1)
    assert process.wait(60) == 0, (tmp_path / "log").read_text()[-2000:]
    early = [size for step, size in seen if STEPS // 4 <= step <= STEPS // 2]
    late = [size for step, size in seen if step > STEPS // 2]
    assert early and late and max(late) - max(early) < 8 << 10, (early, late)
    log = lines(out)
    assert [line["step"] for line in log] == list(range(1, STEPS + 1))
    longest = max(len(line) for line in (out / "metrics.jsonl").read_text().splitlines())
    assert (out / "metrics.jsonl").stat().st_size <= STEPS * (longest + 1)
    assert {p.name for p in (out / "checkpoints").iterdir()} == {f"step-{STEPS - 100 * i}" for i in range(3)}
    assert (out / "status.json").stat().st_size < 10_000
