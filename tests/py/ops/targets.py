"""`docs/targets.md`: what each operation does on each target, from the cases that are compared with JAX.

    python tests/py/ops/targets.py [cpu] [vulkan] [cuda] > docs/targets.md

A case of each operation from the oracle tests is compiled, value and gradients, for each target, and runs where a
device is: here, and on a Vulkan device, which Mesa's lavapipe is without a GPU. It takes some minutes. `targets.json`
beside this file keeps what was found for targets that are not named.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "passes")]

import jax  # noqa: E402
import numpy as np  # noqa: E402
from oracle_jax import Case, called, compared, compiled, staged  # noqa: E402
from runner import Program  # noqa: E402
from sexpgpu.compiler.frontend.ops import OPS  # noqa: E402
from sexpgpu.compiler.frontend.ops.manual import prelude_entries  # noqa: E402
from sexpgpu.diagnostics import SexpError  # noqa: E402

FILES = ("arithmetic", "tensors", "windows", "order", "nets", "attention", "control")
DRIVERS = {"cpu": "local-task", "vulkan": "vulkan", "cuda": None}
KNOWN = HERE / "targets.json"
#: Around an operation in a case that is about that operation.
AROUND = {"reverse", "first", "last", "sum", "square", "list", "cast", "fn", "let", "let*", "stop-gradient", "*", "+"}
#: Cases of one module: where it fails, each is tried by itself.
TOGETHER = 40
#: Cases of one operation.
MOST = 1

HEAD = """# Targets

<!-- Written by `python tests/py/ops/targets.py`. -->

What each operation does on each target: the largest difference from JAX on a processor, over values and gradients of
a case of it in `tests/py/ops`, relative to the largest number of a result or to 1 (`exact`: none; integers and
booleans always are). `compiles` where there is no device to run on. The cases are f32 unless they are about another
dtype; a dtype that a target refuses is `E-TARGET-004`, and [what is refused](passes.md#targets) is a table of its own.

| operation | cpu | vulkan | cuda |
|---|---|---|---|
"""


def cases(names: Sequence[str]) -> dict[str, list[Case]]:
    """A few cases of each operation, those with a gradient first."""
    found = [case for name in FILES for case in import_module(f"test_{name}_oracle").CASES]
    matrix = import_module("test_matrix_oracle")
    found += [matrix.case(row, "f32", (3, 5)) for row in matrix.ROWS]
    table: dict[str, list[Case]] = {}
    for case in sorted(found, key=lambda case: not case.grad):
        if len(mine := table.setdefault(operation(case, names), [])) < MOST:
            mine.append(case)
    return table


def operation(case: Case, names: Sequence[str]) -> str:
    """The operation that a case is about."""
    words = [w for w in re.findall(r"\(([^\s()\[\]]+)", case.source) if w in names]
    return next((w for w in words if w not in AROUND), words[0] if words else case.name)


def error_of(case: Case, program: Program, shapes: Sequence[tuple[int, ...]]) -> float:
    worst = 0.0
    for _, got, want in compared(case, called(program, case, shapes)):
        if want.dtype.kind in "biu":
            worst = max(worst, float(not np.array_equal(got, want)))
            continue
        got, want = got.astype(np.float64), want.astype(np.float64)
        usual = np.isfinite(want)
        if not np.array_equal(got[~usual], want[~usual], equal_nan=True):
            return 1.0
        scale = max(1.0, float(np.abs(want[usual]).max(initial=0)))
        apart = np.abs(got[usual] - want[usual]) / scale
        worst = max(worst, float(np.nan_to_num(apart, nan=1.0).max(initial=0)))
    return worst


def outcomes(group: Sequence[Case], kind: str) -> Iterator[tuple[Case, object]]:
    """For each case its error, `"compiles"`, or the code of what refuses it."""
    module, shapes = staged(group)
    try:
        code = compiled(module, kind)
        program = Program(code, DRIVERS[kind]) if DRIVERS[kind] else None
    except SexpError as error:
        if len(group) == 1:
            yield group[0], error.diagnostics[0].code
            return
        for case in group:
            yield from outcomes([case], kind)
        return
    for case in group:
        yield case, "compiles" if program is None else error_of(case, program, shapes[case.name])


def shown(found: Sequence[object]) -> str:
    """One cell, from what was found for the cases of one operation."""
    refused = sorted({x for x in found if isinstance(x, str) and x != "compiles"})
    numbers = [x for x in found if not isinstance(x, str)]
    parts = ["compiles"] if "compiles" in found else []
    if numbers:
        worst = max(numbers)
        steps = [limit for limit in (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2) if worst <= limit]
        parts.append("exact" if worst == 0 else f"{steps[0]:.0e}" if steps else f"**{worst:.0e}**")
    share = f" ({sum(x in refused for x in found)} of {len(found)} cases)" if numbers or "compiles" in found else ""
    return "; ".join([*parts, *(f"{code}{share}" for code in refused)])


def main() -> None:
    jax.config.update("jax_platforms", "cpu")
    known = json.loads(KNOWN.read_text()) if KNOWN.exists() else {}
    names = {*OPS, *(entry.name for entries in prelude_entries().values() for entry in entries)}
    table = cases(names)
    every = [case for found in table.values() for case in found]
    for kind in sys.argv[1:]:
        known[kind] = {}
        for start in range(0, len(every), TOGETHER):
            for case, outcome in outcomes(every[start:start + TOGETHER], kind):
                known[kind][case.name] = outcome
            print(kind, start, file=sys.stderr, flush=True)
    KNOWN.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n")
    print(HEAD, end="")
    for name in sorted(table):
        cells = [shown([known[kind][c.name] for c in table[name] if c.name in known.get(kind, {})]) for kind in DRIVERS]
        print(f"| `{name}` | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
