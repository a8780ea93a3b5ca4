"""The dispatch region of a group of operations on rows, as the code generator takes it.

Inside, a row's number has no last axis. A broadcast is a `linalg` operation with a number of its own: equal ones would
be shared, and stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.columns import NUMBER
from sexpgpu.compiler.passes.reading import dims_of
from sexpgpu.compiler.passes.row_groups import Group, is_spread


@dataclass(frozen=True, slots=True)
class Region:
    """`numbers` are those that no broadcast has yet."""

    group: Group
    numbers: Iterator[int]

    def bare(self, value: ir.Value) -> ir.Value:
        """A row's number without the last axis."""
        return hlo.reshape(value, self.group.row) if self.group.is_row(value) else value

    def broadcast(self, op: ir.Operation, x: ir.Value) -> ir.Value:
        """What `op` does, of `x`, as `linalg`, with a number of its own: equal ones would be shared, and stored."""
        dims = range(len(self.group.row)) if is_spread(op, self.group) else dims_of(op, "broadcast_dimensions")
        type_, x = op.results[0].type, self.bare(x)
        names = [f"d{i}" for i in range(type_.rank)]
        read = ["0" if n == 1 else names[d] for n, d in zip(hlo.shape_of(x), dims, strict=True)]
        maps = ", ".join(f"affine_map<({', '.join(names)}) -> ({', '.join(axes)})>" for axes in (read, names))
        parallel = ", ".join(["#linalg.iterator_type<parallel>"] * len(names))
        empty = hlo.make("tensor.empty", [type_], []).result
        made = hlo.make("linalg.generic", [type_], [x, empty], {
            "indexing_maps": ir.Attribute.parse(f"[{maps}]"), "iterator_types": ir.Attribute.parse(f"[{parallel}]"),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1]), NUMBER: hlo.i64(next(self.numbers))}, regions=1)
        body = hlo.block(made.regions[0], [type_.element_type] * 2)
        with ir.InsertionPoint(body):
            hlo.make("linalg.yield", [], [body.arguments[0]])
        return made.result

    def build(self, inputs: Sequence[ir.Value], ops: Sequence[ir.Operation], kept: Sequence[ir.Operation]
              ) -> list[ir.Value]:
        """A region that does `ops` on `inputs`; gives what it stores, the values of `kept`, a row's numbers bare."""
        row = self.group.row
        known = {v: self.bare(v) for v in inputs}
        types = [hlo.tensor_type(row, hlo.element_type(op.results[0])) if self.group.is_row(op.results[0])
                 else op.results[0].type for op in kept]
        region = hlo.make("flow.dispatch.region", types, [],
                          {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0])}, regions=2)
        with ir.InsertionPoint(hlo.block(region.regions[0], [])):
            for op in ops:
                result = op.results[0]
                if op.name == "stablehlo.reshape":
                    known[result] = known[op.operands[0]]
                elif is_spread(op, self.group) and op.operands[0] not in inputs:
                    known[result] = hlo.broadcast_in_dim(known[op.operands[0]], self.group.shape, range(len(row)))
                elif self.group.is_row(result) and op.name != "stablehlo.reduce":
                    attributes = {name: op.attributes[name] for name in op.attributes}
                    known[result] = hlo.make(op.name, [hlo.tensor_type(row, hlo.element_type(result))],
                                             [known[v] for v in op.operands], attributes).result
                elif op.name == "stablehlo.broadcast_in_dim":
                    known[result] = self.broadcast(op, known[op.operands[0]])
                else:
                    copy = fn.clone_one(op, known)
                    if NUMBER in copy.attributes:
                        copy.attributes[NUMBER] = hlo.i64(next(self.numbers))
            hlo.make("flow.return", [], [known[op.results[0]] for op in kept])
        return list(region.results)
