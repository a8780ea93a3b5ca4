"""`sexpc check --fix`: the fixes that can be applied unseen, made in the files, and a line for each that was.

A fix is applied when its text was checked with it and nothing else became wrong. All files are written at the end,
each replaced as a whole: a reader sees the old text or the new one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sexpgpu.compiler.frontend.experiment import check
from sexpgpu.compiler.frontend.repair import repaired
from sexpgpu.compiler.frontend.report import Reporter, is_written
from sexpgpu.diagnostics.diagnostic import Diagnostic, Edit, Fix, SexpError
from sexpgpu.diagnostics.edits import applied, overlap
from sexpgpu.diagnostics.emit import exit_status
from sexpgpu.diagnostics.span import SourceFile, SourceMap
from sexpgpu.runtime.replace import replace_file

#: A fix can uncover what it hid; so often that is followed.
MOST_ROUNDS = 10


def fix(path: Path, overrides: Mapping[str, str], sources: SourceMap, found: Sequence[Diagnostic]
        ) -> list[Diagnostic]:
    """What is left of `found` after the safe fixes. The files are changed, and `sources` holds their new texts."""
    before = {source.name: source.text for source in sources if is_written(source.name)}
    texts, left, done = dict(before), list(found), []
    for _ in range(MOST_ROUNDS):
        chosen = _chosen(left, texts)
        if not chosen:
            break
        edits = [edit for diagnostic in chosen for edit in _edits(diagnostic)]
        changed = applied(texts, edits)
        fresh, quiet = SourceMap(), Reporter()
        quiet.silent = True   # what the program prints has been printed
        _, after = check(path, overrides=overrides, sources=fresh, module=False, texts=changed, reporter=quiet)
        if _reading(after) > _reading(left) or (not _reading(left) and len(after) >= len(left)):
            break   # together they do what none of them did alone
        texts, done = changed, [*done, *chosen]
        left = repaired(path, overrides, fresh, after) if exit_status(after) else after
        if not exit_status(left):
            break
    _write(before, texts)
    for name, text in texts.items():
        sources.add(SourceFile(name, text))
    for diagnostic in done:
        place = diagnostic.fix.edits[0].span if diagnostic.fix else None
        advice = diagnostic.fix.text if diagnostic.fix else ""
        print(f"fixed {place}: {diagnostic.message}: {advice} [{diagnostic.code}]", file=sys.stderr)
    return left


def _chosen(found: Sequence[Diagnostic], texts: Mapping[str, str]) -> list[Diagnostic]:
    """Those with a safe fix, as far as they do not touch the same text; one that touches what another does waits."""
    chosen: list[Diagnostic] = []
    for diagnostic in found:
        edits = _edits(diagnostic)
        if edits and not any(overlap(texts, edits, _edits(other)) for other in chosen):
            chosen.append(diagnostic)
    return chosen


def _edits(diagnostic: Diagnostic) -> tuple[Edit, ...]:
    return diagnostic.fix.edits if diagnostic.fix and diagnostic.fix.safe else ()


def _reading(found: Sequence[Diagnostic]) -> int:
    """How many keep the text from being read: what they hide does not count yet."""
    return sum(d.code.startswith("E-READ") for d in found)


def _write(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Replace the files that changed, with their mode, line ends and byte order mark kept."""
    for name, text in after.items():
        if text == before[name] or name.startswith("<"):
            continue
        target = Path(os.path.realpath(name))   # a link stays a link
        try:
            mark = target.read_bytes()[:3] == b"\xef\xbb\xbf"
            replace_file(target, text.encode("utf-8-sig" if mark else "utf-8"))
        except OSError as error:
            raise SexpError(Diagnostic("E-RUN-002", f"`{name}` cannot be written: {error.strerror or error}",
                                       fix=Fix("without `--fix`, the changes are shown only"))) from None
