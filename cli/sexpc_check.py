"""`sexpc check`: every mistake of an experiment; with `--fix`, all but those that could be repaired unseen."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sexpgpu.cli.words import Arguments
from sexpgpu.diagnostics.diagnostic import Diagnostic, Fix, SexpError
from sexpgpu.diagnostics.emit import emit, exit_status
from sexpgpu.diagnostics.span import SourceMap

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.experiment import StagedModule

#: What the text of standard input is called.
STDIN = "<stdin>"


def run(arguments: Arguments, sources: SourceMap) -> int:
    replaced = overrides(arguments)
    _refuse_contradictions(arguments)
    if arguments.given("watch"):
        from sexpgpu.cli.sexpc_watch import watch
        return watch(arguments, lambda found: _check_all(arguments, replaced, found))
    return _check_all(arguments, replaced, sources)


def _check_all(arguments: Arguments, replaced: dict[str, str], sources: SourceMap) -> int:
    """Check every file and show what was found; the exit status is the first error's."""
    diagnostics: list[Diagnostic] = []
    for operand in arguments.operands:
        files = SourceMap()   # of one experiment: the next one knows nothing of them
        try:
            diagnostics += _check_one(arguments, operand, replaced, files)
        finally:
            for file in files:
                sources.add(file)
    if arguments.given("verify-diagnostics"):
        from sexpgpu.cli.sexpc_verify import verify
        return verify(diagnostics, sources)
    format = arguments.last("format", "text") or "text"
    if diagnostics or format == "sarif":   # a SARIF document says so when there is nothing
        emit(diagnostics, sources, format)
    return exit_status(diagnostics) or int(bool(diagnostics) and arguments.last("W") == "error")


def _check_one(arguments: Arguments, operand: str, replaced: dict[str, str], sources: SourceMap) -> list[Diagnostic]:
    from sexpgpu.compiler.frontend.experiment import check

    path, texts = Path(operand), {}
    if operand == "-":
        path, texts = Path(STDIN), {STDIN: _standard_input()}
    target = arguments.last("target")
    staged, diagnostics = check(path, overrides=replaced, sources=sources, module=target is not None, texts=texts)
    if exit_status(diagnostics):
        from sexpgpu.compiler.frontend.repair import repaired
        diagnostics = repaired(path, replaced, sources, diagnostics)
        if arguments.given("fix"):
            from sexpgpu.cli.sexpc_fix import fix
            diagnostics = fix(path, replaced, sources, diagnostics)
    if arguments.given("fix") and operand == "-":
        fixed = sources.get(STDIN)
        sys.stdout.write(fixed.text if fixed else texts[STDIN])
    if target is not None:
        diagnostics = [*diagnostics, *_target_problems(staged, target)]
    return diagnostics


def _standard_input() -> str:
    content = sys.stdin.buffer.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        from sexpgpu.compiler.frontend.reader_files import not_utf8
        raise SexpError(not_utf8(content, STDIN, None, SourceMap(), error)) from None


def _refuse_contradictions(arguments: Arguments) -> None:
    wrong = []
    if arguments.operands.count("-") > 1:
        wrong.append(Diagnostic("E-RUN-011", "standard input is named twice"))
    if arguments.given("watch") and "-" in arguments.operands:
        wrong.append(Diagnostic("E-RUN-002", "`--watch` watches files, and `-` is standard input"))
    if arguments.given("fix") and arguments.given("verify-diagnostics"):
        wrong.append(Diagnostic("E-RUN-002", "`--fix` changes what `--verify-diagnostics` compares"))
    to_stdout = arguments.last("format", "text") not in ("text", "short")
    if arguments.given("fix") and "-" in arguments.operands and to_stdout:
        wrong.append(Diagnostic("E-RUN-002", "`--fix` prints the text of standard input where this format goes",
                                fix=Fix("`--format text` and `short` go to standard error")))
    if wrong:
        raise SexpError(*wrong)


def overrides(arguments: Arguments) -> dict[str, str]:
    """The `-D name=value`s, the last one of a name winning."""
    found: dict[str, str] = {}
    problems = []
    for text in arguments.all("D"):
        name, equals, value = text.partition("=")
        if equals and name and value:
            found[name] = value
        else:
            problems.append(Diagnostic("E-RUN-002", f"`-D {text}` is not of the form `name=value`",
                                       fix=Fix("for instance `-D width=256`")))
    if problems:
        raise SexpError(*problems)
    return found


def _target_problems(staged: StagedModule | None, target: str) -> Sequence[Diagnostic]:
    """What the target refuses. The passes run without the code generator: they know the target's dtypes and faults."""
    from sexpgpu.compiler.passes.build import run_pipeline
    from sexpgpu.compiler.passes.iree.targets import parse_target

    try:
        chosen = parse_target(target)
        if staged is not None:
            run_pipeline(staged.module, chosen)
    except SexpError as error:
        return error.diagnostics
    return ()
