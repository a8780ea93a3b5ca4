"""`docs/targets.md`: each operation on each target, from the cases that the tests compare with JAX.

    python tests/py/ops/targets.py > docs/targets.md
    python tests/py/ops/targets.py cuda > docs/targets.md    compiles every case for CUDA first, which takes minutes

What is compiled for CUDA runs nowhere here, so what was found is kept in `targets.json`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "passes")]

from oracle_jax import Case, compiled, staged  # noqa: E402
from sexpgpu.compiler.frontend.ops import OPS  # noqa: E402
from sexpgpu.compiler.frontend.ops.manual import prelude_entries  # noqa: E402
from sexpgpu.diagnostics import SexpError  # noqa: E402

FILES = ("arithmetic", "tensors", "windows", "order", "nets", "attention", "control")
KNOWN = HERE / "targets.json"
#: Around an operation in a case that is about that operation.
AROUND = {"reverse", "first", "last", "sum", "square", "list", "cast", "fn", "let", "let*", "stop-gradient", "*", "+"}
#: Cases of one module: where it fails, each is tried by itself.
TOGETHER = 40

HEAD = """# Targets

<!-- Written by `python tests/py/ops/targets.py`; a test compares. -->

Each operation on each target, as the tests hold it. A number is how far value and gradients may be from JAX's, relative
to the largest element or to 1; integers, booleans and what only moves elements are exact. For `cpu` it is the widest of
all cases of the operation; for `vulkan`, which Mesa's lavapipe runs, of a sample, and what is not in it is left blank.
For `cuda` an operation and its gradient `compiles`, or has the code that refuses it; nothing here runs there. All of it
is f32: the dtypes that a target refuses (`E-TARGET-004`) are [a table of their own](passes.md#targets).

| operation | cpu | vulkan | cuda |
|---|---|---|---|
"""


def names() -> set[str]:
    return {*OPS, *(entry.name for entries in prelude_entries().values() for entry in entries)}


def operation(case: Case, known: set[str]) -> str:
    """The operation that a case is about."""
    words = [w for w in re.findall(r"\(([^\s()\[\]]+)", case.source) if w in known]
    return next((w for w in words if w not in AROUND), words[0] if words else case.name)


def table(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """The cases by operation, those with a gradient first."""
    found: dict[str, list[Case]] = {}
    known = names()
    for case in sorted(cases, key=lambda case: not case.grad):
        found.setdefault(operation(case, known), []).append(case)
    return found


def every_case() -> list[Case]:
    matrix = import_module("test_matrix_oracle")
    return [*(case for name in FILES for case in import_module(f"test_{name}_oracle").CASES),
            *(matrix.case(row, "f32", (3, 5)) for row in matrix.ROWS)]


def tried(group: Sequence[Case], kind: str) -> Iterator[tuple[str, str]]:
    """For each case `compiles`, or the code of what refuses it."""
    try:
        compiled(staged(group)[0], kind)
    except SexpError as error:
        if len(group) == 1:
            yield group[0].name, error.diagnostics[0].code
        else:
            for case in group:
                yield from tried([case], kind)
        return
    for case in group:
        yield case.name, "compiles"


def widest(cases: Sequence[Case]) -> str:
    wide = [case.tolerance for case in cases if "f16" not in case.name]
    return f"{max(wide):.0e}" if wide else ""


def page(cuda: Mapping[str, str]) -> str:
    on_cpu, on_vulkan = table(every_case()), table(import_module("test_vulkan_oracle").CASES)
    rows = []
    for name in sorted(on_cpu):
        compiles = cuda.get(on_cpu[name][0].name, "")
        rows.append(f"| `{name}` | {widest(on_cpu[name])} | {widest(on_vulkan.get(name, []))} | {compiles} |\n")
    return HEAD + "".join(rows)


def main() -> None:
    if sys.argv[1:] == ["cuda"]:
        firsts, found = [cases[0] for cases in table(every_case()).values()], {}
        for start in range(0, len(firsts), TOGETHER):
            found.update(tried(firsts[start:start + TOGETHER], "cuda"))
            print(start, file=sys.stderr, flush=True)
        KNOWN.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
    print(page(json.loads(KNOWN.read_text()) if KNOWN.exists() else {}), end="")


if __name__ == "__main__":
    main()
