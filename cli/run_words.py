"""The words behind a command of `sexpgpu-run` (`infer`, `watch`, `report`, `compare`): flags, operands, help.

`sexpgpu-run ARTIFACT` itself has the table of run options (`runtime/flags.py`).
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError, did_you_mean, one_of


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag with a value, or a switch where `metavar` is empty."""

    name: str
    metavar: str
    help: str
    example: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """`operands` are the names of what must be given; `module` has `run(Words) -> int`."""

    name: str
    operands: tuple[str, ...]
    summary: str
    module: str
    flags: tuple[Flag, ...] = ()

    @property
    def usage(self) -> str:
        return " ".join(["sexpgpu-run", self.name, *self.operands, *(["[options]"] if self.flags else [])])


COMMANDS: tuple[Command, ...] = (
    Command("infer", ("ARTIFACT",), "runs an export of an artifact on arrays from a file", "sexpgpu.cli.run_infer", (
        Flag("checkpoint", "PATH", "a run folder, one of its checkpoints/step-N, or a .safetensors file of weights",
             "runs/a"),
        Flag("export", "NAME", "which export; the only one by default", "logits"),
        Flag("inputs", "FILE", "arrays by name: .npz or .json; .npy for one alone", "x.npz"),
        Flag("outputs", "FILE", "where they go, by the same endings; JSON on stdout by default", "y.npz"),
        Flag("seed", "N", "of the random numbers that the export draws (0)", "7"),
        Flag("device", "NAME", "as for a run", "cpu"),
        Flag("threads", "N", "as for a run", "2"))),
    Command("watch", ("DIR",), "follows a run from another terminal", "sexpgpu.cli.run_watch", (
        Flag("once", "", "show the state now, and end"),)),
    Command("report", ("DIR",), "writes report.html: curves, settings and summary in one file",
            "sexpgpu.cli.run_report", (Flag("output", "FILE", "another place than DIR/report.html", "report.html"),)),
    Command("compare", ("DIR", "DIR"), "shows two runs side by side: settings that differ, metrics at equal steps",
            "sexpgpu.cli.run_compare"),
)
BY_NAME = {command.name: command for command in COMMANDS}


@dataclass(frozen=True, slots=True)
class Words:
    operands: tuple[str, ...]
    flags: dict[str, str]

    def integer(self, name: str) -> int | None:
        """The flag as a whole number from 0; None where it is absent. Raises E-RUN-002."""
        text = self.flags.get(name)
        if text is None:
            return None
        if not text.isascii() or not text.isdigit() or int(text) >= 2**63:
            raise SexpError(Diagnostic("E-RUN-002", f"`--{name}` takes an integer from 0, not `{text}`"))
        return int(text)


def run(command: Command, words: Sequence[str]) -> int:
    """The exit status; raises `SexpError`."""
    from importlib import import_module

    if any(word in ("-h", "--help") for word in words):
        print(help_text(command))
        return 0
    return import_module(command.module).run(parse(command, words))


def parse(command: Command, words: Sequence[str]) -> Words:
    """Raises E-RUN-001, -002 and -011, all at once."""
    problems: list[Diagnostic] = []
    flags: dict[str, str] = {}
    operands: list[str] = []
    by_name = {f"--{flag.name}": flag for flag in command.flags}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            operands += rest
            break
        if not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        name, equals, value = word.partition("=")
        flag = by_name.get(name)
        if flag is None:
            near = did_you_mean(name, by_name)
            problems.append(Diagnostic(
                "E-RUN-001", f"`sexpgpu-run {command.name}` has no option `{name}`",
                fix=Fix(f"did you mean `{near}`?" if near else f"its options are {one_of(name, list(by_name))}"
                        if by_name else "it has none")))
            continue
        if flag.metavar and not equals:
            if not rest or rest[0].startswith("--"):
                problems.append(Diagnostic("E-RUN-002", f"`{name}` lacks its value",
                                           fix=Fix(f"for instance `{name} {flag.example}`")))
                continue
            value = rest.pop(0)
        flags[flag.name] = value
    if len(operands) != len(command.operands) and not problems:
        problems.append(Diagnostic("E-RUN-011", f"`sexpgpu-run {command.name}` takes {' and '.join(command.operands)}, "
                                   f"and {len(operands)} {'was' if len(operands) == 1 else 'were'} given",
                                   fix=Fix(f"`{command.usage}`")))
    if problems:
        raise SexpError(*problems)
    return Words(tuple(operands), flags)


def commands_text() -> str:
    """The commands, as `sexpgpu-run --help` shows them."""
    column = max(len(command.usage) for command in COMMANDS) + 2
    return "\n".join(["commands:", *(f"  {c.usage:<{column}}{c.summary}" for c in COMMANDS)])


def help_text(command: Command) -> str:
    width = min(shutil.get_terminal_size((100, 24)).columns, 110)
    lines = [f"usage: {command.usage}", "", command.summary[0].upper() + command.summary[1:] + ".", ""]
    left = max((len(f"--{f.name} {f.metavar}") for f in command.flags), default=0) + 5
    for flag in command.flags:
        wrapped = textwrap.wrap(flag.help, max(24, width - left))
        lines.append(f"  {f'--{flag.name} {flag.metavar}':<{left - 2}}{wrapped[0]}")
        lines += [" " * left + line for line in wrapped[1:]]
    return "\n".join(lines).rstrip()
