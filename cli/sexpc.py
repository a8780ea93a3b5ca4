"""`sexpc`: check, build and look into experiments.

Only the dispatch is here: each command is a module of its own, imported when it is asked for, so that a command costs
what it does and `sexpc --help` never touches IREE. Whatever ends a command ends here, as diagnostics or as a bundle:
no user sees a traceback.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from sexpgpu.cli.words import Arguments, Command, Flag, help_text, parse
from sexpgpu.diagnostics.diagnostic import Diagnostic, Fix, SexpError
from sexpgpu.diagnostics.emit import FORMATS, emit, exit_status, terminal_width
from sexpgpu.diagnostics.span import SourceMap
from sexpgpu.diagnostics.suggest import did_you_mean
from sexpgpu.runtime.dataio.encodings import ENCODINGS

_FORMAT = Flag("--format", "how diagnostics are shown", "FORMAT", choices=FORMATS)
_DEFINE = Flag("-D", "replace the value of a `defvar`", "NAME=VALUE", many=True)
_TARGET = "cpu, cpu:NAME, vulkan, cuda or cuda:sm_NN"

COMMANDS = (
    Command("check", "find every mistake of an experiment, without compiling it", "FILE", (
        _FORMAT, _DEFINE,
        Flag("--target", f"also check that this target can run it: {_TARGET}", "TARGET"),
        Flag("--fix", "apply the fixes that are safe to apply unseen, and say which"),
        Flag("-W", "`error`: warnings fail the check too", "error", choices=("error",)),
        Flag("--watch", "check again whenever a file is saved, until interrupted"),
        Flag("--verify-diagnostics", "compare what is reported with the file's `; expected-error {{CODE}}` comments"),
    ), many=True, about="Finds every mistake of each FILE, an experiment, without compiling it. `-` reads standard "
                        "input, whose paths are relative to the working folder."),
    Command("build", "compile an experiment into one file", "FILE", (
        Flag("-o", "the artifact to write; the experiment's file with .vmfb by default", "OUT.vmfb"),
        Flag("--target", f"what it is compiled for: {_TARGET}; cpu by default, which is this machine's", "TARGET"),
        _DEFINE, _FORMAT,
        Flag("--emit", "print a stage instead of an artifact: forms, stablehlo, or the module after a pass", "STAGE"),
        Flag("--print-after", "print the module after a pass, to stderr", "PASS", many=True),
        Flag("--time-passes", "print the seconds of each pass, to stderr"),
        Flag("--disable", "leave out a pass that only makes a model faster, or a way round a fault of the backend; "
             "`sexpc opt --list` has their names", "NAME", many=True),
    )),
    Command("inspect", "show what an artifact holds", "MODEL.vmfb", (
        Flag("--json", "print the manifest as JSON"), _FORMAT)),
    Command("manifest", "list data files with their records in a manifest, or check one", "FILE", (
        Flag("-o", "the manifest to write, a path or an s3:// URI; manifest.json by default", "OUT.json"),
        Flag("--split", "the split the files belong to; train by default", "NAME"),
        Flag("--update", "keep the other splits of the manifest that is there"),
        Flag("--name", "the manifest's name; that of its folder by default", "NAME"),
        Flag("--encoding", "how the files read, where their names do not say it", "ENCODING", choices=ENCODINGS),
        Flag("--sha256", "also store the hash of each file, which reads all of it"),
        Flag("--check", "compare the manifest FILE with its shards instead of writing one"),
        Flag("--threads", "files looked at at once; 8 by default", "N"), _FORMAT), many=True,
        about="Counts the records of each FILE and notes where reading can begin, so that a run knows its length and a "
              "resume its place without a look at the data. FILE is a file, a folder, an s3:// URI, a prefix (with / "
              "at its end) or an s3:// pattern (in quotes: 's3://bucket/train-*.parquet'). The order given is the "
              "order read; inside folders and prefixes it is that of the names. Shards beside or below OUT.json are "
              "listed relative to it, so that they may move together. In an experiment: "
              "(manifest \"data/manifest.json\" :split \"train\")."),
    Command("opt", "run passes on a module, for those who work on the compiler", "FILE.mlir", (
        Flag("--pass", "a pass and its options, as NAME or NAME{option=value …}", "PASS", many=True),
        Flag("--list", "list the passes, and what `sexpc build --disable` leaves out"), _FORMAT), optional=True,
        about="Runs the passes in the order given, verifies in between and prints the module. `-` reads stdin."),
    Command("explain", "tell what a code means; without one, list them all", "CODE", (
        Flag("--all", "the pages of all codes"),
        Flag("--markdown", "print the index of the manual; with --all, its pages"),
        Flag("--format", "`json`: an object a line, for other programs", "FORMAT", choices=("text", "json"))),
        optional=True),
)

_NO_COMPILER = Diagnostic("E-RUN-014", "the compiler is not installed here", notes=("only what runs artifacts is",),
                          fix=Fix("`pip install 'sexpgpu[compiler]'`"))


def command() -> int:
    """`main` for a process of its own."""
    status = main()
    if sys.argv[1:2] == ["check"]:
        gc.freeze()   # the end of the interpreter would collect what the end of the process frees: a tenth again
    return status


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status; the console script passes it to the shell."""
    # A command is short: collecting cycles costs a tenth of a check and frees nothing that matters.
    gc.disable()
    words = list(sys.argv[1:] if argv is None else argv)
    sources = SourceMap()
    format = _format(words)
    try:
        return _dispatch(words, sources)
    except SexpError as error:
        emit(error.diagnostics, sources, format)
        return exit_status(error.diagnostics)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader (`| head`) has gone; Python would complain once more when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and str(error.name).startswith("iree.compiler"):
            emit([_NO_COMPILER], sources, format)
            return _NO_COMPILER.exit_code
        from sexpgpu.cli.sexpc_ice import internal_error
        diagnostic = internal_error(error, words, sources)
        emit([diagnostic], sources, format)
        return diagnostic.exit_code


def _dispatch(words: list[str], sources: SourceMap) -> int:
    name = words[0] if words else None
    if name in ("-h", "--help", "help"):
        print(_help())
        return 0
    if name == "--version":
        from importlib.metadata import version
        print(f"sexpc {version('sexpgpu')}")
        return 0
    command = next((c for c in COMMANDS if c.name == name), None)
    if command is None:
        raise SexpError(_unknown_command(name))
    arguments = parse(command, words[1:])
    if arguments.help:
        print(help_text(command, min(terminal_width(sys.stdout), 100)))
        return 0
    return _run(command.name, arguments, sources)


def _run(name: str, arguments: Arguments, sources: SourceMap) -> int:
    match name:
        case "check":
            from sexpgpu.cli.sexpc_check import run
        case "build":
            from sexpgpu.cli.sexpc_build import run
        case "inspect":
            from sexpgpu.cli.sexpc_inspect import run
        case "manifest":
            from sexpgpu.cli.sexpc_manifest import run
        case "opt":
            from sexpgpu.cli.sexpc_opt import run
        case "explain":
            from sexpgpu.cli.sexpc_explain import run
        case _:
            raise AssertionError(name)
    return run(arguments, sources)


def _format(words: Sequence[str]) -> str:
    """The format asked for, before the words are parsed: a mistake among them is shown in it too."""
    chosen = "text"
    for word, after in zip(words, [*words[1:], ""], strict=False):
        name, _, value = word.partition("=")
        if name == "--format" and (value or after) in FORMATS:
            chosen = value or after
    return chosen


def _unknown_command(name: str | None) -> Diagnostic:
    names = [command.name for command in COMMANDS]
    listed = ", ".join(f"`{n}`" for n in names)
    if name is None:
        return Diagnostic("E-RUN-013", "no command was given", fix=Fix(f"one of {listed}; `sexpc --help` shows more"))
    near = did_you_mean(name, names)
    return Diagnostic("E-RUN-013", f"`{name}` is not a command of sexpc",
                      fix=Fix(f"{listed}" + (f"; did you mean `{near}`?" if near else "")))


def _help() -> str:
    rows = ["usage: sexpc COMMAND …", "", "Checks, compiles and shows training experiments.", ""]
    left = max(len(command.name) for command in COMMANDS) + 5
    rows += [f"  {command.name:<{left}}{command.summary}" for command in COMMANDS]
    rows += ["", "`sexpc COMMAND --help` shows the options of one. `sexpgpu-run` trains what `sexpc build` wrote.",
             "exit status: 0 clean (warnings are) · 1 the experiment · 2 the command line · 3 files and artifacts · "
             "70 our bug"]
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(command())
