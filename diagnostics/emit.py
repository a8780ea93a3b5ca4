"""Showing diagnostics: the formats by name, which stream each goes to, colour and width."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from sexpgpu.diagnostics.diagnostic import Diagnostic
from sexpgpu.diagnostics.span import SourceMap

FORMATS = ("text", "short", "json", "sarif", "github")

#: Where the output is no terminal and `COLUMNS` says nothing.
DEFAULT_WIDTH = 120
_LEAST_WIDTH, _MOST_WIDTH = 40, 200


def emit(diagnostics: Sequence[Diagnostic], sources: SourceMap, format: str = "text", *,
         stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
    """Write all diagnostics in one of `FORMATS`: `text` and `short` to stderr, what programs read to stdout.

    The renderers are imported here, each when it is asked for: a clean check pays for none.
    """
    out, err = stdout or sys.stdout, stderr or sys.stderr
    match format:
        case "text":
            from sexpgpu.diagnostics.render_text import render_text
            _write(err, render_text(diagnostics, sources, width=terminal_width(err), color=use_color(err)))
        case "short":
            from sexpgpu.diagnostics.render_text import render_short
            _write(err, render_short(diagnostics))
        case "json":
            from sexpgpu.diagnostics.render_json import render_json
            _write(out, render_json(diagnostics))
        case "github":
            from sexpgpu.diagnostics.render_github import render_github
            _write(out, render_github(diagnostics))
        case "sarif":
            from sexpgpu.diagnostics.render_sarif import render_sarif
            _write(out, render_sarif(diagnostics))
        case _:
            raise ValueError(format)


def exit_status(diagnostics: Sequence[Diagnostic]) -> int:
    """The status of the first error; 0 without one."""
    return next((d.exit_code for d in diagnostics if d.exit_code), 0)


def use_color(stream: TextIO) -> bool:
    """`NO_COLOR` wins over `FORCE_COLOR`, which wins over whether the stream is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") != "0":
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def terminal_width(stream: TextIO) -> int:
    """`COLUMNS`, the terminal's width, or a fixed one where there is no terminal."""
    given = os.environ.get("COLUMNS", "")
    columns = DEFAULT_WIDTH
    if given.isdecimal() and len(given) < 6:
        columns = int(given)
    elif stream.isatty():
        with suppress(OSError):
            columns = os.get_terminal_size(stream.fileno()).columns   # not `shutil`: it imports every compression
    return min(max(columns, _LEAST_WIDTH), _MOST_WIDTH)


def _write(stream: TextIO, text: str) -> None:
    """Source text can hold what the stream's encoding cannot: that is replaced, never a reason to fail."""
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "replace").decode(encoding))
    stream.flush()
