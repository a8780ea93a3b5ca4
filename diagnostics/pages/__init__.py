"""The pages of `sexpc explain`: for a code a program that raises it, and the same program repaired.

A page holds what stands instead of, or beside, the definitions of `base.sexp`: that and nothing else is what is wrong,
or right. In the texts `=== CODE` begins a page and `---` its repaired half; `@define name=value` is a `-D`, `@target`
what `--target` says, `@without name` takes a definition of the base away, `@saved` names an encoding other than UTF-8.
After `@module` the text is no experiment but a module for `sexpc opt`, after `@shell` it is commands. What is in the
folder is said by `DATA` and `FOLDER`.
"""

from __future__ import annotations

import re
from pathlib import Path

from sexpgpu.diagnostics.record import record

_FOLDER = Path(__file__).parent
_DEFINED = re.compile(r"^\(def\w+\s+([^\s()\[\]]+)", re.MULTILINE)


#: The file that the programs read, in words: numbers are floats unless they are said to be whole.
DATA = ("data/train.parquet has 64 rows: `x` (16 numbers), `y` (4 numbers), `label` (a whole number), `score` (4 "
        "numbers, missing in some rows), `title` (text).")


#: Where commands are run, in words.
FOLDER = ("The folder has `experiment.sexp`, a linear regression, `model.vmfb` built from it, its data, and `runs/a`, "
          "a run of 20 steps.")


@record
class Half:
    """`text` is what the page shows; `program` is the whole experiment, or the module, or the commands."""

    text: str
    program: str
    defines: dict[str, str]
    target: str | None
    saved: str | None
    is_module: bool
    is_shell: bool

    @property
    def language(self) -> str:
        """Of the text, as Markdown calls it."""
        return "sh" if self.is_shell else "mlir" if self.is_module else "lisp"

    @property
    def conditions(self) -> str:
        """What the command line, or the way the file is saved, adds to the text; empty where nothing does."""
        words = [f"-D {name}={value}" for name, value in self.defines.items()]
        words += [f"--target {self.target}"] if self.target else []
        words += ["sexpc opt --pass autodiff{function=loss}"] if self.is_module else []
        command = f"`{' '.join(words)}`" if words else ""
        return command + (f"the file saved as {self.saved.upper()}" if self.saved else "")


@record
class Page:
    code: str
    wrong: Half
    right: Half

    @property
    def setting(self) -> str:
        """What the page takes for granted, in words."""
        if self.wrong.is_shell:
            return FOLDER
        return DATA if self.code.startswith(("E-DATA", "E-STORE")) else ""


def page_of(code: str) -> Page | None:
    """The page of a code; None of one that takes more than a program and records to raise."""
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
    given = {key: value for key, _, value in settings}
    taken = {*_DEFINED.findall(text), *(value for key, _, value in settings if key == "without")}
    program = text if "module" in given or "shell" in given else _base(taken) + text
    return Half(text, program, defines, given.get("target"), given.get("saved"), "module" in given,
                "shell" in given)


def _base(without: set[str]) -> str:
    """The definitions of the base but for those that the page brings itself."""
    forms = re.split(r"\n\n(?=\()", (_FOLDER / "base.sexp").read_text(encoding="utf-8").strip("\n"))
    return "".join(f"{form}\n\n" for form in forms if _DEFINED.findall(form)[0] not in without)
