"""What IREE says when it refuses, turned into a diagnostic.

A message begins with `"file":line:col to :line:col: error: …`. A few causes are known to be the program's (`KNOWN`):
those are E-TARGET with the source span. Everything else is our bug: E-ICE-003, with the module, the flags and the
versions saved in a folder that the notes name.
"""

from __future__ import annotations

import platform
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from sexpgpu.compiler.passes.iree.targets import Target
from sexpgpu.diagnostics import Diagnostic, Fix, Label, SexpError, Span


@dataclass(frozen=True, slots=True)
class Complaint:
    """One message of IREE: `severity` is "error", "warning", "note" or "remark"."""

    severity: str
    message: str


@dataclass(frozen=True, slots=True)
class Known:
    """A refusal whose cause is the program's: how to recognise it and what to say."""

    pattern: re.Pattern[str]
    code: str
    message: str
    advice: str


KNOWN: tuple[Known, ...] = (
    Known(re.compile(r"stack allocation|stack (?:memory|size).*exceed|exceeded stack", re.IGNORECASE), "E-TARGET-005",
          "the code generator needs more stack for this than `{target}` has", "split the axis it works on"),
    Known(re.compile(r"failed to legalize.*(?:cholesky|triangular_solve)|cholesky", re.IGNORECASE), "E-TARGET-005",
          "`{target}` has no Cholesky factorisation or triangular solve", "use an iteration built from matmul"),
    Known(re.compile(r"failed to legalize.*vector<[\dx]*xi64>", re.DOTALL), "E-TARGET-005",
          "`{target}` cannot compute with tensors of 64-bit integers", "`cast` them to i32 first"),
    Known(re.compile(r"shared memory|workgroup memory", re.IGNORECASE), "E-TARGET-005",
          "this needs more shared memory than `{target}` has", "make the last axes smaller"),
)

_PLACE = re.compile(r'^(?:loc\()?"?(?P<file>[^"\n]+?)"?:(?P<line>\d+):(?P<column>\d+)'
                    r'(?: to (?:(?P<end_line>\d+)?:)?(?P<end_column>\d+))?')


def place_of(message: str) -> Span | None:
    """The span at the head of a message; None for a place in the module's own text (`-` or nothing)."""
    match = _PLACE.match(message)
    if match is None or match["file"] in ("-", "<stdin>", "", "unknown"):
        return None
    line, column = int(match["line"]), int(match["column"])
    end_line = int(match["end_line"] or line)
    return Span(match["file"], line, column, end_line, int(match["end_column"] or column + 1))


def save_bundle(text: str, flags: Sequence[str], complaints: Sequence[Complaint], folder: Path | None) -> Path:
    """What reproduces the failure: `module.mlir`, `flags.txt`, `messages.txt`, `versions.txt`."""
    place = Path(tempfile.mkdtemp(prefix="sexpgpu-ice-", dir=folder))
    place.joinpath("module.mlir").write_text(text, encoding="utf-8")
    place.joinpath("flags.txt").write_text("\n".join(flags) + "\n", encoding="utf-8")
    place.joinpath("messages.txt").write_text(
        "\n".join(f"{c.severity}: {c.message}" for c in complaints) + "\n", encoding="utf-8")
    place.joinpath("versions.txt").write_text(
        f"python {sys.version}\nsystem {platform.platform()}\niree {version('iree-base-compiler')}\n", encoding="utf-8")
    return place


def explain(complaints: Sequence[Complaint], text: str, flags: Sequence[str], target: Target,
            folder: Path | None) -> SexpError:
    """The error to raise for what IREE said; the first recognised message decides."""
    errors = [c for c in complaints if c.severity == "error"] or list(complaints)
    spans = [s for s in (place_of(c.message) for c in errors) if s is not None]
    span = spans[0] if spans else None
    for complaint in complaints:
        for known in KNOWN:
            if known.pattern.search(complaint.message):
                where = place_of(complaint.message) or span
                return SexpError(Diagnostic(
                    known.code, known.message.format(target=target.name),
                    primary=Label(where, "staged here") if where else None, fix=Fix(known.advice)))
    bundle = save_bundle(text, flags, complaints, folder)
    first = errors[0].message.splitlines()[0] if errors else "no message"
    return SexpError(Diagnostic(
        "E-ICE-003", f"the code generator failed for `{target.name}`",
        primary=Label(span, "while generating code for this") if span else None,
        notes=(first, f"a bundle that reproduces it is in {bundle}"),
        fix=Fix("report it with the bundle; another target or a smaller program may do meanwhile")))
