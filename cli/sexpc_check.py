"""`sexpc check`: every mistake of an experiment, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sexpgpu.cli.sexpc_flags import Arguments
from sexpgpu.diagnostics.diagnostic import Diagnostic, Fix, SexpError
from sexpgpu.diagnostics.emit import emit, exit_status
from sexpgpu.diagnostics.span import SourceMap

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.experiment import StagedModule


def run(arguments: Arguments, sources: SourceMap) -> int:
    assert arguments.operand is not None
    replaced = overrides(arguments)

    from sexpgpu.compiler.frontend.experiment import check

    target = arguments.last("target")
    path = Path(arguments.operand)
    staged, diagnostics = check(path, overrides=replaced, sources=sources, module=target is not None)
    if exit_status(diagnostics):
        from sexpgpu.compiler.frontend.repair import repaired
        diagnostics = repaired(path, replaced, sources, diagnostics)
    if target is not None:
        diagnostics = [*diagnostics, *_target_problems(staged, target)]
    if arguments.given("verify-diagnostics"):
        from sexpgpu.cli.sexpc_verify import verify
        return verify(diagnostics, sources)
    format = arguments.last("format", "text") or "text"
    if diagnostics or format == "sarif":   # a SARIF document says so when there is nothing
        emit(diagnostics, sources, format)
    return exit_status(diagnostics)


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


def _target_problems(staged: StagedModule | None, target: str) -> list[Diagnostic]:
    """What the target refuses. The passes run without the code generator: they know the target's dtypes and faults."""
    from sexpgpu.compiler.passes.build import run_pipeline
    from sexpgpu.compiler.passes.iree.targets import parse_target

    try:
        chosen = parse_target(target)
        if staged is not None:
            run_pipeline(staged.module, chosen)
    except SexpError as error:
        return list(error.diagnostics)
    return []
