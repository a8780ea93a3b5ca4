"""What a run says when it ends: on stdout how to go on and what lies where, or why it could not write."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError
from sexpgpu.runtime.display.display import duration
from sexpgpu.runtime.settings import Settings


def tell(folder: Path, interrupted: bool, step: int, seconds: float, command: str) -> None:
    """The last words, on stdout: how it ended, how to go on, what is where."""
    if interrupted:
        words = [f"stopped after step {step}, saved", f"go on with: {command}"]
    else:
        words = [f"{step} steps in {duration(seconds)}"]
    words.append(f"{folder}{os.sep}")
    for name, what in (("metrics.jsonl", "a line a step"), ("summary.json", "the last values, and where time went"),
                       ("report.html", "curves and settings, for a browser"), ("profile", "traces of steps"),
                       ("skipped.jsonl", "records that were left out"),
                       ("status.json", "the state, for monitors"), ("manifest.json", "settings and model"),
                       ("checkpoints", "weights and the place to go on from")):
        if (folder / name).exists():
            words.append(f"  {name:<15}{what}")
    try:
        print("\n".join(words), flush=True)
    except BrokenPipeError:  # as with `| head`: the interpreter would complain again when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def command_to_go_on(words: Sequence[str], out: Path, settings: Settings) -> str:
    """The command that goes on with this run: the one that was given, with its folder. Where `(run …)` says how to
    begin, that is overruled."""
    kept: list[str] = []
    skip = resumes = False
    for word in words:
        name = word.partition("=")[0]
        if skip:
            skip = False
        elif name in ("--out", "--resume", "--init-from"):
            skip = word == name
            resumes |= name == "--resume"
        else:
            kept.append(word)
    overruled = ["--resume", "auto"] if resumes or settings.resume != "auto" else []
    return shlex.join([*kept, "--out", str(out), *overruled])


def cannot_write(path: Path, error: OSError) -> SexpError:
    reason = (error.strerror or str(error)).lower()
    where = error.filename if isinstance(error.filename, str) else str(path)
    return SexpError(Diagnostic("E-RUN-006", f"`{where}` cannot be written: {reason}",
                                fix=Fix("`--out` takes a folder with space that you may write into")))
