"""`docs/operations.md`, from the table of built-ins and the docstrings of the prelude.

    python -m sexpgpu.compiler.frontend.ops.manual > docs/operations.md

Names that begin with `%` are the prelude's own and stay out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Keyword
from sexpgpu.compiler.frontend.ops import OPS
from sexpgpu.compiler.frontend.reader import read
from sexpgpu.diagnostics import SourceFile
from sexpgpu.diagnostics.record import record

PRELUDE = Path(__file__).parent.parent / "prelude"

HEAD = """# Operations

<!-- Written by `python -m sexpgpu.compiler.frontend.ops.manual`; a test compares. -->

Every function of the language. A rule shows how shapes go through: `…` stands for any axes. Axes count from 0, negative
ones from the end; broadcasting is NumPy's; every argument can be given by its name. What has no gradient says so.

Plain numbers take the dtype of the tensor they meet. Two tensors of different dtypes do not meet without a `cast`, but
for booleans, which arithmetic takes as 0 and 1. Indices are i32.
"""

FROM_PRELUDE = """
# In the language itself

These are written in the language; the files of `compiler/frontend/prelude/` are meant to be read.
"""


@record
class Entry:
    """One function as the manual shows it."""

    name: str
    signature: str
    lines: tuple[str, ...]


def shown(datum: Datum) -> str:
    """A datum as text."""
    if isinstance(datum, Form):
        inner = " ".join(map(shown, datum.items))
        return f"[{inner}]" if datum.bracket == "[" else f"({inner})"
    value = datum.value
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) and not isinstance(value, Keyword) else str(value)


def builtin_entries() -> dict[str, list[Entry]]:
    """The table's entries by group, in the table's order."""
    groups: dict[str, list[Entry]] = {}
    for op in OPS.values():
        if op.name.startswith("%"):
            continue
        lines = [op.doc]
        if op.rule:
            lines.append(f"Rule: `{op.rule}`.")
        if op.rule and op.grad != "yes":
            lines.append(f"Gradient: {op.grad}.")
        groups.setdefault(op.group, []).append(Entry(op.name, str(op.signature), tuple(lines)))
    return groups


def definitions(path: Path) -> Iterator[Form]:
    """The public functions of a file of the prelude."""
    source = SourceFile(path.name, path.read_text(encoding="utf-8"))
    for form in read(source, lambda _: None):
        if isinstance(form, Form) and form.head in ("defun", "defmacro"):
            name = form.items[1]
            if isinstance(name, Atom) and not str(name.value).startswith("%"):
                yield form


def prelude_entries() -> dict[str, list[Entry]]:
    """The prelude's functions by file."""
    found: dict[str, list[Entry]] = {}
    for path in sorted(PRELUDE.glob("*.sexp")):
        for form in definitions(path):
            doc = form.items[3]
            text = doc.value if isinstance(doc, Atom) and isinstance(doc.value, str) else ""
            signature = shown(form.items[2])[1:-1]
            found.setdefault(path.stem, []).append(
                Entry(shown(form.items[1]), signature, (" ".join(text.split()),)))
    return found


def section(title: str, entries: Sequence[Entry]) -> str:
    parts = [f"\n## {title}\n"]
    for entry in entries:
        call = f"({entry.name} {entry.signature})" if entry.signature else f"({entry.name})"
        parts.append(f"\n**`{call}`**  \n" + "  \n".join(line for line in entry.lines if line) + "\n")
    return "".join(parts)


def manual() -> str:
    """The whole page."""
    text = HEAD + "".join(section(group, entries) for group, entries in builtin_entries().items())
    return text + FROM_PRELUDE + "".join(section(name, entries) for name, entries in prelude_entries().items())


if __name__ == "__main__":
    print(manual(), end="")
