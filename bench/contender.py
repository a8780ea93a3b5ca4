"""One side of a comparison: a process of its own, asleep when it is not its turn (`peers/__init__.py`)."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

PEERS = Path(__file__).resolve().parent / "peers"


class Contender:
    """`rounds` are the medians of its turns, `seconds` all that was measured."""

    def __init__(self, name: str, script: str, *words: str | Path) -> None:
        self.name = name
        # PyTorch's threads spin between regions by default, also when it is another's turn.
        environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
        self.process = subprocess.Popen([sys.executable, str(PEERS / script), *map(str, words)],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self._answer()
        self.begin()

    def begin(self) -> None:
        """Forgets what was measured."""
        self.rounds: list[float] = []
        self.seconds: list[float] = []
        self.faults = 0.0

    def _answer(self) -> object:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} ended: {self.process.wait()}")
        return json.loads(line)

    def ask(self, words: str) -> object:
        assert self.process.stdin is not None
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        return self._answer()

    def turn(self, words: str) -> None:
        """One turn, `time …`; what it took is added to what there is."""
        answer = self.ask(words)
        self.seconds += answer["seconds"]
        self.rounds.append(statistics.median(answer["seconds"]))
        self.faults = answer["faults"]

    def over(self, other: Contender) -> float:
        """What this one took over what the other took: the median over rounds of the ratio within a round."""
        return statistics.median(a / b for a, b in zip(self.rounds, other.rounds, strict=True))

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
