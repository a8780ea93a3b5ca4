"""The command line of `sexpgpu-run`: words in, an artifact's path and option texts out; and `--help`.

Written by hand because every mistake has to be one of our diagnostics with a suggestion; the options themselves stand
in `runtime/options.py`. Imports nothing heavy.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from sexpgpu.diagnostics import Diagnostic, Fix, did_you_mean
from sexpgpu.runtime.options import BY_NAME, GROUPS, OPTIONS
from sexpgpu.runtime.settings import unknown


@dataclass(frozen=True, slots=True)
class CommandLine:
    """`artifact` is None with `help`, `version`, or a problem; `flags` are texts by option name, the last one winning;
    `run_file` is the path of a `run.sexp`; `problems` (E-RUN) are everything that is wrong with the words."""

    artifact: str | None
    flags: dict[str, str]
    run_file: str | None = None
    help: bool = False
    preflight: bool = False
    print_config: bool = False
    version: bool = False
    problems: tuple[Diagnostic, ...] = ()


SWITCHES = {
    "--print-config": "show every setting and where it comes from, as a run file",
    "--preflight": "open and check all data, and show all problems",
}
"""What is done instead of training."""


def parse(words: Sequence[str]) -> CommandLine:
    """What the words say; the values of options are not looked at."""
    problems: list[Diagnostic] = []
    flags: dict[str, str] = {}
    files: list[str] = []
    rest = list(words)
    switches: set[str] = set()
    while rest:
        word = rest.pop(0)
        if word in ("-h", "--help"):
            return CommandLine(None, {}, help=True)
        if word == "--version":
            return CommandLine(None, {}, version=True)
        if word in SWITCHES:
            switches.add(word)
            continue
        if word == "--":
            files += rest
            break
        if not word.startswith("-") or word == "-":
            files.append(word)
            continue
        flag, equals, value = word.partition("=")
        option = BY_NAME.get(flag[2:]) if flag.startswith("--") else None
        if option is None:
            problems.append(_unknown(flag))
            if not equals and rest and not rest[0].startswith("-") and (files or len(rest) > 1) \
                    and not rest[0].endswith((".vmfb", ".sexp")):
                rest.pop(0)  # most likely its value, not the artifact
            continue
        if not equals:
            if not rest or (rest[0].startswith("--") and rest[0] != "--"):
                problems.append(Diagnostic("E-RUN-002", f"`{flag}` lacks its value",
                                           fix=Fix(f"for instance `{flag} {option.example}`")))
                continue
            value = rest.pop(0)
        flags[option.name] = value
    run_files = [name for name in files if name.endswith(".sexp")] if len(files) > 1 else []
    artifacts = [name for name in files if name not in run_files]
    if len(artifacts) != 1 and not (problems and not files):
        problems.append(Diagnostic(
            "E-RUN-011", "no artifact was named" if not artifacts else f"{len(artifacts)} artifacts were named, one is "
            "run", fix=Fix("`sexpgpu-run model.vmfb`; `sexpgpu-run --help` shows more")))
    if len(run_files) > 1:
        problems.append(Diagnostic("E-RUN-011", f"{len(run_files)} run files were named, one is read",
                                   fix=Fix("`sexpgpu-run model.vmfb run.sexp`")))
    return CommandLine(
        artifacts[0] if len(artifacts) == 1 else None, flags, run_files[0] if run_files else None,
        preflight="--preflight" in switches, print_config="--print-config" in switches, problems=tuple(problems))


def _unknown(flag: str) -> Diagnostic:
    near = did_you_mean(flag, SWITCHES)
    return unknown(flag) if near is None else Diagnostic(
        "E-RUN-001", f"there is no option `{flag}`", fix=Fix(f"did you mean `{near}`?"))


USAGE = "usage: sexpgpu-run ARTIFACT [RUN.sexp] [options]"

_INTRO = """\
Trains what `sexpc build` compiled. Everything the run leaves goes into one folder: metrics.jsonl, status.json,
summary.json and checkpoints/. Ctrl-C finishes the step, saves, and says how to go on."""

_EXAMPLES = (
    ("sexpgpu-run model.vmfb", "as the experiment's (run …) says"),
    ("sexpgpu-run model.vmfb --steps 1000 --out runs/a", "longer, in a folder of your choice"),
    ("sexpgpu-run model.vmfb run.sexp", "as the (run …) of a file says"),
    ("sexpgpu-run model.vmfb run.sexp --print-config", "show what would run, and which setting comes from where"),
    ("sexpgpu-run model.vmfb --preflight", "open and check all data, show all problems, train nothing"),
    ("sexpgpu-run model.vmfb --out runs/a", "go on where it stopped"),
    ("sexpgpu-run model.vmfb --init-from best.safetensors", "fine-tune"),
    ("sexpgpu-run model.vmfb --microbatches 8", "a batch eight times as large, in the same memory"),
)

_EXITS = ("exit status: 0 done · 2 options, run folder · 3 data, artifact or checkpoint · 4 not finite · 130 stopped "
          "by a signal; the same command goes on")


def help_text(width: int | None = None) -> str:
    """What `--help` prints, wrapped to the terminal."""
    width = min(width or shutil.get_terminal_size((100, 24)).columns, 110)
    lines = [USAGE, "", *textwrap.wrap(_INTRO, width), ""]
    left = max(len(f"{o.flag} {o.metavar}") for o in OPTIONS) + 4
    for group in GROUPS:
        lines.append(f"{group}:")
        for option in (o for o in OPTIONS if o.group == group):
            text = option.help if option.default is None else f"{option.help} (default {option.default})"
            lines += _entry(f"  {option.flag} {option.metavar}", text, left, width)
        lines.append("")
    lines.append("instead of training:")
    for flag, text in SWITCHES.items():
        lines += _entry(f"  {flag}", text, left, width)
    lines.append("")
    lines.append("examples:")
    column = max(len(command) for command, _ in _EXAMPLES) + 4
    lines += [f"  {command:<{column}}{meaning}" for command, meaning in _EXAMPLES]
    lines += ["", "Each option is also a keyword of (run …), in the experiment and in RUN.sexp, which wins; "
              "the flag wins over both.", *textwrap.wrap(
        _EXITS, width)]
    return "\n".join(lines)


def _entry(head: str, text: str, left: int, width: int) -> list[str]:
    first, *more = textwrap.wrap(text, max(24, width - left))
    return [f"{head:<{left}}{first}", *(" " * left + line for line in more)]


def options_table() -> str:
    """The options as the manual shows them: a Markdown table a group."""
    lines: list[str] = []
    for group in GROUPS:
        lines += [f"**{group.capitalize()}**", "", "| option | default | |", "|---|---|---|"]
        for option in (o for o in OPTIONS if o.group == group):
            default = "" if option.default is None else f"`{option.default}`"
            lines.append(f"| `{option.flag} {option.metavar}` | {default} | {option.help} |")
        lines.append("")
    lines += ["**Instead of training**", "", "| option | |", "|---|---|"]
    lines += [f"| `{flag}` | {text} |" for flag, text in SWITCHES.items()]
    return "\n".join(lines).rstrip()
