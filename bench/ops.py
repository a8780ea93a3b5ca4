"""Operations with their gradients against PyTorch eager and JAX jit, alternating in one run: medians and ratios.

    python bench/ops.py [--rounds 5] [--calls 5] [WORD …]
    python bench/ops.py --without PASS[,PASS] [--without …] [WORD …]

Words choose operations by their names. Each contender is a process of its own, asleep when it is not its turn. The last
gradient is compared before anything is timed. A ratio is the median over rounds of this project's median over the
peer's in the same round; the last column is over the faster peer. With `--without` the peers are this project itself
with passes left out: what those are worth.

Example: python bench/ops.py --without direct-avx2 --without direct-avx2,patches conv
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path

from builds import add_without
from contender import Contender

sys.path.insert(0, str(Path(__file__).resolve().parent))

from peers.op_cases import OPERATIONS


def compare(everyone: list[Contender], name: str, rounds: int, calls: int) -> None:
    sums = [c.ask(f"last {name}") for c in everyone]
    apart = max(abs(s[0] - sums[0][0]) / (sums[0][1] + 1e-30) for s in sums[1:])
    for contender in everyone:
        contender.begin()
    for _ in range(rounds):
        for contender in everyone:
            contender.turn(f"time {name} {calls}")
    ours, *peers = everyone
    times = [f"{statistics.median(c.seconds) * 1e3:.2f}" for c in everyone]
    ratios = [ours.over(c) for c in peers]
    print(row(name, *times, *(f"{ratio:.2f}" for ratio in with_worst(ratios)))
          + (f" gradients differ: {apart:.1e}" if apart > 1e-3 else ""), flush=True)


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def with_worst(ratios: list[float]) -> list[float]:
    """And that over the fastest of several peers."""
    return [*ratios, max(ratios)] if len(ratios) > 1 else ratios


def contenders(words: list[str], without: list[tuple[str, ...]]) -> list[Contender]:
    ours = Contender("sexpgpu", "sexpgpu_ops.py", *words)
    if without:
        return [ours, *(Contender(f"without {', '.join(passes)}", "sexpgpu_ops.py", *words,
                                  f"--without={','.join(passes)}") for passes in without)]
    return [ours, Contender("PyTorch", "torch_ops.py", *words), Contender("JAX", "jax_ops.py", *words)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_without(parser)
    parser.add_argument("--rounds", type=int, default=5, help="turns of each (5)")
    parser.add_argument("--calls", type=int, default=5, help="calls measured in a turn (5)")
    parser.add_argument("words", metavar="WORD", nargs="*", help="parts of the names of operations; without any, all")
    chosen = parser.parse_args()
    operations = [op.name for op in OPERATIONS if not chosen.words or any(word in op.name for word in chosen.words)]
    if not operations:
        names = "\n  ".join(op.name for op in OPERATIONS)
        parser.error(f"no operation has such a name; there are\n  {names}")
    everyone = contenders(chosen.words, chosen.without)
    before = os.getloadavg()[0]
    peers = [f"/ {c.name}" for c in everyone[1:]]
    head = ["forward and gradient", *(f"{c.name} ms" for c in everyone), *peers, *["/ the fastest"][:len(peers) - 1]]
    print(row(*head), row(*["---"] * len(head)), sep="\n", flush=True)
    for name in operations:
        compare(everyone, name, chosen.rounds, chosen.calls)
    print(f"load {before:.2f} before, {os.getloadavg()[0]:.2f} after; {chosen.rounds} rounds of {chosen.calls} calls")
    for contender in everyone:
        contender.close()


if __name__ == "__main__":
    main()
