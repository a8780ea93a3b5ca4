"""From an operation's location back to the source text: the span, and the calls that led there."""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.diagnostics import Frame, Span


def span_of(location: ir.Location) -> Span | None:
    """The innermost place a location names, None for an unknown one."""
    match location:
        case ir.FileLineColLoc():
            return Span(location.filename.value if hasattr(location.filename, "value") else str(location.filename),
                        location.start_line, location.start_col, location.end_line, location.end_col)
        case ir.CallSiteLoc():
            return span_of(location.callee)
        case ir.NameLoc():
            return span_of(location.child_loc)
        case ir.FusedLoc():
            return next((s for s in map(span_of, location.locations) if s is not None), None)
    return None


def chain_of(location: ir.Location) -> tuple[Frame, ...]:
    """The calls, outermost first. A frame's name is that of a `NameLoc` at the callee, empty without one."""
    frames: list[Frame] = []
    while isinstance(location, ir.CallSiteLoc):
        call = span_of(location.caller)
        name = location.callee.name_str if isinstance(location.callee, ir.NameLoc) else ""
        if call is not None:
            frames.append(Frame(name, call))
        location = location.callee
    return tuple(frames)
