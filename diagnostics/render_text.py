"""Diagnostics as text for people: what is wrong, the lines with their labels, notes, the call chain and the fix.

The layout is shown in docs/diagnostics.md. Also the one-line form, `short`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sexpgpu.diagnostics.diagnostic import Diagnostic, Frame, Severity
from sexpgpu.diagnostics.render_snippet import Mark, Paint, Snippet
from sexpgpu.diagnostics.span import SourceMap, Span

_COLOURS = {"error": "1;31", "warning": "1;33", "message": "1", "secondary": "1;34", "gutter": "1;34", "note": "1;36",
            "fix": "1;32"}
#: Longer chains (a recursion) are shown by their two ends.
MOST_FRAMES = 8
_LEAST_MARGIN = 2


def render_text(diagnostics: Sequence[Diagnostic], sources: SourceMap, *, width: int = 120, color: bool = False) -> str:
    """All diagnostics with a closing summary line; the empty string when there are none."""
    if not diagnostics:
        return ""
    blocks = [_render(diagnostic, sources, width, color) for diagnostic in diagnostics]
    return "\n\n".join(blocks) + f"\n\n{summary(diagnostics)}\n"


def render_short(diagnostics: Iterable[Diagnostic]) -> str:
    """`file:line:column: error[CODE]: message`, one line each."""
    return "".join(f"{f'{d.primary.span}: ' if d.primary else ''}{d.severity.name.lower()}[{d.code}]: "
                   f"{' '.join(d.message.split())}\n" for d in diagnostics)


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 warning`."""
    counts = [(severity.name.lower(), sum(d.severity == severity for d in diagnostics)) for severity in Severity]
    return ", ".join(f"{n} {name}{'s' if n > 1 else ''}" for name, n in counts if n)


def _render(diagnostic: Diagnostic, sources: SourceMap, width: int, color: bool) -> str:
    severity = diagnostic.severity.name.lower()

    def paint(text: str, style: str) -> str:
        code = _COLOURS[severity if style == "primary" else style]
        return f"\x1b[{code}m{text}\x1b[0m" if color and text.strip() else text

    rows = [paint(f"{severity}[{diagnostic.code}]", severity) + paint(f": {diagnostic.message}", "message")]
    margin = _margin(diagnostic)
    rows += _snippets(diagnostic, sources, margin, width, paint)
    ends = [("note", note) for note in diagnostic.notes]
    if chain := _chain(diagnostic, sources):
        ends.append(("call chain", chain))
    if diagnostic.fix:
        ends.append(("fix", diagnostic.fix.text))
    if ends and diagnostic.primary:
        rows.append(paint(f"{'':{margin}} |", "gutter"))
    for name, text in ends:
        indent = " " * margin
        first, *rest = text.split("\n")
        rows.append(f"{indent}{paint(f'{name}:', 'fix' if name == 'fix' else 'note')} {first}".rstrip())
        rows += [f"{indent}{' ' * (len(name) + 2)}{row}".rstrip() for row in rest]
    return "\n".join(rows)


def _margin(diagnostic: Diagnostic) -> int:
    labels = (*((diagnostic.primary,) if diagnostic.primary else ()), *diagnostic.secondary)
    return max([_LEAST_MARGIN, *(len(str(label.span.end_line)) for label in labels)])


def _snippets(diagnostic: Diagnostic, sources: SourceMap, margin: int, width: int, paint: Paint) -> list[str]:
    """The primary's file first, then the other files in the order of their labels."""
    if diagnostic.primary is None:
        return []
    marks: dict[str, list[Mark]] = {diagnostic.primary.span.file: [Mark(diagnostic.primary, "primary")]}
    for label in diagnostic.secondary:
        marks.setdefault(label.span.file, []).append(Mark(label, "secondary"))
    rows: list[str] = []
    for index, (file, own) in enumerate(marks.items()):
        arrow = ":::" if index else "-->"
        rows.append(" " * margin + paint(arrow, "gutter") + f" {own[0].span}")
        source = sources.get(file)
        bar = paint(f"{'':{margin}} |", "gutter")
        if source is not None:
            rows += [bar, *Snippet(source.lines(), own, margin, width, paint).rows()]
        else:
            rows += [f"{bar} {mark.label.text} (at {mark.span})" for mark in own if mark.label.text]
    return rows


def _chain(diagnostic: Diagnostic, sources: SourceMap) -> str:
    """`model → block (line 80) → attention (nets.sexp:12)`: each function with the place where it was called.

    What the compiler itself calls (`model`, `prepare`) is called at its definition: that place says nothing, and a
    chain of such a function alone says nothing either.
    """
    frames: list[Frame | None] = list(diagnostic.chain)
    if not frames or (len(frames) == 1 and _is_definition(diagnostic.chain[0].call, sources)):
        return ""
    if len(frames) > MOST_FRAMES:
        half = MOST_FRAMES // 2
        frames = [*frames[:half], None, *frames[-half:]]
    home = diagnostic.primary.span.file if diagnostic.primary else ""

    def frame_text(frame: Frame | None) -> str:
        if frame is None:
            return f"… {len(diagnostic.chain) - MOST_FRAMES} more …"
        if _is_definition(frame.call, sources):
            return frame.name
        place = f"line {frame.call.line}" if frame.call.file == home else f"{frame.call.file}:{frame.call.line}"
        return f"{frame.name} ({place})"

    return " → ".join(frame_text(frame) for frame in frames)


def _is_definition(span: Span, sources: SourceMap) -> bool:
    """Whether `span` is a definition, or the name in one."""
    source = sources.get(span.file)
    if source is None or not 1 <= span.line <= len(source.lines()):
        return False
    before = source.lines()[span.line - 1][:span.column + 3]
    return before.lstrip().startswith("(def")
