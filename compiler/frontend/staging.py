"""The module that staging fills: one private function for each role, and which of them is being filled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler.frontend.trace import Trace
from sexpgpu.diagnostics import Span

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator


#: What staging builds with. Loading every dialect there is would be a twentieth of a check.
_DIALECTS = ("arith", "chlo", "func", "math", "scf", "stablehlo", "util")


class Function:
    """One function in the making: its `arguments`, and the `results` it will return."""

    def __init__(self, operation: ir.Operation, arguments: list[ir.Value]) -> None:
        self.operation, self.arguments = operation, arguments
        self.results: Sequence[ir.Value] = ()

    def note(self, attribute: str, names: Sequence[str]) -> None:
        """An array of names on the function, for the passes."""
        self.operation.attributes[attribute] = ir.ArrayAttr.get([ir.StringAttr.get(n) for n in names])


class Staging:
    """One MLIR module. While `open` is active its context is the current one."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self.context = ir.Context(load_on_create_dialects=_DIALECTS)
        self.symbols: set[str] = set()
        with self.context, ir.Location.unknown():
            self.module = ir.Module.create()

    @contextmanager
    def function(self, symbol: str, role: str, inputs: Sequence[ir.Type], span: Span, trace: Trace
                 ) -> Iterator[Function]:
        """A function with this role, traced by what runs inside; `results` must be set when the block ends."""
        assert symbol not in self.symbols, f"@{symbol} stands twice"
        self.symbols.add(symbol)
        location = ir.Location.file(span.file, span.line, span.column, span.end_line, span.end_column)
        with location:
            with ir.InsertionPoint(self.module.body):
                operation = ir.Operation.create("func.func", regions=1, attributes={
                    "sym_name": ir.StringAttr.get(symbol),
                    "sym_visibility": ir.StringAttr.get("private"),
                    "sexp.role": ir.StringAttr.get(role),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(list(inputs), [])),
                })
            block = ir.Block.create_at_start(operation.regions[0], list(inputs), [location] * len(inputs))
            function = Function(operation, list(block.arguments))
            outer, self._evaluator.trace = self._evaluator.trace, trace
            try:
                with ir.InsertionPoint(block):
                    yield function
                    ir.Operation.create("func.return", operands=list(function.results))
            finally:
                self._evaluator.trace = outer
            operation.attributes["function_type"] = ir.TypeAttr.get(
                ir.FunctionType.get(list(inputs), [value.type for value in function.results]))

    def copy(self, symbol: str, original: str) -> None:
        """A function that does what `original` does."""
        assert symbol not in self.symbols, f"@{symbol} stands twice"
        self.symbols.add(symbol)
        function = next(op for op in self.module.body.operations
                        if ir.StringAttr(op.attributes["sym_name"]).value == original)
        made = function.operation.clone(ir.InsertionPoint(self.module.body))
        made.attributes["sym_name"] = ir.StringAttr.get(symbol)

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """A place for what the top level stages: it is checked, and thrown away."""
        with ir.InsertionPoint(ir.Module.create().body):
            yield
