"""Operations with their gradients against PyTorch eager and JAX jit, alternating in one run: medians and ratios.

    python bench/ops.py [--rounds 5] [--calls 5] [WORD …]

Words choose operations by their names. Each contender is a process of its own, asleep when it is not its turn. The last
gradient is compared before anything is timed. A ratio is the median over rounds of this project's median over the
peer's in the same round; the last column is over the faster peer.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path

from contender import Contender

sys.path.insert(0, str(Path(__file__).resolve().parent))

from peers.op_cases import OPERATIONS


def compare(everyone: list[Contender], name: str, rounds: int, calls: int) -> None:
    sums = [c.ask(f"last {name}") for c in everyone]
    apart = max(abs(s[0] - sums[0][0]) / (sums[0][1] + 1e-30) for s in sums[1:])
    for contender in everyone:
        contender.rounds, contender.seconds = [], []
    for _ in range(rounds):
        for contender in everyone:
            contender.turn(f"time {name} {calls}")
    ours, *peers = everyone
    ratios = [statistics.median(a / b for a, b in zip(ours.rounds, c.rounds, strict=True)) for c in peers]
    times = " | ".join(f"{statistics.median(c.seconds) * 1e3:.2f}" for c in everyone)
    print(f"| {name} | {times} | {ratios[0]:.2f} | {ratios[1]:.2f} | {max(ratios):.2f} |"
          + (f" gradients differ: {apart:.1e}" if apart > 1e-3 else ""), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=5)
    parser.add_argument("words", nargs="*", help="parts of the names of operations")
    chosen = parser.parse_args()
    everyone = [Contender(name, script, *chosen.words) for name, script in (
        ("sexpgpu", "sexpgpu_ops.py"), ("torch eager", "torch_ops.py"), ("jax jit", "jax_ops.py"))]
    before = os.getloadavg()[0]
    print("| forward and gradient | sexpgpu ms | PyTorch ms | JAX ms | / PyTorch | / JAX | / the faster |\n"
          "|---|---|---|---|---|---|---|")
    for op in OPERATIONS:
        if not chosen.words or any(word in op.name for word in chosen.words):
            compare(everyone, op.name, chosen.rounds, chosen.calls)
    print(f"load {before:.2f} before, {os.getloadavg()[0]:.2f} after; {chosen.rounds} rounds of {chosen.calls} calls")
    for contender in everyone:
        contender.close()


if __name__ == "__main__":
    main()
