"""From a path to a `SourceFile`: the experiment's own file and those it includes."""

from __future__ import annotations

from pathlib import Path

from sexpgpu.diagnostics import Diagnostic, Edit, Fix, Label, SexpError, SourceFile, SourceMap, Span, did_you_mean


def load_source(path: Path, shown: str, sources: SourceMap, at: Span | None = None,
                written: str | None = None) -> SourceFile:
    """The text of `path`, entered into `sources` under the name `shown`.

    `at` is the place that names the file, the string of an `include` that is `written` there; None for the file of the
    command line. Raises a `SexpError` with E-READ-010 where there is no such file, or E-READ-011 where it is not UTF-8.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SexpError(_unreadable(path, shown, at, error, written)) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SexpError(not_utf8(content, shown, at, sources, error)) from None
    return sources.add(SourceFile(shown, text))


def _unreadable(path: Path, shown: str, at: Span | None, error: OSError, written: str | None) -> Diagnostic:
    if path.is_dir():
        what, label = f"`{shown}` is a folder", "a folder"
    elif isinstance(error, FileNotFoundError | NotADirectoryError):
        what, label = f"`{shown}` does not exist", "no such file"
    elif isinstance(error, PermissionError):
        what, label = f"`{shown}` may not be read", "permission denied"
    else:
        what, label = f"`{shown}` cannot be read: {error.strerror or error}", "cannot be read"
    fix = None
    try:
        near = did_you_mean(path.name, sorted(p.name for p in path.parent.iterdir() if p.suffix == ".sexp"))
    except OSError:
        near = None
    if near is not None and near != path.name:
        edits = (Edit(at, f'"{Path(written).with_name(near).as_posix()}"'),) if at and written else ()
        fix = Fix(f"did you mean `{Path(shown).with_name(near)}`?", edits)
    elif at is not None:
        fix = Fix("a path in `include` is relative to the file that includes")
    return Diagnostic("E-READ-010", what, Label(at, label) if at else None, fix=fix)


def not_utf8(content: bytes, shown: str, at: Span | None, sources: SourceMap, error: UnicodeDecodeError) -> Diagnostic:
    """Points at the byte, in a text where what cannot be decoded is replaced."""
    from sexpgpu.runtime.artifact.seal import ZIP_MAGIC  # not for every check

    if content.startswith(ZIP_MAGIC):
        return Diagnostic("E-READ-011", f"`{shown}` is no text but looks like an artifact", Label(at, "here") if at else
                          None, fix=Fix(f"`sexpc inspect {shown}` says what is in it, `sexpgpu-run {shown}` runs it"))
    before = content[:error.start].decode("utf-8-sig", "replace")
    text = before + content[error.start:].decode("utf-8", "replace")
    sources.add(SourceFile(shown, text))
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    place = Span(shown, line, column, line, column + 1)
    secondary = (Label(at, "included here"),) if at else ()
    return Diagnostic("E-READ-011", f"`{shown}` is not UTF-8",
                      Label(place, f"the byte 0x{content[error.start]:02X} at offset {error.start}"), secondary,
                      fix=Fix("save the file as UTF-8"))
