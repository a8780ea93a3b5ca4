"""How long `sexpc check` and `sexpc build` take, as commands, and how large the artifact is.

    python bench/compiler.py [EXPERIMENT …] [--checks 10] [--builds 1]

Without an experiment: examples/bytes-gpt. A check is timed with the interpreter's own start before it and after it
(`python -c pass`), in turns, for that is part of what a user waits. Medians and the least, in seconds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SEXPC = Path(sys.executable).parent / "sexpc"
EXAMPLE = Path(__file__).resolve().parents[1] / "examples/bytes-gpt/experiment.sexp"


def seconds(*command: str | Path) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def row(name: str, times: list[float]) -> str:
    return f"| {name} | {statistics.median(times):.2f} | {min(times):.2f} |"


def measure(experiment: Path, checks: int, builds: int) -> None:
    name = os.path.relpath(experiment)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "m.vmfb"
        empty, checked, built = [], [], []
        for _ in range(checks):
            empty.append(seconds(sys.executable, "-c", "pass"))
            checked.append(seconds(SEXPC, "check", experiment))
        for _ in range(builds):
            built.append(seconds(SEXPC, "build", experiment, "-o", out))
        if checks:
            print(row("`python -c pass`", empty), row(f"`sexpc check {name}`", checked), sep="\n")
        if builds:
            print(row(f"`sexpc build {name}`, {out.stat().st_size >> 10} KiB", built), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", metavar="EXPERIMENT", nargs="*", type=Path, default=[EXAMPLE])
    parser.add_argument("--checks", type=int, default=10, help="checks of each (10)")
    parser.add_argument("--builds", type=int, default=1, help="builds of each (1)")
    chosen = parser.parse_args()
    print("| command | median s | least s |\n|---|---|---|")
    for experiment in chosen.experiments:
        measure(experiment, chosen.checks, chosen.builds)
    print(f"load {os.getloadavg()[0]:.2f}; {chosen.checks} checks and {chosen.builds} builds of each")


if __name__ == "__main__":
    main()
