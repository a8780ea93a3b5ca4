"""Every derivative rule, and whole fragments, against `jax.vjp`; one compilation a group."""

from __future__ import annotations

import pytest

jax = pytest.importorskip("jax")
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)

from cases_fragments import FRAGMENTS  # noqa: E402
from cases_programs import PROGRAMS  # noqa: E402
from cases_rules import GROUPS  # noqa: E402
from oracle import compare, run  # noqa: E402
from sexpgpu.compiler.passes.autodiff.rules import RULES  # noqa: E402


@pytest.mark.parametrize("group", [*GROUPS, "fragments", "programs"])
def test_cotangents_equal_jax(group: str) -> None:
    cases = {"fragments": FRAGMENTS, "programs": PROGRAMS}[group] if group not in GROUPS else GROUPS[group]()
    found = run(cases)
    assert [line for case in cases for line in compare(case, found[case.name])] == []


def test_every_rule_has_a_case() -> None:
    from iree.compiler import ir
    from oracle import _lowered

    met: set[str] = set()
    with ir.Context() as context:
        for case in [c for make in GROUPS.values() for c in make()]:
            module = _lowered(case, context)
            module.operation.walk(lambda op: met.add(op.name) or ir.WalkResult.ADVANCE)
    # JAX has no way to write these: `test_autodiff_twins`.
    twins = {"stablehlo.custom_call", "stablehlo.dot", "chlo.tan", "stablehlo.if", "stablehlo.logistic"}
    assert set(RULES) - met - twins == set()
