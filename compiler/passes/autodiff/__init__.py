"""Reverse-mode differentiation of a function, appended to the same block.

Works on any StableHLO function, not only on staged ones: `sexpc opt --pass 'autodiff{function=f wrt=0,1}'`. Calls are
inlined first. The result to differentiate (`of`) gets the cotangent 1 when it is a scalar, else an argument
`cotangent` is added for it. The gradients become results `grad:<argument name>`; an argument that the result does not
depend on gets zeros, but one that depends on none of them is E-GRAD-002.
"""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import manifest as mf

# Each fills its part of the rule table.
from sexpgpu.compiler.passes.autodiff import (  # noqa: F401
    branches,
    contraction,
    convolution,
    custom,
    elementwise,
    indexing,
    loops,
    reduction,
    scaling,
    shape,
    sorting,
    windows,
)
from sexpgpu.compiler.passes.autodiff.reverse import backpropagate, is_real
from sexpgpu.compiler.passes.base import Pass
from sexpgpu.compiler.passes.spans import span_of
from sexpgpu.diagnostics import Diagnostic, Label, SexpError


@dataclass(frozen=True, slots=True)
class AutodiffOptions:
    """Without `wrt`: the trainable parameters of a staged function, every float argument of another."""

    function: str = "train"
    wrt: tuple[int, ...] = ()
    of: int = 0


def inline_calls(module: ir.Module, func: ir.Operation) -> None:
    """Every `func.call` in the body is replaced by the body it calls, calls within that too."""
    while calls := [op for op in fn.walk(fn.body(func)) if op.name == "func.call"]:
        for call in calls:
            callee = fn.find(module, ir.FlatSymbolRefAttr(call.attributes["callee"]).value)
            assert callee is not None
            with ir.InsertionPoint(call), call.location:
                values = fn.inline(callee, list(call.operands))
            for old, new in zip(call.results, values, strict=True):
                old.replace_all_uses_with(new)
            call.erase()


def drop_stop_gradients(module: ir.Module) -> None:
    """The markers have done their work: each becomes its operands. So has `remat`: its body stands where it stood."""
    for func in fn.functions(module):
        if fn.role(func) == "cotangent":
            func.erase()
    for func in fn.functions(module):
        for op in fn.walk(fn.body(func)):
            if hlo.marker_kind(op) in ("stop_gradient", custom.MARKER, scaling.MARKER):
                for result, operand in zip(op.results, op.operands, strict=False):
                    result.replace_all_uses_with(operand)
                op.erase()
        while remats := [op for op in fn.walk(fn.body(func)) if branches.REMAT in op.attributes]:
            branches.inline_remat(remats[0])


def _chosen(module: ir.Module, func: ir.Operation, wrt: tuple[int, ...]) -> list[int]:
    if wrt:
        return list(wrt)
    if fn.role(func) is None:
        return [i for i, a in enumerate(fn.body(func).arguments) if is_real(a)]
    names = fn.argument_names(func)
    rows = mf.read(module).get("parameters") or []
    return [names.index(f"param:{row['name']}") for row in rows if row["trainable"]]


def differentiate(module: ir.Module, func: ir.Operation, wrt: list[int], of: int) -> None:
    inline_calls(module, func)
    result = fn.terminator(func).operands[of]
    names = fn.argument_names(func)
    values = [fn.body(func).arguments[i] for i in wrt]
    seed = None if not hlo.shape_of(result) else fn.argument(func, "cotangent", result.type)
    end = fn.terminator(func)
    ops = [op.operation for op in fn.body(func).operations][:-1]
    with ir.InsertionPoint(end), end.location:
        seed = seed if seed is not None else hlo.splat(1.0, [], hlo.element_type(result))
        found = backpropagate(ops, [(result, seed)], values)
        if all(g is None for g in found):
            raise SexpError(_reaches_nothing(result))
        gradients = [hlo.zeros_like(v) if g is None else g for v, g in zip(values, found, strict=True)]
        buffers: dict[str, ir.Value] = {}
        if (marker := scaling.marker_of(func)) is not None:
            buffers = scaling.adjusted(marker, gradients)
            gradients = scaling.unscaled(marker, gradients)
    fn.add_results(func, buffers)
    fn.add_results(func, {f"grad:{names[i].removeprefix('param:')}": g for i, g in zip(wrt, gradients, strict=True)})


def _reaches_nothing(result: ir.Value) -> Diagnostic:
    span = span_of(result.location)
    return Diagnostic("E-GRAD-002", "the loss depends on no trainable parameter",
                      primary=Label(span, "this value is constant in every parameter") if span else None)


def apply(module: ir.Module, options: AutodiffOptions) -> None:
    func = fn.find(module, options.function)
    if func is not None:
        differentiate(module, func, _chosen(module, func, options.wrt), options.of)
    drop_stop_gradients(module)


PASS = Pass("autodiff", "reverse mode over StableHLO: gradients become results", apply, AutodiffOptions,
            lowers=("stop_gradient", custom.MARKER, scaling.MARKER))
