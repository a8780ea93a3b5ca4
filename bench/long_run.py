"""Ten thousand steps of a tiny model, alone overnight in small: memory, files, and what the host adds to a step.

    python bench/long_run.py [--steps 10000] [--checkpoint-every 500] [--log-every 1]

The experiment is `examples/linear` with its own data and loader, run by `sexpgpu-run` as a user does. Resident memory
is read from /proc ten times a second and shown by tenths of the run; the host's share is that of summary.json: the time
of the steps that is neither the device's nor a wait for data, so reading counters, schedules, metrics, lines, status.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "linear"
BIN = Path(sys.executable).parent


def resident(pid: int) -> float:
    """MiB."""
    return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


def watched(process: subprocess.Popen, out: Path) -> list[tuple[int, float]]:
    """Steps done and resident memory, ten times a second."""
    seen = []
    while process.poll() is None:
        try:
            step = json.loads((out / "status.json").read_text()).get("step", 0)
            seen.append((step, resident(process.pid)))
        except (OSError, IndexError, ValueError):
            pass   # not yet there, or gone
        time.sleep(0.1)
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10_000, help="of the run (10000)")
    parser.add_argument("--checkpoint-every", default="500", help="as for `sexpgpu-run` (500)")
    parser.add_argument("--log-every", default="1", help="as for `sexpgpu-run` (1)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        subprocess.run([sys.executable, str(EXAMPLE / "make_data.py"), str(folder / "data")], check=True,
                       stdout=subprocess.DEVNULL)
        artifact, out = folder / "m.vmfb", folder / "run"
        subprocess.run([BIN / "sexpc", "build", EXAMPLE / "experiment.sexp", "-o", artifact], check=True,
                       stdout=subprocess.DEVNULL)
        process = subprocess.Popen(
            [BIN / "sexpgpu-run", artifact, "--data-root", folder, "--out", out, "--steps", str(options.steps),
             "--checkpoint-every", options.checkpoint_every, "--log-every", options.log_every],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seen = watched(process, out)
        if process.returncode:
            sys.exit(f"the run ended with {process.returncode}")
        report(options.steps, seen, out)


def report(steps: int, seen: list[tuple[int, float]], out: Path) -> None:
    summary = json.loads((out / "summary.json").read_text())
    session = summary["session"]
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    print(f"{summary['steps']} steps, {session['step_s'] / session['steps'] * 1e6:.0f} µs a step, of which the host "
          f"{summary['runtime_us_per_step']:.0f} µs ({summary['runtime_share']:.0%}), waiting for data "
          f"{session['loader_wait_s'] / session['steps'] * 1e6:.0f} µs")
    print(f"checkpoints: {session['checkpoint_s'] * 1e3:.0f} ms of the loop, "
          f"{session['checkpoint_writing_s'] * 1e3:.0f} ms of the thread that writes")
    for tenth in range(10):
        sizes = [size for step, size in seen if tenth * steps <= step * 10 < (tenth + 1) * steps]
        if sizes:
            print(f"resident memory in tenth {tenth + 1:2}: {min(sizes):.1f} to {max(sizes):.1f} MiB")
    for path in sorted(out.iterdir()):
        if path.is_file():
            print(f"{path.name}: {path.stat().st_size:,} bytes")
    print(f"checkpoints: {', '.join(sorted(p.name for p in (out / 'checkpoints').iterdir()))}")


if __name__ == "__main__":
    main()
