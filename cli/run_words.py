"""The commands of `sexpgpu-run` beside the run itself, whose options stand in a table of their own
(`runtime/options.py`)."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial

from sexpgpu.cli.words import Command, Flag, help_text, parse

_command = partial(Command, program="sexpgpu-run")

COMMANDS: tuple[Command, ...] = (
    _command("infer", "runs an export of an artifact on arrays from a file", "ARTIFACT", (
        Flag("--checkpoint", "a run folder, one of its checkpoints/step-N, or a .safetensors file of weights", "PATH"),
        Flag("--export", "which export; the only one by default", "NAME"),
        Flag("--inputs", "arrays by name: .npz or .json; .npy for one alone", "FILE"),
        Flag("--outputs", "where they go, by the same endings; JSON on stdout by default", "FILE"),
        Flag("--seed", "of the random numbers that the export draws (0)", "N"),
        Flag("--device", "as for a run", "NAME"),
        Flag("--threads", "as for a run", "N")), module="sexpgpu.cli.run_infer"),
    _command("watch", "follows a run from another terminal", "DIR",
             (Flag("--once", "show the state now, and end"),), module="sexpgpu.cli.run_watch"),
    _command("report", "writes report.html: curves, settings and summary in one file", "DIR",
             (Flag("--output", "another place than DIR/report.html", "FILE"),), module="sexpgpu.cli.run_report"),
    _command("compare", "shows two runs side by side: settings that differ, metrics at equal steps", "DIR", (),
             count=2, module="sexpgpu.cli.run_compare"),
)
BY_NAME = {command.name: command for command in COMMANDS}


def run(command: Command, words: Sequence[str]) -> int:
    """The exit status; raises `SexpError`."""
    from importlib import import_module

    arguments = parse(command, words)
    if arguments.help:
        print(help_text(command, min(shutil.get_terminal_size((100, 24)).columns, 110)))
        return 0
    return import_module(command.module).run(arguments)


def commands_text() -> str:
    """The commands, as `sexpgpu-run --help` shows them."""
    column = max(len(command.usage) for command in COMMANDS) + 2
    return "\n".join(["commands:", *(f"  {c.usage:<{column}}{c.summary}" for c in COMMANDS)])
