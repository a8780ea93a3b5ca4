"""`sexpc opt`: any passes on any module, as `mlir-opt` does; what the lit tests of passes run."""

from __future__ import annotations

import sys
from pathlib import Path

from sexpgpu.cli.words import Arguments
from sexpgpu.diagnostics.diagnostic import Diagnostic, Fix, SexpError
from sexpgpu.diagnostics.record import replace
from sexpgpu.diagnostics.span import SourceMap


def run(arguments: Arguments, _: SourceMap) -> int:
    from sexpgpu.compiler.passes.base import PassTextError
    from sexpgpu.compiler.passes.pipeline import PASSES, SWITCHES, run_pass

    if arguments.given("list"):
        left = max(map(len, (*PASSES, *SWITCHES))) + 3
        rows = [f"{name:<{left}}{found.summary}" for name, found in PASSES.items()]
        rows += ["", "`sexpc build --disable` leaves out:"]
        rows += [f"{name:<{left}}{what}" for name, what in SWITCHES.items()]
        print("\n".join(rows))
        return 0
    if arguments.operand is None:
        raise SexpError(Diagnostic("E-RUN-011", "`sexpc opt` takes one FILE.mlir, and none was given",
                                   fix=Fix("`-` reads the module from stdin")))
    text = _read(arguments.operand)
    for name in arguments.all("pass"):
        try:
            text = run_pass(name, text)
        except PassTextError as error:
            raise SexpError(Diagnostic("E-RUN-002", f"`--pass` does not take `{name}`", notes=(str(error),),
                                       fix=Fix("`sexpc opt --list` lists the passes"))) from None
        except SexpError as error:
            # A module written by hand need not be what the pass may expect of the passes before it.
            raise SexpError(*(d if d.fix else replace(d, fix=Fix(
                "give it what the passes before it leave; `sexpc opt --list` has their order"))
                for d in error.diagnostics)) from error
    sys.stdout.write(text)
    return 0


def _read(operand: str) -> str:
    if operand == "-":
        return sys.stdin.read()
    try:
        return Path(operand).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SexpError(Diagnostic("E-READ-010", f"`{operand}` cannot be read", notes=(str(error),))) from None
