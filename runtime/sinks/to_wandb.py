"""W&B: one run, under the project that is called like the experiment; its files are in the run folder's `wandb/`.

`WANDB_PROJECT`, `WANDB_ENTITY`, `WANDB_MODE` and the rest of its environment are W&B's own. Where there is no key and
no mode is set, it works offline and never asks: `wandb sync` sends the files later.
"""

from __future__ import annotations

import netrc
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlsplit

import wandb
from sexpgpu.runtime.sinks.sink import Line, Opening, last_step


class WandB:
    """`after` is the last step that it has. Steps up to there do not come again: not those that a resumed run repeats,
    and not those of a run that goes back to a checkpoint, since what W&B has is never taken back."""

    def __init__(self, run: wandb.Run, after: int) -> None:
        self._run, self._after = run, after

    def write(self, lines: Sequence[Line]) -> None:
        for line in lines:
            if line.step > self._after:
                self._after = line.step
                self._run.log({**line.values, "time": line.time}, step=line.step)

    def close(self, state: str) -> None:
        self._run.summary["state"] = state
        self._run.finish(exit_code=1 if state == "failed" else 0)


def mode() -> str:
    """`WANDB_MODE`, else `online` where there is a key, else `offline`."""
    if chosen := os.environ.get("WANDB_MODE"):
        return chosen
    if os.environ.get("WANDB_API_KEY"):
        return "online"
    host = urlsplit(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname or ""
    with suppress(OSError, netrc.NetrcParseError):
        if netrc.netrc(os.environ.get("NETRC")).authenticators(host) is not None:
            return "online"
    return "offline"


def open_sink(opening: Opening) -> WandB:
    known = opening.recall("wandb")
    identity = known or secrets.token_hex(4)
    run = wandb.init(
        project=os.environ.get("WANDB_PROJECT") or opening.name, id=identity, name=opening.folder.name,
        dir=str(opening.folder), mode=mode(), resume="allow", config=dict(opening.settings),  # type: ignore[arg-type]
        settings=wandb.Settings(silent=True, console="off", disable_git=True, save_code=False, x_disable_stats=True))
    opening.remember("wandb", identity)
    # Lines are written to metrics.jsonl first, so what stands there is what W&B was given; an earlier session, cut
    # and resumed, may have come further.
    after = max(int(opening.recall("wandb-last") or -1), last_step(opening.metrics)) if known is not None else -1
    opening.remember("wandb-last", str(after))
    return WandB(run, after)
