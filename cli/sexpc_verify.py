"""`sexpc check --verify-diagnostics`: a file says in comments what it must raise.

    (matmul x w)   ; expected-error {{E-SHAPE-002}}
    ; expected-error@+1 {{E-NAME-001}}
    (foo)
    ; expected-warning@4 {{W-CONTRACT-019}}

Without `@` the comment speaks of its own line, `@+N` and `@-N` count from it, `@N` is a line. A diagnostic without a
place counts for line 1 of the first file. What is missing and what was not expected are both failures.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence

from sexpgpu.diagnostics.diagnostic import Diagnostic
from sexpgpu.diagnostics.span import SourceMap

_EXPECTED = re.compile(r";.*?expected-(error|warning)(?:@([+-]?\d+))?\s*\{\{([EW]-[A-Z]+-\d{3})\}\}")

#: Severity, file, line and code of a finding.
Finding = tuple[str, str, int, str]


def verify(diagnostics: Sequence[Diagnostic], sources: SourceMap) -> int:
    """Prints each difference to stderr; 0 when there is none, else 1."""
    files = [source.name for source in sources]
    first = files[0] if files else ""
    found = Counter(_finding(diagnostic, first) for diagnostic in diagnostics)
    wanted = Counter(expected for source in sources for expected in _expected(source.name, source.lines()))
    for what, differences in (("missing", wanted - found), ("unexpected", found - wanted)):
        for (severity, file, line, code), count in sorted(differences.items()):
            times = f" ({count} times)" if count > 1 else ""
            print(f"{file}:{line}: {what} {severity} {code}{times}", file=sys.stderr)
    return int(found != wanted)


def _finding(diagnostic: Diagnostic, first: str) -> Finding:
    span = diagnostic.primary.span if diagnostic.primary else None
    return diagnostic.severity.name.lower(), span.file if span else first, span.line if span else 1, diagnostic.code


def _expected(file: str, lines: Sequence[str]) -> list[Finding]:
    found: list[Finding] = []
    for number, text in enumerate(lines, 1):
        for severity, where, code in _EXPECTED.findall(text):
            line = number if not where else number + int(where) if where[0] in "+-" else int(where)
            found.append((severity, file, line, code))
    return found
