"""Kernels of `compiler/kernels` in a module, each once, and the operations that call them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from iree.compiler import ir
from sexpgpu.compiler import hlo


@dataclass(frozen=True, slots=True)
class KernelOptions:
    """`lanes` are the numbers of f32 in a vector of the processor: 8 with AVX2, 16 with AVX-512."""

    lanes: int = 8


class Shape(Protocol):
    """What a kernel is made for; vectors have so many `lanes`."""

    lanes: int

    @property
    def fits(self) -> bool: ...


S = TypeVar("S", bound=Shape)


def widest(shape: S, lanes: int) -> S | None:
    """This shape with the widest vectors up to `lanes` for which there is a kernel; None without one."""
    return next((s for n in (16, 8) if n <= lanes and (s := replace(shape, lanes=n)).fits), None)


class KernelCalls:
    """The kernels of one module. All they read and write is f32."""

    def __init__(self, module: ir.Module) -> None:
        self._module = module
        self._names: dict[tuple[Callable[..., str], Hashable], str] = {}

    def call(self, kernel: Callable[[str, Hashable], str], shape: Hashable, operands: Sequence[ir.Value],
             results: Sequence[Sequence[int]], onto: Sequence[int] = ()) -> list[ir.Value]:
        """At the insertion point: `kernel`, a function of a name and `shape` to a text, on these operands. A result
        lies where the operand of this number in `onto` lay, or in memory of its own (-1, or `onto` is empty)."""
        name = self._names.get((kernel, shape))
        if name is None:
            what = f"{kernel.__module__.rpartition('.')[2]}_{kernel.__name__}"
            name = self._names[kernel, shape] = f"{what}_{len(self._names)}"
            parsed = ir.Module.parse(kernel(name, shape))   # holds the operation until it is cloned
            parsed.body.operations[0].operation.clone(ir.InsertionPoint.at_block_begin(self._module.body))
        tied = ir.Attribute.parse(f"[{', '.join(f'{i} : index' for i in onto or [-1] * len(results))}]")
        return list(hlo.make("flow.dispatch", [hlo.tensor_type(r, "f32") for r in results], operands, {
            "entry_points": ir.Attribute.parse(f"[@{name}::@{name}]"),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, len(operands), 0, 0]),
            "tied_operands": tied}).results)
