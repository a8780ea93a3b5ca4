"""What the loader says when it says no: one diagnostic an error, with a code of the DATA or STORE family."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError, one_of
from sexpgpu.diagnostics.record import replace

#: What to do where the place that found the fault knows no more than its code.
_USUAL = {
    "E-DATA-003": "declare the shape that the rows have, mend the row, or leave it out: `--on-bad-data skip-record`",
    "E-DATA-008": "name files that hold records",
    "E-STORE-003": "name another file, or its `:encoding`",
}


def error(code: str, message: str, *, notes: Sequence[str] = (), fix: str = "") -> SexpError:
    """The error to raise; `message` and `notes` are facts, only `fix` advises."""
    fix = fix or _USUAL.get(code, "")
    return SexpError(Diagnostic(code, message, notes=tuple(notes), fix=Fix(fix) if fix else None))


def error_of(code: str, message: str, notes: list[str], advice: str, word: str, choices: list[str]) -> SexpError:
    """A fault of the native part; with a `word`, the advice lists the `choices` and names the nearest."""
    if word:
        listed = _listed(word, choices)
        advice = f"{advice}; there is {listed}" if advice else f"there is {listed}"
    return error(code, message, notes=notes, fix=advice)


def looked_in(missing: SexpError, base: str) -> SexpError:
    """The same error; of a file that is not there, with the folder in which relative paths were looked for."""
    return SexpError(*(
        replace(d, notes=(*d.notes, f"relative paths were looked for in `{os.path.abspath(base)}`"),
                fix=Fix("make the data there, or name another folder with `--data-root`"))
        if d.code == "E-STORE-001" and "`s3://" not in d.message else d for d in missing.diagnostics))


def _listed(word: str, choices: list[str]) -> str:
    """A closed set that fits on a line: of many names, the first dozen and the nearest."""
    if len(choices) <= 12:
        return one_of(word, choices)
    from sexpgpu.diagnostics import did_you_mean

    near = did_you_mean(word, choices)
    text = ", ".join(f"`{c}`" for c in choices[:12]) + f" and {len(choices) - 12} more"
    return f"{text}; did you mean `{near}`?" if near else text
