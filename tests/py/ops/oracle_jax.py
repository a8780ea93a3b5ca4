"""Expressions of the language against JAX: value and gradient, all of a file's cases in one compiled module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import jax
import numpy as np
from iree.compiler import ir
from language import Expression, Session, flat
from runner import Program
from sexpgpu.compiler.passes import blocks
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.autodiff import differentiate, drop_stop_gradients
from sexpgpu.compiler.passes.base import NoOptions
from sexpgpu.compiler.passes.forms import forms_for
from sexpgpu.compiler.passes.iree.driver import CompileOptions, generate
from sexpgpu.compiler.passes.iree.targets import parse_target
from sexpgpu.compiler.passes.pipeline import run_passes
from sexpgpu.compiler.passes.supported import SUPPORTED

jax.config.update("jax_enable_x64", True)


@dataclass(frozen=True, slots=True)
class Case:
    """`expected` is the same function for JAX, of the arguments in order. With `grad`, the gradient of
    the (first) result by every float argument is compared too. `bits` are the random words, where there are any."""

    name: str
    source: str
    arguments: Mapping[str, np.ndarray]
    expected: Callable[..., object]
    grad: bool = True
    tolerance: float = 2e-5
    bits: Sequence[np.ndarray] = ()

    def float_positions(self) -> tuple[int, ...]:
        return tuple(i for i, a in enumerate(self.arguments.values()) if a.dtype.kind == "f" or
                     a.dtype.name == "bfloat16")

    @property
    def symbol(self) -> str:
        return "case_" + "".join(c if c.isalnum() else "_" for c in self.name)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What IREE computed: the results, and the gradients by float argument (or none)."""

    results: list[np.ndarray]
    gradients: list[np.ndarray]


def run(cases: Sequence[Case], kind: str = "cpu", driver: str = "local-task", disabled: Sequence[str] = ()
        ) -> dict[str, Outcome]:
    """Stage, differentiate, compile once, run each."""
    module, shapes = staged(cases)
    program = Program(compiled(module, kind, disabled), driver)
    return {case.name: called(program, case, shapes[case.name]) for case in cases}


def staged(cases: Sequence[Case]) -> tuple[ir.Module, dict[str, list[tuple[int, ...]]]]:
    """One module with a function for each case, value and gradients; and the shapes of the results."""
    session = Session()
    kept: list[Case] = []
    shapes: dict[str, list[tuple[int, ...]]] = {}
    for case in cases:
        value, found, bits = session.stage(Expression(case.symbol, case.source, case.arguments))
        assert not found, f"{case.name}: {[(d.code, d.message, d.notes) for d in found]}"
        assert len(bits) == len(case.bits), case.name
        shapes[case.name] = [tuple(int(d) for d in t.shape) for t in flat(value)]
        kept.append(case)
    with session.context, ir.Location.unknown():
        for case in kept:
            if case.grad:
                func = fn.find(session.module, case.symbol)
                assert func is not None
                differentiate(session.module, func, list(case.float_positions()), 0)
        drop_stop_gradients(session.module)
        for func in session.module.body.operations:
            for name in [a for a in func.attributes if a.startswith("sexp.")]:
                del func.attributes[name]
        session.module.operation.verify()
    return session.module, shapes


def compiled(module: ir.Module, kind: str, disabled: Sequence[str] = ()) -> bytes:
    """For a target, in the forms that a build gives it. Raises SexpError where it is refused or fails."""
    target = parse_target(kind)
    passes = [(p, NoOptions()) for p in (blocks.PASS, SUPPORTED[target.kind]) if p.name not in disabled]
    run_passes(module, [*passes, *forms_for(target, disabled)])
    with module.context:
        return generate(module, target, CompileOptions())


def called(program: Program, case: Case, shapes: Sequence[tuple[int, ...]]) -> Outcome:
    seeds = [cotangent(shapes[0], flat_dtype(case))] if case.grad and shapes[0] else []
    found = program.call(case.symbol, *case.arguments.values(), *case.bits, *seeds)
    return Outcome(found[:len(shapes)], found[len(shapes):])


def flat_dtype(case: Case) -> np.dtype:
    return jax.tree.leaves(jax.eval_shape(case.expected, *case.arguments.values()))[0].dtype


def cotangent(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    return np.random.default_rng(5).standard_normal(shape).astype(dtype)


def differences(case: Case, outcome: Outcome) -> list[str]:
    """What is not JAX's among the results and the gradients, in words."""
    return [f"{case.name}: {what}: {wrong}" for what, got, want in compared(case, outcome)
            if (wrong := difference(got, want, case.tolerance))]


def is_what_jax_computes(case: Case, outcomes: Mapping[str, Outcome]) -> None:
    """The test of a file of cases: under a name of its own there, `conftest` hands it each of `CASES`."""
    wrong = differences(case, outcomes[case.name])
    assert not wrong, "\n".join(wrong)


def compared(case: Case, outcome: Outcome) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Each result and gradient: what it is, ours, JAX's."""
    wanted = case.expected(*case.arguments.values())
    listed = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]
    assert len(listed) == len(outcome.results), f"{case.name}: {len(outcome.results)} results, not {len(listed)}"
    pairs = [("value", got, np.asarray(want)) for got, want in zip(outcome.results, listed, strict=True)]
    if case.grad:
        positions = case.float_positions()

        def of(*values: np.ndarray) -> object:
            every = list(case.arguments.values())
            for i, v in zip(positions, values, strict=True):
                every[i] = v
            return jax.tree.leaves(case.expected(*every))[0]

        out, pull = jax.vjp(of, *[list(case.arguments.values())[i] for i in positions])
        seed = cotangent(out.shape, out.dtype) if out.shape else np.ones((), out.dtype)
        pairs += [(f"gradient of {list(case.arguments)[i]}", got, np.asarray(want))
                  for i, got, want in zip(positions, outcome.gradients, pull(seed), strict=True)]
    return pairs


def difference(got: np.ndarray, want: np.ndarray, tolerance: float) -> str:
    """Nothing where `got` is `want`: integers exactly, floats to the tolerance, NaN where NaN is."""
    if (got.shape, got.dtype.name) != (want.shape, want.dtype.name):
        return f"{got.dtype} {got.shape}, expected {want.dtype} {want.shape}"
    try:
        if want.dtype.kind in "biu":
            np.testing.assert_array_equal(got, want)
        else:
            got, want = got.astype(np.float64), want.astype(np.float64)
            scale = max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0)))
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    except AssertionError as error:
        return str(error)
    return ""
