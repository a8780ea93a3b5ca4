"""The pages of `sexpc explain`: for a code a program that raises it, and the same program repaired.

A page holds what stands instead of, or beside, the definitions of `base.sexp`: that and nothing else is what is wrong,
or right. In the texts `=== CODE` begins a page and `---` its repaired half; `@define name=value` is a `-D`, `@target`
what `--target` says, `@without name` takes a definition of the base away.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent
_DEFINED = re.compile(r"^\(def\w+\s+([^\s()\[\]]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Half:
    """`text` is what the page shows; `program` is the whole experiment."""

    text: str
    program: str
    defines: dict[str, str]
    target: str | None


@dataclass(frozen=True, slots=True)
class Page:
    code: str
    wrong: Half
    right: Half


def page_of(code: str) -> Page | None:
    """The page of a code; None of one that no program alone raises."""
    return pages(code.split("-")[1].lower()).get(code)


def pages(family: str) -> dict[str, Page]:
    """The pages of a family, by code."""
    path = _FOLDER / f"{family}.txt"
    if not path.exists():
        return {}
    found = {}
    for block in path.read_text(encoding="utf-8").split("=== ")[1:]:
        code, _, rest = block.partition("\n")
        wrong, _, right = rest.partition("---\n")
        found[code] = Page(code, _half(wrong), _half(right))
    return found


def _half(block: str) -> Half:
    lines = block.rstrip("\n").split("\n")
    settings = [line[1:].partition(" ") for line in lines if line.startswith("@")]
    text = "\n".join(line for line in lines if not line.startswith("@")) + "\n"
    defines = dict(value.split("=", 1) for key, _, value in settings if key == "define")
    target = next((value for key, _, value in settings if key == "target"), None)
    taken = {*_DEFINED.findall(text), *(value for key, _, value in settings if key == "without")}
    return Half(text, _base(taken) + text, defines, target)


def _base(without: set[str]) -> str:
    """The definitions of the base but for those that the page brings itself."""
    forms = re.split(r"\n\n(?=\()", (_FOLDER / "base.sexp").read_text(encoding="utf-8").strip("\n"))
    return "".join(f"{form}\n\n" for form in forms if _DEFINED.findall(form)[0] not in without)
