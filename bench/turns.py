"""Steps of two or more artifacts in turns, in one run: medians, ratios and memory.

    python bench/turns.py ARTIFACT ARTIFACT …
    python bench/turns.py EXPERIMENT [-D NAME=VALUE] --without PASS[,PASS] [--without …]

The first form compares artifacts, of one experiment or of several. The second builds an experiment as it is, and once
more for each `--without`: what a pass is worth in this step. Batches are made up, so no data is needed. Each artifact
runs in a process of its own, asleep when it is not its turn; a turn is one step unmeasured and then some measured. A
ratio is the first one's time over this one's: the median over rounds of that within a round, so that a machine that is
slow for a while is slow for all. The peak is of resident memory, beyond what stood before the first step.

Example: python bench/turns.py examples/bytes-gpt/experiment.sexp --without rows,columns --without lookups
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

from builds import add_overrides, add_without, built
from contender import Contender


def compare(artifacts: dict[str, Path], rounds: int, steps: int) -> None:
    everyone = [Contender(name, "artifact_step.py", path) for name, path in artifacts.items()]
    before = os.getloadavg()[0]
    for _ in range(rounds):
        for contender in everyone:
            contender.turn(f"time {steps}")
    print(f"load {before:.2f} before, {os.getloadavg()[0]:.2f} after; {rounds} rounds of {steps} steps\n"
          "| step | median ms | least ms | first / this | of the least | peak MiB |\n|---|---|---|---|---|---|")
    first = everyone[0]
    for c in everyone:
        print(f"| {c.name} | {statistics.median(c.seconds) * 1e3:.1f} | {min(c.seconds) * 1e3:.1f} | "
              f"{first.over(c):.2f} | {min(first.seconds) / min(c.seconds):.2f} | {c.ask('peak'):.0f} |")
    for contender in everyone:
        contender.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="artifacts (.vmfb), or one experiment")
    add_without(parser)
    add_overrides(parser)
    parser.add_argument("--rounds", type=int, default=8, help="turns of each (8)")
    parser.add_argument("--steps", type=int, default=4, help="steps measured in a turn (4)")
    chosen = parser.parse_args()
    if chosen.files[0].suffix == ".vmfb":
        if chosen.without or chosen.overrides:
            parser.error("`--without` and `-D` are for an experiment, which is built here")
        compare({path.name: path for path in chosen.files}, chosen.rounds, chosen.steps)
        return
    if len(chosen.files) > 1 or not chosen.without:
        parser.error("an experiment stands alone, with one `--without` or more to compare it to")
    with tempfile.TemporaryDirectory() as folder:
        artifacts = {}
        for number, without in enumerate([(), *chosen.without]):
            begun = time.perf_counter()
            name = f"without {', '.join(without)}" if without else "as it is"
            artifacts[name] = built(chosen.files[0], Path(folder) / f"{number}.vmfb", without=without,
                                    overrides=dict(chosen.overrides))
            print(f"{name}: built in {time.perf_counter() - begun:.0f} s, "
                  f"{artifacts[name].stat().st_size >> 10} KiB", flush=True)
        compare(artifacts, chosen.rounds, chosen.steps)


if __name__ == "__main__":
    main()
