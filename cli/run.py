"""`sexpgpu-run`: an artifact, options, an exit status. Everything heavy is imported after the options are right."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sexpgpu.runtime.allocator import start_over

if TYPE_CHECKING:
    from sexpgpu.diagnostics import Diagnostic
    from sexpgpu.runtime.flags import CommandLine
    from sexpgpu.runtime.settings import Layer
    from sexpgpu.runtime.train.feed import OpenLoader


def main(words: Sequence[str] | None = None, open_loader: OpenLoader | None = None, *, ends: bool = False) -> int:
    """The entry point. With `words` given (tests, other programs) the process is not replaced, and `ends` says whether
    it ends with the run."""
    begun = time.time()
    if words is None:
        ends = True
        words = sys.argv[1:]
        if words[:1] not in (["watch"], ["report"], ["compare"]):
            start_over()
    from sexpgpu.diagnostics import SexpError
    try:
        return _main(list(words), open_loader, begun, ends)
    except SexpError as error:
        return _show(error.diagnostics)
    except KeyboardInterrupt:  # before the run listens to signals itself
        return 130
    except Exception as error:  # a traceback is never what a user sees
        return _show((_internal(error, words),))


def _main(words: list[str], open_loader: OpenLoader | None, begun: float, ends: bool) -> int:
    from sexpgpu.cli.run_words import BY_NAME, commands_text, run

    if words and words[0] in BY_NAME:
        return run(BY_NAME[words[0]], words[1:])
    from sexpgpu.runtime.flags import help_text, parse

    _check_command(words)

    line = parse(words)
    if line.help:
        print(f"{help_text()}\n\n{commands_text()}")
        return 0
    if line.version:
        from importlib.metadata import version
        print(f"sexpgpu-run {version('sexpgpu')}")
        return 0
    layers = _layers(line)
    if layers is None:
        return WRONG_OPTIONS
    from sexpgpu.runtime.train.execute import execute

    if open_loader is None:
        from sexpgpu.runtime.dataio import Loader
        open_loader = Loader
    return execute(line, layers, [_program(), *words], open_loader, begun, ends=ends)


def _check_command(words: list[str]) -> None:
    """E-RUN-013 where the first of several words is neither a file nor a command, and close to one."""
    from os.path import exists

    from sexpgpu.cli.run_words import BY_NAME
    from sexpgpu.diagnostics import Diagnostic, Fix, SexpError, did_you_mean

    if len(words) > 1 and words[0].isalpha() and not exists(words[0]) and (near := did_you_mean(words[0], BY_NAME)):
        raise SexpError(Diagnostic("E-RUN-013", f"`{words[0]}` is no command of sexpgpu-run, and no file",
                                   fix=Fix(f"did you mean `{near}`? `sexpgpu-run --help` shows the others")))


def _program() -> str:
    """How this program is called from here: by its name, or by its path where the name alone finds no or another one.
    """
    from pathlib import Path
    from shutil import which

    name, given = "sexpgpu-run", sys.argv[0]
    found = which(name)
    if Path(given).name != name or (found is not None and Path(found).resolve() == Path(given).resolve()):
        return name
    return given


WRONG_OPTIONS = 2
"""The exit status where the words or the run file are wrong, whatever is wrong with the file."""


def _layers(line: CommandLine) -> list[Layer] | None:
    """The settings of the run file and of the flags; None where anything is wrong with either, and all of it is shown.
    """
    from sexpgpu.diagnostics import SourceMap
    from sexpgpu.diagnostics.emit import emit
    from sexpgpu.runtime.settings import read_layer

    sources, problems, layers = SourceMap(), list(line.problems), []
    if line.run_file is not None:
        from sexpgpu.cli.run_file import read_run_file

        found = read_run_file(line.run_file, sources)
        problems += found.problems
        layers.append(read_layer(f"`{line.run_file}`", found.values, ":", problems, found.places))
    layers.append(read_layer("the command line", line.flags, "--", problems))
    if problems:
        emit(problems, sources)
        return None
    return layers


def _show(diagnostics: Sequence[Diagnostic]) -> int:
    from sexpgpu.diagnostics import SourceMap
    from sexpgpu.diagnostics.emit import emit, exit_status

    emit(diagnostics, SourceMap())
    return exit_status(diagnostics)


def _internal(error: Exception, words: Sequence[str]) -> Diagnostic:
    """Saves the traceback where it can be found, and says so."""
    import os
    import platform
    import tempfile
    import traceback

    from sexpgpu.diagnostics import Diagnostic, Fix

    summary = (str(error).strip() or "no message").splitlines()[0]
    notes = [f"{type(error).__name__}: {summary}"]
    try:
        descriptor, path = tempfile.mkstemp(prefix="sexpgpu-ice-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"sexpgpu-run {' '.join(words)}\n{platform.platform()}, Python {sys.version}\n\n")
            file.write("".join(traceback.format_exception(error)))
        notes.append(f"the traceback is in {path}")
    except OSError as problem:
        notes.append(f"the traceback could not be saved: {problem.strerror}")
    return Diagnostic("E-ICE-004", "an internal error of sexpgpu-run", notes=tuple(notes),
                      fix=Fix("this is a bug in sexpgpu, not in the experiment; report it with that file"))


if __name__ == "__main__":
    sys.exit(main())
