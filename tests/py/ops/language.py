"""Expressions of the language, staged one function each into one module: what the tests of operations compile.

`sexp.random` markers become arguments, so that a test chooses the bits.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from iree.compiler import ir
from sexpgpu.compiler import frontend, hlo
from sexpgpu.compiler.frontend.definitions import KINDS, defined_name
from sexpgpu.compiler.frontend.environment import Global
from sexpgpu.compiler.frontend.evaluator import Evaluator
from sexpgpu.compiler.frontend.reader import read
from sexpgpu.compiler.frontend.report import Reporter
from sexpgpu.compiler.frontend.trace import Phase, Trace
from sexpgpu.compiler.frontend.values import Dim, HostScalar, Origin, Tensor
from sexpgpu.diagnostics import Diagnostic, SourceFile, SourceMap, Span
from sexpgpu.runtime.dtypes import DTYPES, DType

# The special forms enter their table when their files are imported.
for _module in pkgutil.iter_modules(frontend.__path__):
    if _module.name.startswith("special"):
        importlib.import_module(f"sexpgpu.compiler.frontend.{_module.name}")

FILE = "test.sexp"


def dtype_of(array: np.ndarray) -> DType:
    """The language's dtype of a NumPy (or ml_dtypes) array."""
    name = array.dtype.name
    return DTYPES["bf16"] if name == "bfloat16" else next(d for d in DTYPES.values() if d.numpy == name)


@dataclass(frozen=True, slots=True)
class Expression:
    """`source` uses the names of `arguments`; what it gives is staged as the function `name`."""

    name: str
    source: str
    arguments: Mapping[str, np.ndarray] = field(default_factory=dict)
    prologue: str = ""


#: What goes on from a value: the evaluator, the value, the arguments -> the result.
Finish: TypeAlias = Callable[[Evaluator, object, list[Tensor]], object]


class Session:
    """An MLIR module under construction and the evaluator that fills it."""

    def __init__(self) -> None:
        self.context = ir.Context()
        with self.context, ir.Location.unknown():
            self.module = ir.Module.create()

    def stage(self, expression: Expression, *, training: bool = True, phase: Phase = Phase.MODEL,
              finish: Finish | None = None) -> tuple[object, list[Diagnostic], list[str]]:
        """The value, the diagnostics, and the types of the random bits that became arguments (after the named ones).
        `finish` goes on from the expression's value and gives the one that is returned."""
        with self.context, ir.Location.unknown():
            reporter, sources = Reporter(), SourceMap()
            evaluator = Evaluator(sources, reporter, {})
            evaluator.trace = Trace(phase=phase, training=training)
            names = " ".join(expression.arguments)
            text = f"(defun {expression.name} ({names})\n{expression.source})\n{expression.prologue}"
            self.define(evaluator, reporter, sources.add(SourceFile(FILE, text)))
            types = [hlo.tensor_type(a.shape, dtype_of(a).mlir) for a in expression.arguments.values()]
            with ir.InsertionPoint(self.module.body):
                func = ir.Operation.create("func.func", regions=1, attributes={
                    "sym_name": ir.StringAttr.get(expression.name),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, []))})
            block = ir.Block.create_at_start(func.regions[0], types)
            with ir.InsertionPoint(block):
                tensors = [self.argument(name, value, array) for (name, array), value in
                           zip(expression.arguments.items(), block.arguments, strict=True)]
                start = Span(FILE, 1, 1, 1, 2)
                function = evaluator.global_value(evaluator.user.table[expression.name], start)
                value = evaluator.apply(function, tensors, start)
                value = value if finish is None else finish(evaluator, value, tensors)
                results = [t.value for t in flat(value)]
                ir.Operation.create("func.return", operands=results)
            bits = self.open_bits(block)
            func.attributes["function_type"] = ir.TypeAttr.get(
                ir.FunctionType.get([*types, *bits], [r.type for r in results]))
            if reporter.found:
                func.erase()
            return value, reporter.found, [str(b) for b in bits]

    @staticmethod
    def define(evaluator: Evaluator, reporter: Reporter, source: SourceFile) -> None:
        for form in read(source, reporter.add):
            name = defined_name(form)
            assert isinstance(name, str), name
            evaluator.user.table[name] = Global(name, KINDS[form.head], form, evaluator.user)

    @staticmethod
    def argument(name: str, value: ir.Value, array: np.ndarray) -> Tensor:
        span = Span(FILE, 90, 1, 90, 2)
        dims = tuple(Dim(n, Origin(f"axis {i} of the argument `{name}`", span)) for i, n in enumerate(array.shape))
        return Tensor(value, dtype_of(array), dims, span)

    @staticmethod
    def open_bits(block: ir.Block) -> list[ir.Type]:
        """Each marker of random bits becomes one more argument."""
        types = []
        for op in list(block.operations):
            if hlo.marker_kind(op) == "random":
                result = op.operation.results[0]
                types.append(result.type)
                result.replace_all_uses_with(block.add_argument(result.type, op.operation.location))
                op.operation.erase()
        return types


def flat(value: object) -> list[Tensor]:
    """The tensors of a result, from the left."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, tuple):
        return [t for v in value for t in flat(v)]
    return []


def evaluate(source: str, arguments: Mapping[str, np.ndarray] | None = None, prologue: str = "") -> object:
    """The compile-time value of an expression that must be right."""
    value, found, _ = Session().stage(Expression("f", source, arguments or {}, prologue))
    assert not found, found
    return value


def diagnose(source: str, arguments: Mapping[str, np.ndarray] | None = None, prologue: str = "") -> list[Diagnostic]:
    """What an expression is told."""
    return Session().stage(Expression("f", source, arguments or {}, prologue))[1]


def floats(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    """Normal numbers of a shape."""
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


__all__ = ["Diagnostic", "Expression", "HostScalar", "Sequence", "Session", "diagnose", "evaluate", "flat", "floats"]
