"""The functions that give state its first value: `@"init.<name>"`, one for each parameter and buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.compiler.frontend.environment import Global
from sexpgpu.compiler.frontend.ops.registry import Op
from sexpgpu.compiler.frontend.ops.support.dtype import convert
from sexpgpu.compiler.frontend.ops.support.staged import describe, show_shape
from sexpgpu.compiler.frontend.trace import Phase, Trace, Variable
from sexpgpu.compiler.frontend.values import POISON, Closure, Tensor, same_value
from sexpgpu.diagnostics import Label

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator

#: How a parameter begins when its declaration does not say.
DEFAULT_STDDEV = 0.02


class Initialisers:
    """Stages initialisers. Two variables of one shape, dtype and `:init` have equal functions, so the second one's is a
    copy: what is random in it follows the variable's name, which a pass gives it."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._staged: list[Variable] = []

    def symbol(self, variable: Variable) -> str:
        """The symbol of the variable's initialiser, staged when it is first asked for."""
        symbol = _symbol(variable)
        staging = self._evaluator.staging
        if symbol in staging.symbols:
            return symbol
        like = next((v for v in self._staged if _alike(v, variable)), None)
        if like is not None:
            staging.copy(symbol, _symbol(like))
            return symbol
        with staging.function(symbol, "init", [], variable.span, Trace(Phase.INIT)) as function:
            value = _first_value(self._evaluator, variable)
            function.results = [hlo.splat(0, variable.own_shape, variable.dtype.mlir) if value is None else value]
        if value is not None:
            self._staged.append(variable)
        return symbol


def _name_alone(evaluator: Evaluator, init: object) -> str | None:
    """Advice where `init` is the name of an initialiser, as a keyword or in quotes."""
    name = init.name if isinstance(init, Keyword) else init if isinstance(init, str) else ""
    found = evaluator.prelude.find(name)
    at_home = isinstance(found, Global) and found.span.file == "<prelude>/initialisers.sexp"
    return f"write the name alone: `:init {name}`" if at_home or name in ("zeros", "ones") else None


def _symbol(variable: Variable) -> str:
    return f"init.{variable.name}"


def _alike(a: Variable, b: Variable) -> bool:
    return a.dtype is b.dtype and tuple(a.own_shape) == tuple(b.own_shape) and same_value(a.init, b.init)


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
            return hlo.splat(init, variable.own_shape, variable.dtype.mlir)
        if isinstance(init, (Closure, Op)):
            value = evaluator.apply(init, [variable.own_shape], variable.span)
        elif init is POISON:
            return None
        else:
            reporter.error("E-CONTRACT-025", f"`:init` is an initialiser, not {describe(init)}", variable.span,
                           f"`:init` is {describe(init)}", fix=_name_alone(evaluator, init) or
                           "an initialiser is a number, `zeros`, `(normal 0.02)` or a function of the shape")
            return None
        if value is POISON:
            return None
        if isinstance(value, (int, float)):
            return hlo.splat(value, variable.own_shape, variable.dtype.mlir)
        if not isinstance(value, Tensor) or tuple(value.shape) != tuple(variable.own_shape):
            found = show_shape(value.shape) if isinstance(value, Tensor) else describe(value)
            reporter.error("E-CONTRACT-025", f"the initialiser of `{variable.name}` gives {found}, not "
                           f"{show_shape(variable.own_shape)}", variable.span,
                           f"declared {show_shape(variable.own_shape)}",
                           secondary=[Label(value.span, found)] if isinstance(value, Tensor) else (),
                           fix="an initialiser takes the shape and gives a tensor of it")
            return None
        return convert(value.value, value.dtype, variable.dtype)
