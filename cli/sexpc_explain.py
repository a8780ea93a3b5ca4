"""`sexpc explain`: what a code means, with a program that raises it and the program repaired."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Sequence

from sexpgpu.cli.words import Arguments
from sexpgpu.diagnostics.codes import CODES, EXIT_CODES, Code, exit_code
from sexpgpu.diagnostics.diagnostic import Diagnostic, Fix, SexpError
from sexpgpu.diagnostics.emit import terminal_width
from sexpgpu.diagnostics.pages import DATA, FOLDER, Half, page_of
from sexpgpu.diagnostics.span import SourceMap
from sexpgpu.diagnostics.suggest import did_you_mean

_MOST_WIDTH = 100
#: What stands between two pages.
_RULE = "\n\n" + "-" * 40 + "\n\n"


def run(arguments: Arguments, _: SourceMap) -> int:
    everything = arguments.given("all")
    if everything and arguments.operand is not None:
        raise SexpError(Diagnostic("E-RUN-002", f"`--all` explains every code, and `{arguments.operand}` is one",
                                   fix=Fix("leave one of them out")))
    chosen = list(CODES.values()) if arguments.operand is None else [_known(arguments.operand)]
    if arguments.given("markdown"):
        print(markdown_pages() if everything else markdown_index())
    elif arguments.last("format") == "json":
        print("\n".join(json.dumps(as_json(code), ensure_ascii=False) for code in chosen))
    elif everything or arguments.operand is not None:
        print(_RULE.join(_page(code) for code in chosen))
    else:
        left = max(map(len, CODES)) + 3
        print("\n".join(f"{name:<{left}}{code.title}" for name, code in CODES.items()))
    return 0


def _known(word: str) -> Code:
    name = word.upper().replace("_", "-")
    if name not in CODES:
        near = did_you_mean(name, CODES) if name.count("-") > 1 else None
        advice = f"did you mean `{near}`?" if near else "`sexpc explain` lists them all"
        raise SexpError(Diagnostic("E-RUN-002", f"there is no code `{word}`", fix=Fix(advice)))
    return CODES[name]


def as_json(code: Code) -> dict[str, object]:
    """A code for other programs, with its page; `exit` is the status of a command that raises it."""
    page = page_of(code.name)
    found: dict[str, object] = {"code": code.name, "severity": "error" if exit_code(code.name) else "warning",
                                "title": code.title, "meaning": code.meaning, "exit": exit_code(code.name)}
    if page.right is None:
        return found | {"advice": page.wrong.text}
    return found | {"setting": page.setting, "wrong": page.wrong.text, "right": page.right.text}


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


def markdown_pages() -> str:
    """Every code with what raises it and the same repaired, or with advice: docs/errors.md."""
    rows = ["# Errors, one by one", "",
            "For each code what raises it, and the same repaired. The rest of an experiment is not shown: a loader of",
            "`:x` `[16]`, `:y` `[4]` and `:label`, `prepare`, `model`, `objective`, `optimizer`.",
            DATA, "", f"Where commands are shown: {FOLDER[0].lower()}{FOLDER[1:]}",
            "`sexpc explain CODE` shows a page; this file is what `sexpc explain --all --markdown` prints.",
            ""]
    for code in CODES.values():
        page = page_of(code.name)
        rows += [f"## {code.name}", "", f"{code.title[0].upper()}{code.title[1:]}. {code.meaning}", ""]
        rows += [page.wrong.text] if page.right is None else [
            *_fenced(page.wrong), "", "Repaired:", "", *_fenced(page.right), ""]
    return "\n".join(rows).rstrip("\n")


def _fenced(half: Half) -> Sequence[str]:
    rows = [f"With {half.conditions}:", ""] if half.conditions else []
    if half.text.strip():
        rows += [f"```{half.language}", half.text.rstrip("\n"), "```"]
    else:
        rows = [f"{rows[0][:-1]}."]
    return rows


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _page(code: Code) -> str:
    width = min(terminal_width(sys.stdout), _MOST_WIDTH)
    status, page = exit_code(code.name), page_of(code.name)
    ends = f"A command that raises it exits with {status}." if status else "A warning: it changes no exit status."
    rows = [f"{code.name}: {code.title}", "", *textwrap.wrap(code.meaning, width), ""]
    if page.right is None:
        rows += [*textwrap.wrap(page.wrong.text, width), ""]
    else:
        rows += [*textwrap.wrap(page.setting, width), ""] if page.setting else []
        for title, half in (("raises it", page.wrong), ("is right", page.right)):
            with_ = f"with {half.conditions}" if half.conditions else ""
            if half.text.strip():
                rows += [f"this {title}{f', {with_}' if with_ else ''}:", "",
                         textwrap.indent(half.text.rstrip("\n"), "    "), ""]
            else:
                rows += [f"any program {title} {with_}", ""]
    return "\n".join([*rows, ends])
