"""What brings operations into the forms that a target's code generator does well, and gets right, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sexpgpu.compiler.passes import (
    attention,
    columns,
    dense,
    direct,
    lookups,
    patches,
    products,
    rows,
    running,
    scans,
    sort_kernels,
    sort_rounds,
    updates,
    weights,
    windows,
)
from sexpgpu.compiler.passes.base import NoOptions, Options, Pass
from sexpgpu.compiler.passes.iree.driver import features_of
from sexpgpu.compiler.passes.iree.targets import Target
from sexpgpu.compiler.passes.kernel_calls import KernelOptions
from sexpgpu.compiler.passes.legalize import LEGALIZE, WAY_ROUNDS, LegalizeOptions


def _cpu(target: Target) -> bool:
    return target.kind == "cpu"


def _avx2(target: Target) -> bool:
    return {"avx2", "fma"} <= set(features_of(target))


def _amx(target: Target) -> bool:
    return {"amx-bf16", "avx512vl"} <= set(features_of(target))


def _gpu(target: Target) -> bool:
    return target.kind != "cpu"


def _any(_target: Target) -> bool:
    return True


def _of(kind: str) -> Callable[[Target], bool]:
    return lambda target: target.kind == kind


#: What needs AMX: without these nothing does.
AMX = (weights.AMX, dense.AMX)

#: Each with the targets it is for.
FORMS: tuple[tuple[Pass, Callable[[Target], bool]], ...] = (
    (sort_kernels.PASS, _cpu),
    (sort_rounds.PASS, _gpu),
    (attention.PASS, _avx2),
    (direct.PASS, _avx2),
    (patches.PASS, _cpu),
    (windows.PASS, _cpu),
    (scans.PASS, _cpu),
    (running.PASS, _any),
    (weights.AMX, _amx),
    (weights.PASS, _avx2),
    (dense.AMX, _amx),
    (dense.PASS, _avx2),
    (products.PASS, _avx2),
    (updates.PASS, _avx2),
    (lookups.PASS, _cpu),
    *((found, _of(kind)) for kind, found in LEGALIZE.items()),
    (rows.PASS, _cpu),
    (columns.PASS, _cpu),
)


def forms_for(target: Target, disabled: Sequence[str] = ()) -> list[tuple[Pass, Options]]:
    """Those of a target, without passes and ways round that are disabled."""
    made = {LegalizeOptions: LegalizeOptions(tuple(w.name for w in WAY_ROUNDS if w.name in disabled)),
            KernelOptions: KernelOptions(16 if "avx512f" in features_of(target) else 8), NoOptions: NoOptions()}
    return [(found, made[found.options]) for found, wanted in FORMS if wanted(target) and found.name not in disabled]
