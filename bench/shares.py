"""Where the time of a step goes: the share of each kind of kernel, by `perf`.

    python bench/shares.py EXPERIMENT [-D NAME=VALUE] [--steps 100] [--each 10]

The experiment is built with symbols for this machine's processor, and some steps on made-up batches are sampled. Shares
are of the processor time of all threads while they run. A kind is what the code generator calls a kernel, without its
number and its shapes, or the name of one of this project's kernels; `update` is the optimizer's. With `--each` the
dearest kernels follow one by one.

Linux only, with `perf` installed (linux-perf, linux-tools) and allowed to sample one's own processes, which is
`kernel.perf_event_paranoid` at 2 or less.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import takewhile
from pathlib import Path

from builds import add_overrides, built
from contender import Contender

SYMBOLS = ("--iree-llvmcpu-link-embedded=false", "--iree-llvmcpu-debug-symbols=true")
#: Samples a second.
RATE = 2000


def sampled(artifact: Path, steps: int, out: Path) -> list[tuple[float, str, str]]:
    """What perf saw of the steps (`kernels`): the process is there, and has made some, before perf looks at it."""
    step = Contender("sexpgpu", "artifact_step.py", artifact)
    step.ask("time 3")
    perf = subprocess.Popen(["perf", "record", "-F", str(RATE), "-p", str(step.process.pid), "-o", out],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    step.ask(f"time {steps}")
    perf.send_signal(signal.SIGINT)
    said = perf.communicate()[1]
    step.close()
    found = kernels(out) if out.exists() and out.stat().st_size else []
    if not found:
        sys.exit(f"perf took no samples; it says:\n{said.strip()}")
    return found


def kernels(samples: Path) -> list[tuple[float, str, str]]:
    """Percent, library and symbol, the dearest first."""
    report = subprocess.run(["perf", "report", "-i", samples, "--sort", "dso,symbol", "--field-separator", "\t"],
                            capture_output=True, text=True, check=True).stdout
    rows = (line.split("\t") for line in report.splitlines() if line and not line.startswith("#"))
    return [(float(row[0].strip(" %")), row[1].strip(), re.sub(r"^\[.\] ", "", row[2].strip()))
            for row in rows if len(row) > 2]


def kind(library: str, symbol: str) -> str:
    """What a sample is counted as."""
    if not library.startswith("iree_dylib"):
        return "the runtime" if library.startswith("_runtime") else "Python and the system"
    function, found, name = symbol.partition("_dispatch_")
    words = (name.partition("_")[2] if found else symbol).split("_")
    what = " ".join(takewhile(lambda word: not re.match(r"\d|[fiu]\d|bf16", word), words)) or "without a name"
    return f"update: {what}" if function.startswith("update") else what


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", metavar="EXPERIMENT", type=Path)
    add_overrides(parser)
    parser.add_argument("--steps", type=int, default=100, help="steps to sample (100)")
    parser.add_argument("--each", type=int, default=0, metavar="N", help="show the N dearest kernels too")
    chosen = parser.parse_args()
    if shutil.which("perf") is None:
        sys.exit("there is no `perf` on this machine: install linux-perf (Debian) or linux-tools (Ubuntu)")
    with tempfile.TemporaryDirectory() as folder:
        # perf reads the symbols from the library that the runtime unpacks, so that has to stay, here.
        os.environ |= {"TMPDIR": folder, "IREE_PRESERVE_DYLIB_TEMP_FILES": "1"}
        artifact = built(chosen.experiment, Path(folder) / "m.vmfb", overrides=dict(chosen.overrides), flags=SYMBOLS)
        found = sampled(artifact, chosen.steps, Path(folder) / "perf.data")
    shares, count = Counter[str](), Counter[str]()
    for percent, library, symbol in found:
        shares[kind(library, symbol)] += percent
        count[kind(library, symbol)] += 1
    print("| kind | % of the time | kernels |\n|---|---|---|")
    for name, percent in shares.most_common():
        if percent >= 0.5:
            print(f"| {name} | {percent:.1f} | {count[name]} |")
    for percent, _, symbol in [row for row in found if row[1].startswith("iree_dylib")][:chosen.each]:
        print(f"{percent:5.1f} %  {symbol}")


if __name__ == "__main__":
    main()
