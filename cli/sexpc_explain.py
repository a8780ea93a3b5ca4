"""`sexpc explain`: what a code means."""

from __future__ import annotations

import sys
import textwrap

from sexpgpu.cli.sexpc_flags import Arguments
from sexpgpu.diagnostics.codes import CODES, EXIT_CODES, Code, exit_code
from sexpgpu.diagnostics.diagnostic import Diagnostic, Fix, SexpError
from sexpgpu.diagnostics.emit import terminal_width
from sexpgpu.diagnostics.span import SourceMap
from sexpgpu.diagnostics.suggest import did_you_mean

_MOST_WIDTH = 100


def run(arguments: Arguments, _: SourceMap) -> int:
    if arguments.given("markdown"):
        print(markdown_index())
        return 0
    if arguments.operand is None:
        left = max(map(len, CODES)) + 3
        print("\n".join(f"{name:<{left}}{code.title}" for name, code in CODES.items()))
        return 0
    name = arguments.operand.upper()
    if name not in CODES:
        near = did_you_mean(name, CODES)
        advice = f"did you mean `{near}`?" if near else "`sexpc explain` lists them all"
        raise SexpError(Diagnostic("E-RUN-002", f"there is no code `{arguments.operand}`", fix=Fix(advice)))
    print(_page(CODES[name]))
    return 0


def markdown_index() -> str:
    """Every code with its title and meaning, a table for each family: the last part of docs/diagnostics.md."""
    rows: list[str] = []
    family = ""
    for name, code in CODES.items():
        if code.family != family:
            family = code.family
            rows += ["", f"### {family}, exit status {EXIT_CODES[family]}", "", "| code | | meaning |", "|---|---|---|"]
        rows.append(f"| `{name}` | {_cell(code.title)} | {_cell(code.meaning)} |")
    return "\n".join(rows).lstrip("\n")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _page(code: Code) -> str:
    width = min(terminal_width(sys.stdout), _MOST_WIDTH)
    status = exit_code(code.name)
    ends = f"A command that raises it exits with {status}." if status else "A warning: it changes no exit status."
    return "\n".join([f"{code.name}: {code.title}", "", *textwrap.wrap(code.meaning, width), "", ends])
