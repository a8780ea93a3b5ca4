"""`legalize-<target>`: the known ways round a code generator's mistakes, each named, each with a test that shows it.

A way-round leaves the list when its test no longer fails without it.
"""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import Pass, PassTextError
from sexpgpu.compiler.passes.legalize.barriers import BARRIER
from sexpgpu.compiler.passes.legalize.constant_loops import CONSTANT_LOOP
from sexpgpu.compiler.passes.legalize.conversions import COUNTER, MASK, UNSIGNED
from sexpgpu.compiler.passes.legalize.dots import WIDE_BF16
from sexpgpu.compiler.passes.legalize.fills import WIDE_FILL
from sexpgpu.compiler.passes.legalize.indices import GATHER, SCATTER
from sexpgpu.compiler.passes.legalize.negation import NEGATED_SUM
from sexpgpu.compiler.passes.legalize.operands import MANY
from sexpgpu.compiler.passes.legalize.powers import POWER
from sexpgpu.compiler.passes.legalize.reductions import APART
from sexpgpu.compiler.passes.legalize.returns import RETURNED
from sexpgpu.compiler.passes.legalize.wayround import WayRound
from sexpgpu.compiler.passes.legalize.widening import WIDENED
from sexpgpu.diagnostics import one_of

WAY_ROUNDS: tuple[WayRound, ...] = (UNSIGNED, MASK, COUNTER, GATHER, SCATTER, POWER, NEGATED_SUM, WIDE_BF16, MANY,
                                    BARRIER, CONSTANT_LOOP, APART, RETURNED, WIDE_FILL, WIDENED)


@dataclass(frozen=True, slots=True)
class LegalizeOptions:
    """`disable` names way-rounds to leave out; an unknown name raises PassTextError."""

    disable: tuple[str, ...] = ()


def _pass_for(kind: str) -> Pass:
    mine = [w for w in WAY_ROUNDS if kind in w.kinds]

    def apply(module: ir.Module, options: LegalizeOptions) -> None:
        names = [w.name for w in WAY_ROUNDS]
        for name in options.disable:
            if name not in names:
                raise PassTextError(f"there is no way-round `{name}`: {one_of(name, names)}")
        for way_round in mine:
            if way_round.name in options.disable:
                continue
            for func in fn.functions(module):
                for op in fn.walk(fn.body(func)):
                    way_round.rewrite(op)

    return Pass(f"legalize-{kind}", f"ways round what the code generator gets wrong for {kind}", apply, LegalizeOptions)


LEGALIZE: dict[str, Pass] = {kind: _pass_for(kind) for kind in ("cpu", "vulkan", "cuda")}
