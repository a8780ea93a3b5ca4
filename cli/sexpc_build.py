"""`sexpc build`: from an experiment to one file, or to a stage on the way there."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sexpgpu.cli.sexpc_check import overrides
from sexpgpu.cli.sexpc_progress import Progress
from sexpgpu.cli.words import Arguments, bad_value
from sexpgpu.diagnostics.diagnostic import Diagnostic, Fix, SexpError
from sexpgpu.diagnostics.emit import emit, exit_status
from sexpgpu.diagnostics.span import SourceMap

if TYPE_CHECKING:
    from sexpgpu.compiler.passes.iree.targets import Target
    from sexpgpu.compiler.passes.pipeline import Timing


def run(arguments: Arguments, sources: SourceMap) -> int:
    assert arguments.operand is not None
    started = time.perf_counter()
    path, stage = Path(arguments.operand), arguments.last("emit")
    if stage == "forms":
        from sexpgpu.cli.sexpc_forms import print_forms
        return print_forms(path, sources)
    out, replaced = _output(path, arguments.last("o")), overrides(arguments)
    progress = Progress(sys.stderr)

    from sexpgpu.compiler.passes.build import BuildOptions, build, run_pipeline
    from sexpgpu.compiler.passes.iree.targets import parse_target

    target = parse_target(arguments.last("target", "cpu") or "cpu")
    _check_stages(arguments, target)
    with progress.phase("check"):
        from sexpgpu.compiler.frontend.experiment import check
        staged, diagnostics = check(path, overrides=replaced, sources=sources)
    if exit_status(diagnostics):
        from sexpgpu.compiler.frontend.repair import repaired
        diagnostics = repaired(path, replaced, sources, diagnostics)
    if diagnostics:
        progress.clear()
        emit(diagnostics, sources, arguments.last("format", "text") or "text")
    if staged is None or exit_status(diagnostics):
        return exit_status(diagnostics)
    module, timings = staged.module, []
    disabled, print_after = arguments.all("disable"), arguments.all("print-after")
    if stage is not None:
        if stage != "stablehlo":
            run_pipeline(module, target, stop_after=stage, timings=timings, print_after=print_after, emit=_print_ir,
                         disabled=disabled)
        print(module)
    else:
        options = BuildOptions(print_after=print_after, disabled=disabled)
        with progress.phase(f"compile for {target.name}"):
            build(module, target, out, options, emit=_print_ir, timings=timings)
    if arguments.given("time-passes"):
        print(_times(timings), file=sys.stderr)
    if stage is None:
        progress.clear()
        print(_closing_line(out, staged.manifest, target.name, time.perf_counter() - started))
    return 0


def _output(experiment: Path, given: str | None) -> Path:
    """Where the artifact goes; refused before minutes of work rather than after."""
    out = Path(given) if given else experiment.with_suffix(".vmfb")
    if out.is_dir():
        raise SexpError(Diagnostic("E-RUN-002", f"`-o {out}` is a folder",
                                   fix=Fix(f"for instance `-o {out / experiment.with_suffix('.vmfb').name}`")))
    if given and out.suffix == ".sexp":
        raise SexpError(Diagnostic("E-RUN-002", f"`-o {out}` is the name of an experiment",
                                   fix=Fix("the artifact's name ends in `.vmfb`")))
    return out


def _check_stages(arguments: Arguments, target: Target) -> None:
    """Names of passes and of what can be left out; E-RUN-002 for each that is none, or that does not run here."""
    from sexpgpu.compiler.passes.build import BuildOptions, passes_for
    from sexpgpu.compiler.passes.pipeline import PASSES, SWITCHES

    wrong = [bad_value(f"--{flag}", name, tuple(known)) for flag, known in (
        ("print-after", PASSES), ("disable", SWITCHES), ("emit", ("forms", "stablehlo", *PASSES)))
             for name in arguments.all(flag) if name not in known]
    if not wrong:
        last = arguments.last("emit", "")
        runs = [pass_.name for pass_, _ in passes_for(target, BuildOptions(disabled=arguments.all("disable")))]
        until = [] if last == "stablehlo" else runs[:runs.index(last) + 1] if last in runs else runs
        wrong = [Diagnostic("E-RUN-002", f"`--{flag} {name}`: that pass does not run in this build for {target.name}",
                            fix=Fix(f"these do: {', '.join(f'`{n}`' for n in known) or 'none'}"))
                 for flag, known in (("emit", [*runs, "stablehlo"]), ("print-after", until))
                 for name in arguments.all(flag) if name not in known]
    if wrong:
        raise SexpError(*wrong)


def _print_ir(name: str, text: str) -> None:
    print(f"// ----- after {name} -----\n{text}", file=sys.stderr)


def _times(timings: list[Timing]) -> str:
    left = max(len(timing.name) for timing in timings) + 3
    total = sum(timing.seconds for timing in timings)
    rows = [f"{timing.name:<{left}}{timing.seconds:8.3f} s" for timing in timings]
    return "\n".join([*rows, f"{'total':<{left}}{total:8.3f} s"])


def _closing_line(out: Path, manifest: Mapping[str, object], target: str, seconds: float) -> str:
    """`model.vmfb: 431.2 KiB, 1,234,567 parameters, cpu, 12.3 s`."""
    parameters = manifest.get("parameters")
    rows = parameters if isinstance(parameters, list) else []
    count = sum(math.prod(row["shape"]) for row in rows)
    return f"{out}: {out.stat().st_size / 1024:,.1f} KiB, {count:,} parameters, {target}, {seconds:.1f} s"
