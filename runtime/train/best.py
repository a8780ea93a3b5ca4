"""Which checkpoint `--keep-best` keeps: that of the step whose pass found the least, or the greatest, of a metric."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sexpgpu.runtime.checkpoint.cursor import Best
from sexpgpu.runtime.dataio.spec import Json


def better(best: Best | None, wanted: str | None, line: Mapping[str, Json], step: int) -> Best | None:
    """The best one after a line: a new one where its metric is better than all before, else `best` itself. A tie is no
    gain, what is no number neither; one of another metric, before a resume with other settings, does not count."""
    if wanted is None:
        return best
    value = line.get(wanted.removeprefix("min:").removeprefix("max:"))
    if not isinstance(value, float) or not math.isfinite(value):
        return best
    if best is not None and best.metric == wanted:
        old = float.fromhex(best.value)
        if not (value > old if wanted.startswith("max:") else value < old):
            return best
    return Best(wanted, step, value.hex())


def shown(best: Best | None) -> Json:
    """As the summary tells it."""
    return None if best is None else {"metric": best.metric, "step": best.step, "value": float.fromhex(best.value)}
