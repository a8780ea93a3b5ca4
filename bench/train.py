"""A training step against PyTorch eager and JAX jit, alternating in one run: medians and ratios.

    python bench/train.py [--rounds 12] [--steps 4] [--only bytes-gpt|gpt4|conv|mlp|lstm]

Examples: bytes-gpt (5 layers, width 128, 256 bytes, 16 x 128 tokens), the same text with 4 layers, width 256,
vocabulary 4096 and 4 x 128 tokens, the convolutions with batch norm and the perceptron of the digits, the LSTM of the
adding problem. AdamW, the same first weights and batches; the first losses are compared before anything is timed. Each
contender is a process of its own, asleep when it is not its turn; a turn is one step unmeasured and then some measured.
The ratio is the median over rounds of this project's median over the peer's in the same round. Run it on a quiet
machine: the load is printed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from contender import Contender

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
RATE = 1e-3
sys.path.insert(0, str(HERE))

from peers.step_models import MODELS  # noqa: E402


def build(model: str, out: Path) -> None:
    words = [word for name, value in MODELS[model].overrides.items() for word in ("-D", f"{name}={value}")]
    code = "import sys; from sexpgpu.cli.sexpc import main; sys.exit(main())"
    experiment = str(EXAMPLES / MODELS[model].experiment)
    subprocess.run([sys.executable, "-c", code, "build", experiment, "-o", str(out), *words], check=True)


def compare(model: str, rounds: int, steps: int, folder: Path) -> None:
    artifact, weights = folder / f"{model}.vmfb", folder / f"{model}.npz"
    build(model, artifact)
    words = (model, weights, RATE)
    ours = Contender("sexpgpu", "sexpgpu_step.py", *words, artifact)
    everyone = [ours, Contender("torch eager", "torch_step.py", *words), Contender("jax jit", "jax_step.py", *words)]
    losses = {c.name: c.ask("losses 5") for c in everyone}
    for name, values in losses.items():
        worst = max(abs(a - b) / abs(b) for a, b in zip(losses["sexpgpu"], values, strict=True))
        print(f"  {name:<12} losses {values[0]:.6f} … {values[-1]:.6f}, apart from ours by at most {worst:.1e}")
    before = os.getloadavg()[0]
    for _ in range(rounds):
        for contender in everyone:
            contender.turn(f"time {steps}")
    print(f"  load {before:.2f} before, {os.getloadavg()[0]:.2f} after; {rounds} rounds of {steps} steps")
    print(f"  {'':<12} {'median ms':>10} {'least ms':>9} {'faults':>8} {'ours / this':>12} {'of the least':>13}")
    for c in everyone:
        ratio = statistics.median(a / b for a, b in zip(ours.rounds, c.rounds, strict=True))
        print(f"  {c.name:<12} {statistics.median(c.seconds) * 1e3:10.1f} {min(c.seconds) * 1e3:9.1f} {c.faults:8.0f} "
              f"{ratio:12.2f} {min(ours.seconds) / min(c.seconds):13.2f}", flush=True)
    for contender in everyone:
        contender.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--only", choices=tuple(MODELS))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for model in [arguments.only] if arguments.only else MODELS:
            print(model, flush=True)
            compare(model, arguments.rounds, arguments.steps, Path(folder))


if __name__ == "__main__":
    main()
