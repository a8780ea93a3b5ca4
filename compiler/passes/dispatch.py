"""Kernels written out, for processors: loops over vectors where the code generator's own form of an operation is slow.

A kernel is text in MLIR: `scf` loops and `vector` operations on the parts of its operands that one piece of work reads
and writes. The code generator takes it as it stands and makes code of it; pieces run on any number of threads, and what
each does is settled here, so bits do not depend on their number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir
from sexpgpu.compiler.passes import functions as fn

#: `%n12` in a kernel is the index 12.
_INDEX = re.compile(r"%n(\d+)\b")


@dataclass(frozen=True, slots=True)
class Buffer:
    """An operand or the result of a kernel: `%name` in its text."""

    name: str
    type: ir.Type
    access: str = "readonly"

    @property
    def part(self) -> str:
        return f"!iree_tensor_ext.dispatch.tensor<{self.access}:{self.type}>"

    def load(self, offsets: Sequence[str], sizes: Sequence[str | int], into: str) -> str:
        """The part at `offsets` as a tensor of the type `into`; offsets and sizes are numbers or `%names`."""
        return (f"iree_tensor_ext.dispatch.tensor.load %{self.name}, {_where(offsets, sizes)} : {self.part} -> {into}")

    def store(self, value: str, kind: str, offsets: Sequence[str], sizes: Sequence[str | int]) -> str:
        """`value`, of the type `kind`, as the part at `offsets`."""
        return (f"iree_tensor_ext.dispatch.tensor.store {value}, %{self.name}, {_where(offsets, sizes)} : {kind} -> "
                f"{self.part}")


def _where(offsets: Sequence[str], sizes: Sequence[str | int]) -> str:
    ones = ", ".join(["1"] * len(offsets))
    return f"offsets = [{', '.join(offsets)}], sizes = [{', '.join(map(str, sizes))}], strides = [{ones}]"


def reader(name: str, value: ir.Value) -> Buffer:
    return Buffer(name, value.type)


def piece_of(axis: int) -> str:
    """Which piece of work this is, along the first, second or third axis of the grid."""
    return f"flow.dispatch.workgroup.id[{axis}] : index"


def launch(grid: Sequence[int], reads: Mapping[Buffer, ir.Value], writes: Buffer, body: str,
           onto: ir.Value | None = None) -> ir.Value:
    """A kernel at the insertion point: `body` runs for each place of `grid`, whose pieces write different parts.

    `writes` is the result: a new tensor (`writeonly`), or `onto` changed in place (`readwrite`; a copy where others
    read it too). `%x`, `%y` and `%z` are the place.
    """
    places = [*grid, *[1] * (3 - len(grid))]
    operands = [*reads.values(), *([onto] if onto is not None else [])]
    names = [f"%o{i}" for i in range(len(operands))]
    types = ", ".join(str(v.type) for v in operands)
    result = names[-1] if onto is not None else str(writes.type)
    arguments = ", ".join(f"%{b.name}: {b.part}" for b in (*reads, writes))
    indices = "\n".join(f"%n{n} = arith.constant {n} : index" for n in sorted({int(n) for n in _INDEX.findall(body)}))
    ids = "\n".join(f"%{name} = {piece_of(i)}" for i, name in enumerate("xyz"))
    text = f"""func.func @kernel({", ".join(f"{n}: {v.type}" for n, v in zip(names, operands, strict=True))})
        -> {writes.type} {{
      %r = flow.dispatch.workgroups({", ".join(names)}) : ({types}) -> {result} = ({arguments}) {{
        {indices}
        {ids}
        {body}
        flow.return
      }} count() -> (index, index, index) {{
        {" ".join(f"%c{i} = arith.constant {n} : index" for i, n in enumerate(places))}
        flow.return %c0, %c1, %c2 : index, index, index
      }}
      return %r : {writes.type}
    }}"""
    module = ir.Module.parse(text)
    func = module.body.operations[0].operation
    for op in fn.walk(fn.body(func)):
        op.location = ir.Location.current
    return fn.inline(func, operands)[0]
