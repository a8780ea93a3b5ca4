"""The pipeline, and how passes are run: in order, verified in between, timed and printed on request."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import (
    accumulate,
    artifact,
    autodiff,
    blocks,
    cost,
    counters,
    evaluations,
    narrow,
    optimizer,
    parameters,
    peak,
    precision,
    random,
    share,
    slopes,
    state,
)
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import NoOptions, Options, Pass, PassTextError, parse_pass
from sexpgpu.compiler.passes.forms import FORMS
from sexpgpu.compiler.passes.legalize import WAY_ROUNDS
from sexpgpu.compiler.passes.supported import SUPPORTED
from sexpgpu.diagnostics import Diagnostic, SexpError

#: The way of every experiment. The target's `forms` and the code generator follow.
PIPELINE: tuple[Pass, ...] = (
    parameters.PASS,
    random.PASS,
    counters.PASS,
    autodiff.PASS,
    narrow.PASS,
    peak.PASS,
    precision.PASS,
    cost.PASS,
    share.PASS,
    slopes.PASS,
    state.PASS,
    accumulate.PASS,
    optimizer.PASS,
    evaluations.PASS,
    blocks.PASS,
    artifact.PASS,
)

#: Every pass by name, as `sexpc opt --pass` knows them, in order.
PASSES: dict[str, Pass] = {p.name: p for p in (*PIPELINE, *SUPPORTED.values(), *(found for found, _ in FORMS))}

#: What `sexpc build --disable` can leave out: passes that only make a module faster, ways round.
SWITCHES: dict[str, str] = {**{p.name: p.summary for p in PASSES.values() if p.optional},
                            **{w.name: w.reason for w in WAY_ROUNDS}}


@dataclass(slots=True)
class Timing:
    """Seconds a pass took, its verification included."""

    name: str
    seconds: float


def _ice(code: str, pass_: Pass, what: str) -> SexpError:
    return SexpError(Diagnostic(code, f"the pass `{pass_.name}` failed", notes=(what,)))


def _verify(module: ir.Module, pass_: Pass, gone: set[str]) -> None:
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise _ice("E-ICE-002", pass_, str(error)) from error
    for func in fn.functions(module):
        for op in fn.walk(fn.body(func)):
            kind = hlo.marker_kind(op)
            if kind in gone:
                raise _ice("E-ICE-002", pass_, f"a marker `{kind}` is left in @{fn.symbol(func)}")


def apply_pass(module: ir.Module, pass_: Pass, options: Options, gone: set[str]) -> None:
    """Runs one pass and verifies. Any exception but a SexpError is our bug and becomes E-ICE-001."""
    try:
        with module.context, ir.Location.unknown():
            pass_.apply(module, options)
    except (SexpError, PassTextError):
        raise
    except Exception as error:
        raise _ice("E-ICE-001", pass_, f"{type(error).__name__}: {error}") from error
    gone.update(pass_.lowers)
    with module.context:
        _verify(module, pass_, gone)


def run_passes(module: ir.Module, passes: Sequence[tuple[Pass, Options]], *, print_after: Sequence[str] = (),
               emit: Callable[[str, str], None] | None = None, timings: list[Timing] | None = None,
               stop_after: str | None = None) -> None:
    """`emit(pass name, module text)` is called for the passes named in `print_after`."""
    gone: set[str] = set()
    for pass_, options in passes:
        start = time.perf_counter()
        apply_pass(module, pass_, options, gone)
        if timings is not None:
            timings.append(Timing(pass_.name, time.perf_counter() - start))
        if pass_.name in print_after and emit is not None:
            emit(pass_.name, str(module))
        if pass_.name == stop_after:
            return


def run_pass(text: str, source: str) -> str:
    """One pass, `name` or `name{option=value}`, on the text of a module: the text of the result.

    Raises PassTextError for the former; SexpError when the module does not parse (an E-ICE: nobody writes these).
    """
    pass_, options = parse_pass(text, PASSES)
    with ir.Context():
        module = ir.Module.parse(source)
        apply_pass(module, pass_, options, set())
        return f"{module}\n"


__all__ = ["PASSES", "PIPELINE", "SWITCHES", "NoOptions", "Timing", "run_pass", "run_passes"]
