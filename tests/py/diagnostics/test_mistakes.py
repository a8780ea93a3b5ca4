"""Hundreds of realistic mistakes: the right code, the right line, and no fix that does not repair.

`pytest -s` prints the hit rates, and how many of the fixes give back the original text.
"""

from collections import Counter

import mistakes
import pytest
from sexpgpu.compiler.frontend.experiment import check
from sexpgpu.compiler.frontend.repair import repaired
from sexpgpu.diagnostics import Severity, SourceMap
from sexpgpu.diagnostics.edits import applied

ALL = mistakes.all_mistakes()
#: What every run tries; the whole is behind `slow`.
SAMPLE = ALL[::8]


def diagnose(mistake, text):
    sources, path = SourceMap(), mistake.path
    _, found = check(path, overrides={}, sources=sources, module=False, texts={str(path): text})
    return repaired(path, {}, sources, found), {s.name: s.text for s in sources if not s.name.startswith("<")}


def places(diagnostic):
    """Every line that a diagnostic points to: underlined, in the chain of calls, named by a note, or edited."""
    spans = [diagnostic.primary.span] if diagnostic.primary else []
    spans += [label.span for label in diagnostic.secondary] + [frame.call for frame in diagnostic.chain]
    spans += [clue.place for clue in diagnostic.clues]
    spans += [edit.span for edit in diagnostic.fix.edits] if diagnostic.fix else []
    return [(span.file, line) for span in spans for line in range(span.line, span.end_line + 1)]


def judge(mistake):
    """What is wrong with what the compiler says, and whether a fix was offered and gives back the text."""
    found, texts = diagnose(mistake, mistake.text)
    errors = [d for d in found if d.severity is Severity.ERROR]
    wrong = []
    if not errors:
        return ["nothing is reported"], False, False
    strange = [f"{d.code}: {d.message}" for d in errors if not d.code.startswith(mistake.codes)]
    if strange:
        wrong.append(f"also {strange}")
    file = str(mistake.path)
    pointed = [line for d in errors for name, line in places(d) if name == file]
    if not mistake.elsewhere and not any(line in mistake.lines for line in pointed):
        wrong.append(f"points elsewhere: {[str(d.primary.span) for d in errors if d.primary]}")
    offered = [d for d in errors if d.fix and d.fix.edits]
    restored = False
    for d in offered:
        after = applied(texts, d.fix.edits)
        restored = restored or after[file].split() == mistake.original.split()
        _, left = check(mistake.path, overrides={}, sources=SourceMap(), module=False, texts=after)
        others = Counter((e.code, e.message) for e in errors if e is not d)
        if Counter((e.code, e.message) for e in left if e.severity is Severity.ERROR) - others:
            wrong.append(f"the fix {d.fix.text!r} leaves {[e.code for e in left]}")
    return wrong, bool(offered), restored


def run(chosen):
    counts, failures = Counter(), []
    for mistake in chosen:
        wrong, offered, restored = judge(mistake)
        counts[mistake.kind, "tried"] += 1
        counts[mistake.kind, "right"] += not wrong
        counts[mistake.kind, "offered"] += offered
        counts[mistake.kind, "restored"] += restored
        failures += [f"{mistake}: {'; '.join(wrong)}"] if wrong else []
    kinds = list(dict.fromkeys(kind for kind, _ in counts))
    print()
    for name in ("tried", "right", "offered", "restored"):
        counts["all", name] = sum(counts[kind, name] for kind in kinds)
    for kind in (*kinds, "all"):
        print(f"{kind:<28}{counts[kind, 'tried']:4} tried{counts[kind, 'right']:5} right"
              f"{counts[kind, 'offered']:5} with a fix{counts[kind, 'restored']:5} give back the original")
    return failures


def test_there_are_hundreds_of_many_kinds():
    assert len(ALL) >= 200 and len({m.kind for m in ALL}) >= 12
    assert len({(m.example, m.text) for m in ALL}) == len(ALL)


def test_a_sample():
    assert run(SAMPLE) == []


@pytest.mark.slow
def test_all():
    assert run(ALL) == []
