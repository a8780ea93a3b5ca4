"""From an experiment's file to the staged module and the draft of its manifest, or to everything that is wrong with it.

    check(path, overrides={"width": "64"}, sources=SourceMap()) -> (StagedModule | None, [Diagnostic, …])

Reading is one stage: when a text is wrong, nothing is evaluated. Evaluation, contract and staging are the second: a
bad loader and a bad product are shown together. Nothing is compiled, opened or written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from sexpgpu.compiler.frontend.data import Datum
from sexpgpu.compiler.frontend.deep_stack import with_deep_stack
from sexpgpu.compiler.frontend.lean_import import lean_ir
from sexpgpu.compiler.frontend.reader import read
from sexpgpu.compiler.frontend.report import Reporter
from sexpgpu.compiler.frontend.sources import Files
from sexpgpu.diagnostics import Diagnostic, Severity, SourceFile, SourceMap
from sexpgpu.diagnostics.record import record

if TYPE_CHECKING:
    from iree.compiler import ir
    from sexpgpu.compiler.frontend.manifest_draft import Json


@record(eq=False)
class StagedModule:
    """docs/design.md, section 1. The module holds the manifest as its attribute `sexp.manifest` too."""

    module: ir.Module
    manifest: dict[str, Json]


def check(path: Path, *, overrides: Mapping[str, str], sources: SourceMap, module: bool = True,
          texts: Mapping[str, str] | None = None, reporter: Reporter | None = None
          ) -> tuple[StagedModule | None, list[Diagnostic]]:
    """The staged module, None where there are errors; and all findings, in the order of their places.

    `overrides` are the values of `-D name=value`, as text of the language; the files that are read are entered into
    `sources`. With `module=False` only the findings are wanted: they take less time, and the staged module is None.
    `texts` stand in the place of files, by the names these are shown with. Where `reporter` raises, so does this.
    """
    reporter = reporter or Reporter()
    files = Files(path, sources, reporter, texts or {})
    replaced = _overrides(overrides, sources, reporter)
    if reporter.errors:
        return None, reporter.ordered(files.names)

    def staged() -> StagedModule | None:
        # Here, where staging begins, IREE is imported: a text that cannot be read costs no import.
        with nullcontext() if module else lean_ir():
            from sexpgpu.compiler.frontend.staging_experiment import stage

            return stage(path, files, replaced, sources, reporter, finish=module)

    result = with_deep_stack(staged)
    return (None if reporter.errors else result), _wanted(reporter.ordered(files.names), sources)


def _wanted(found: list[Diagnostic], sources: SourceMap) -> list[Diagnostic]:
    """Without the warnings that a comment allows: `; allow W-CODE` on the line, or on the one above."""
    return [d for d in found if d.severity is Severity.ERROR or not _is_allowed(d, sources)]


def _is_allowed(warning: Diagnostic, sources: SourceMap) -> bool:
    span = warning.primary.span if warning.primary else None
    source = sources.get(span.file) if span else None
    if span is None or source is None:
        return False
    near = source.lines()[max(span.line - 2, 0):span.line]
    return any(warning.code in line.partition("; allow ")[2].split() for line in near)


def _overrides(overrides: Mapping[str, str], sources: SourceMap, reporter: Reporter) -> dict[str, Datum]:
    found: dict[str, Datum] = {}
    for name, text in overrides.items():
        source = sources.add(SourceFile(f"-D {name}", text))
        data = read(source, reporter.add)
        if len(data) == 1:
            found[name] = data[0]
        elif not reporter.errors:
            reporter.add(Diagnostic("E-RUN-002", f"`-D {name}={text}` gives {len(data)} values"))
    return found
