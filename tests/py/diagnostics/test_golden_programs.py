"""Over all programs of tests/lit that raise diagnostics: house style, spans inside their files, every code covered."""

import re
from collections import Counter
from pathlib import Path

import pytest
from sexpgpu.compiler.frontend.experiment import check
from sexpgpu.compiler.frontend.repair import repaired
from sexpgpu.diagnostics import CODES, Severity, SourceMap
from sexpgpu.diagnostics.edits import applied
from sexpgpu.diagnostics.house_style import check_message

FOLDER = Path(__file__).parents[2] / "lit" / "diagnostics"
# What needs `--target` is left to lit.
PROGRAMS = sorted(p for p in FOLDER.glob("*/*.sexp") if p.parent.name not in ("Inputs", "target"))
FAMILIES = ("READ", "NAME", "ARITY", "TYPE", "SHAPE", "VALUE", "CONTRACT")


def overrides(program):
    return dict(re.findall(r"-D (\S+?)=(\S+)", program.read_text(encoding="utf-8", errors="replace").split("\n", 1)[0]))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_style_and_spans(program):
    sources = SourceMap()
    _, found = check(program, overrides=overrides(program), sources=sources)
    assert program.stem[:3] in {d.code[-3:] for d in found}, "a program is named for the code it raises"
    for diagnostic in found:
        assert check_message(diagnostic) == []
        labels = [*([diagnostic.primary] if diagnostic.primary else []), *diagnostic.secondary]
        edits = diagnostic.fix.edits if diagnostic.fix else ()
        for span in (*(label.span for label in labels), *(edit.span for edit in edits),
                     *(frame.call for frame in diagnostic.chain)):
            source = sources.get(span.file)
            assert source is not None, span
            lines = source.text.split("\n")
            assert (1, 1) <= (span.line, span.column) <= (span.end_line, span.end_column)
            assert span.end_line <= len(lines) and span.end_column <= len(lines[span.end_line - 1]) + 1


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_what_is_offered_repairs(program):
    """The mistake that a fix is offered for is gone with it, and no other of its kind is there."""
    sources, given = SourceMap(), overrides(program)
    _, found = check(program, overrides=given, sources=sources)
    texts = {s.name: s.text for s in sources if not s.name.startswith(("<", "-D "))}
    before = Counter((d.code, d.message) for d in found)
    for d in repaired(program, given, sources, found):
        if d.severity is Severity.ERROR and d.fix and d.fix.edits:
            _, after = check(program, overrides=given, sources=SourceMap(), texts=applied(texts, d.fix.edits))
            assert Counter((e.code, e.message) for e in after)[d.code, d.message] < before[d.code, d.message]


def test_every_code_has_a_golden_program():
    """The families that a file alone can raise; the others need flags, data, targets or faults."""
    raised = {code for rendered in FOLDER.glob("*/*.expected")
              for code in re.findall(r"^(?:error|warning)\[([\w-]+)\]", rendered.read_text(encoding="utf-8"), re.M)}
    streamed = {code for lines in FOLDER.glob("*/family.json")
                for code in re.findall(r'"code": "([\w-]+)"', lines.read_text(encoding="utf-8"))}
    wanted = {name for name, code in CODES.items() if code.family in FAMILIES}
    # Of these the programs need a `-D`.
    assert (wanted - raised, wanted - streamed) == (set(), {"E-NAME-004"})
