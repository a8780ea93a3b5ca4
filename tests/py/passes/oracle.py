"""Differential testing against JAX: many functions, one module, one compilation.

A case is a JAX function and its arguments. JAX lowers it to StableHLO; the pass differentiates that text; IREE runs
the result; values and cotangents are compared with what `jax.vjp` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
import numpy as np
from iree.compiler import ir
from runner import Program
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import products
from sexpgpu.compiler.passes.autodiff import AutodiffOptions, inline_calls
from sexpgpu.compiler.passes.autodiff import apply as autodiff
from sexpgpu.compiler.passes.iree.driver import CompileOptions, features_of, generate
from sexpgpu.compiler.passes.iree.targets import parse_target
from sexpgpu.compiler.passes.legalize import LEGALIZE, LegalizeOptions
from sexpgpu.compiler.passes.pipeline import apply_pass


@dataclass(frozen=True, slots=True)
class Case:
    """`wrt` are the argument positions to differentiate; every float one by default."""

    name: str
    function: Callable[..., object]
    arguments: Sequence[np.ndarray]
    wrt: Sequence[int] = ()
    tolerance: float = 2e-5

    def positions(self) -> list[int]:
        return list(self.wrt) or [i for i, a in enumerate(self.arguments) if _is_float(a)]


def _is_float(array: np.ndarray) -> bool:
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def _lowered(case: Case, context: ir.Context) -> ir.Module:
    text = jax.jit(case.function, keep_unused=True).lower(*case.arguments).as_text()
    return ir.Module.parse(text, context)


def _adopt(case: Case, target: ir.Module) -> None:
    """Moves the case's function into `target` under the case's name."""
    module = _lowered(case, target.context)
    main = fn.find(module, "main")
    assert main is not None
    inline_calls(module, main)
    main.attributes["sym_name"] = ir.StringAttr.get(case.name)
    for name in ("arg_attrs", "res_attrs"):
        if name in main.attributes:
            del main.attributes[name]
    main.detach_from_parent()
    target.body.append(main)


def differentiated(cases: Sequence[Case]) -> ir.Module:
    with ir.Context() as context, ir.Location.unknown():
        module = ir.Module.create()
        for case in cases:
            _adopt(case, module)
            autodiff(module, AutodiffOptions(case.name, tuple(case.positions())))
        for func in fn.functions(module):
            for name in [a for a in func.attributes if a.startswith(("sexp.", "mhlo."))]:
                del func.attributes[name]
        module.operation.verify()
        assert context is not None
        return module


def run(cases: Sequence[Case], target: str = "cpu", driver: str = "local-task") -> dict[str, list[np.ndarray]]:
    """For each case: the value, then the cotangents."""
    module, chosen = differentiated(cases), parse_target(target)
    if "avx2" in features_of(chosen):
        apply_pass(module, products.PASS, products.PASS.options(), set())
    apply_pass(module, LEGALIZE[chosen.kind], LegalizeOptions(), set())
    program = Program(generate(module, chosen, CompileOptions()), driver)
    return {case.name: program.call(case.name, *case.arguments, *_seed(case)) for case in cases}


def _seed(case: Case) -> list[np.ndarray]:
    """A cotangent for a result that is no scalar."""
    out = jax.eval_shape(case.function, *case.arguments)
    if out.shape == ():
        return []
    return [np.random.default_rng(5).standard_normal(out.shape).astype(out.dtype)]


def expected(case: Case) -> list[np.ndarray]:
    chosen = case.positions()

    def of(*values: np.ndarray) -> object:
        arguments = list(case.arguments)
        for i, v in zip(chosen, values, strict=True):
            arguments[i] = v
        return case.function(*arguments)

    value, pull = jax.vjp(of, *(case.arguments[i] for i in chosen))
    seed = _seed(case)[0] if _seed(case) else np.ones((), value.dtype)
    return [np.asarray(value), *map(np.asarray, pull(seed))]


def compare(case: Case, found: Sequence[np.ndarray]) -> list[str]:
    """What differs, in words; nothing where all agrees."""
    wrong = []
    for i, (got, want) in enumerate(zip(found, expected(case), strict=True)):
        got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
        scale = max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0)))
        if got.shape != want.shape or not np.allclose(got, want, rtol=case.tolerance, atol=case.tolerance * scale,
                                                      equal_nan=True):
            what = "value" if i == 0 else f"cotangent {case.positions()[i - 1]}"
            gap = np.abs(got - want).max(initial=0) if got.shape == want.shape else "shape"
            wrong.append(f"{case.name}: {what} differs by {gap}")
    return wrong
