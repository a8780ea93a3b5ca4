"""The functions that give state its first value: `@"init.<name>"`, one for each parameter and buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Op
from sexpgpu.compiler.frontend.ops.support.dtype import convert
from sexpgpu.compiler.frontend.ops.support.staged import describe, show_shape
from sexpgpu.compiler.frontend.trace import Phase, Trace, Variable
from sexpgpu.compiler.frontend.values import POISON, Closure, Tensor
from sexpgpu.diagnostics import Label

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator

#: How a parameter begins when its declaration does not say.
DEFAULT_STDDEV = 0.02


def stage_initialiser(evaluator: Evaluator, variable: Variable) -> str:
    """The symbol of the variable's initialiser, staged when it is first asked for."""
    symbol = f"init.{variable.name}"
    staging = evaluator.staging
    if symbol not in staging.symbols:
        with staging.function(symbol, "init", [], variable.span, Trace(Phase.INIT)) as function:
            value = _first_value(evaluator, variable)
            function.results = [hlo.splat(0, variable.shape, variable.dtype.mlir) if value is None else value]
    return symbol


def _first_value(evaluator: Evaluator, variable: Variable) -> object:
    """The value in the graph; None where it is wrong (reported)."""
    init, reporter = variable.init, evaluator.reporter
    with evaluator.location(variable.span):
        if init is None:
            normal = evaluator.prelude.find("normal")
            assert normal is not None, "the prelude has the default initialiser"
            function = evaluator.global_value(normal, variable.span)
            init = evaluator.apply(function, [DEFAULT_STDDEV], variable.span)
        if isinstance(init, (int, float)):
            if isinstance(init, float) and not variable.dtype.is_float:
                reporter.error("E-TYPE-005", f"`{variable.name}` is {variable.dtype}, and its `:init` a float",
                               variable.span, f"{init!r} does not fit {variable.dtype}")
                return None
            return hlo.splat(init, variable.shape, variable.dtype.mlir)
        if isinstance(init, (Closure, Op)):
            value = evaluator.apply(init, [variable.shape], variable.span)
        elif init is POISON:
            return None
        else:
            reporter.error("E-CONTRACT-025", f"`:init` is an initialiser, not {describe(init)}", variable.span,
                           f"`:init` is {describe(init)}",
                           fix="an initialiser is a number, `zeros`, `(normal 0.02)` or a function of the shape")
            return None
        if value is POISON:
            return None
        if isinstance(value, (int, float)):
            return hlo.splat(value, variable.shape, variable.dtype.mlir)
        if not isinstance(value, Tensor) or tuple(value.shape) != tuple(variable.shape):
            found = show_shape(value.shape) if isinstance(value, Tensor) else describe(value)
            reporter.error("E-CONTRACT-025", f"the initialiser of `{variable.name}` gives {found}, not "
                           f"{show_shape(variable.shape)}", variable.span, f"declared {show_shape(variable.shape)}",
                           secondary=[Label(value.span, found)] if isinstance(value, Tensor) else (),
                           fix="an initialiser takes the shape and gives a tensor of it")
            return None
        return convert(value.value, value.dtype, variable.dtype)
