"""`sexpgpu-run compare`: two run folders as tables."""

from __future__ import annotations

from sexpgpu.cli.words import Arguments
from sexpgpu.diagnostics import Diagnostic, SexpError


def run(arguments: Arguments) -> int:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
    from sexpgpu.runtime.look.compare import compare
    from sexpgpu.runtime.look.run import RunFiles, open_run

    runs: list[RunFiles] = []
    problems: list[Diagnostic] = []
    for folder in arguments.operands:
        try:
            runs.append(open_run(folder))
        except SexpError as error:
            problems += error.diagnostics
    if problems:
        raise SexpError(*problems)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=160)  # a pipe has no width; nothing is to be cut
    for made in compare(*runs):
        table = Table(title=made.title, title_justify="left", box=SIMPLE_HEAD, title_style="bold")
        for i, head in enumerate(made.head):
            table.add_column(Text(head), justify="left" if i == 0 else "right", overflow="fold")
        for row in made.rows:
            table.add_row(*map(Text, row))
        console.print(table)
    return 0
