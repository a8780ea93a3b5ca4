"""The pages of `sexpc explain`: for a code what raises it, and the same repaired.

A page holds what stands instead of, or beside, the definitions of `base.sexp`: that and nothing else is what is wrong,
or right. In the texts `=== CODE` begins a page and `---` its repaired half. Lines that begin with `@` say more:

    @define name=value    a `-D`
    @target name          what `--target` says
    @without name         takes a definition of the base away
    @saved name           an encoding other than UTF-8
    @before command       what is typed before the program is read
    @then command         what is typed once it is built, into `model.vmfb`
    @missing package      a package that is not installed
    @module               the text is a module for `sexpc opt`
    @shell                it is commands
    @python               it is a program that uses the loader
    @instead              it is advice, and the whole page: no program is known to raise the code

What is in the folder is said by `DATA` and `FOLDER`.
"""

from __future__ import annotations

import re
from pathlib import Path

from sexpgpu.diagnostics.record import record

_FOLDER = Path(__file__).parent
_DEFINED = re.compile(r"^\(def\w+\s+([^\s()\[\]]+)", re.MULTILINE)


#: The files that the programs read, in words: numbers are floats unless they are said to be whole.
DATA = ("data/train.parquet has 64 rows: `x` (16 numbers), `y` (4 numbers), `label` (a whole number), `score` (4 "
        "numbers, missing in some rows), `title` (text). data/joined.parquet has the column `y` twice, "
        "data/empty.parquet no row; data/train.jsonl has the rows of data/train.parquet.")


#: Where commands are run, in words.
FOLDER = ("The folder has `experiment.sexp`, a linear regression, `model.vmfb` built from it, its data, and `runs/a`, "
          "a run of 20 steps. Its data are in the bucket `lake` too. `newer.vmfb` and `runs/newer` are of a later "
          "version of sexpgpu, `mixed.vmfb` is of one whose functions had other names, `older.vmfb` of an older IREE, "
          "and `odd.vmfb` of an IREE that wrote another format.")


@record
class Half:
    """`text` is what the page shows; `program` is the whole experiment, or the text where it is none: `kind` is
    `program`, `module`, `shell`, `python` or `instead`."""

    text: str
    program: str
    kind: str
    defines: dict[str, str]
    target: str | None
    saved: str | None
    missing: str | None
    before: tuple[str, ...]
    then: tuple[str, ...]

    @property
    def language(self) -> str:
        """Of the text, as Markdown calls it."""
        return {"shell": "sh", "module": "mlir", "python": "python"}.get(self.kind, "lisp")

    @property
    def conditions(self) -> str:
        """What the command line, other commands, or the way the file is saved add to the text; empty where nothing
        does."""
        words = [f"-D {name}={value}" for name, value in self.defines.items()]
        words += [f"--target {self.target}"] if self.target else []
        words += ["sexpc opt --pass autodiff{function=loss}"] if self.kind == "module" else []
        found = [f"`{' '.join(words)}`"] if words else []
        found += [f"`{command}` before it" for command in self.before]
        found += [f"`{command}` once it is built" for command in self.then]
        found += [f"the file saved as {self.saved.upper()}"] if self.saved else []
        found += [f"the package `{self.missing}` not installed"] if self.missing else []
        return ", ".join(found)


@record
class Page:
    """`right` is None where `wrong` is advice."""

    code: str
    wrong: Half
    right: Half | None

    @property
    def setting(self) -> str:
        """What the page takes for granted, in words."""
        if self.wrong.kind == "shell":
            return FOLDER
        return DATA if self.code.startswith(("E-DATA", "E-STORE")) or self.wrong.kind == "python" else ""


def page_of(code: str) -> Page:
    """The page of a code."""
    return pages(code.split("-")[1].lower())[code]


def pages(family: str) -> dict[str, Page]:
    """The pages of a family, by code."""
    found = {}
    for block in (_FOLDER / f"{family}.txt").read_text(encoding="utf-8").split("=== ")[1:]:
        code, _, rest = block.partition("\n")
        wrong, repaired, right = rest.partition("---\n")
        found[code] = Page(code, _half(wrong), _half(right) if repaired else None)
    return found


def _half(block: str) -> Half:
    lines = block.rstrip("\n").split("\n")
    settings = [line[1:].partition(" ") for line in lines if line.startswith("@")]
    text = "\n".join(line for line in lines if not line.startswith("@")) + "\n"
    defines = dict(value.split("=", 1) for key, _, value in settings if key == "define")
    given = {key: value for key, _, value in settings}
    before, then = (tuple(value for key, _, value in settings if key == name) for name in ("before", "then"))
    kind = next((k for k in ("module", "shell", "python", "instead") if k in given), "program")
    taken = {*_DEFINED.findall(text), *(value for key, _, value in settings if key == "without")}
    program = _base(taken) + text if kind == "program" else text
    return Half(text, program, kind, defines, given.get("target"), given.get("saved"), given.get("missing"), before,
                then)


def _base(without: set[str]) -> str:
    """The definitions of the base but for those that the page brings itself."""
    forms = re.split(r"\n\n(?=\()", (_FOLDER / "base.sexp").read_text(encoding="utf-8").strip("\n"))
    return "".join(f"{form}\n\n" for form in forms if _DEFINED.findall(form)[0] not in without)
