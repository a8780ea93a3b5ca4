"""Sums over columns of what lies in memory, in the order it lies there; for processors.

The code generator takes some columns of all rows, then the next, with strides of a whole row: 2048 x 512 took half a
millisecond. Here a piece of the rows is read as it lies, eight rows at a time, into one row of sums that stays in the
nearest cache; the rows of all pieces are summed after that. The pieces follow from the shape, so bits do not depend on
threads. Measured in docs/benchmarks.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import prod

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.reading import dims_of, reducer_of

#: Rows added at a time, and the numbers of each.
ROWS, LANES = 8, 8
#: Rows of a piece. With fewer the pieces' sums are many.
FEWEST, MOST = 64, 256
#: A row of sums longer than this does not stay in the nearest cache.
LONGEST = 4096
#: What is stored whatever reads it; what is computed element by element is computed where it is summed.
STORED = ("flow.dispatch", "flow.dispatch.region", "flow.dispatch.workgroups", "linalg.matmul",
          "linalg.conv_2d_nhwc_hwcf", "stablehlo.dot_general")
SAME = ("stablehlo.reshape", "util.optimization_barrier", "iree_tensor_ext.compute_barrier.start",
        "iree_tensor_ext.compute_barrier.end")
#: What a kernel computes of what it reads, and how much of it at most.
ARITHMETIC = {"stablehlo.add": "arith.addf", "stablehlo.subtract": "arith.subf", "stablehlo.multiply": "arith.mulf"}
MOST_OPERATIONS = 8
#: On a broadcast that is to stand for itself (`rows`).
NUMBER = "sexp.kernel"


def _piece(rows: int) -> int | None:
    return next((n for n in range(MOST, FEWEST - 1, -ROWS) if rows % n == 0), None)


def _lies_in_memory(value: ir.Value) -> bool:
    while not isinstance(value.owner, ir.Block) and value.owner.name in SAME:
        value = value.owner.operands[0]
    return isinstance(value.owner, ir.Block) or value.owner.name in STORED


@dataclass(eq=False, slots=True)
class _Expression:
    """What is summed, of inputs that lie in memory: whole rows (`wide`), a number a row (`row`), one row (`column`)."""

    shape: list[int]
    axes: int
    inputs: dict[ir.Value, str] = field(default_factory=dict)
    ops: dict[ir.Operation, str] = field(default_factory=dict)
    ways: dict[ir.Value, ir.Value] = field(default_factory=dict)

    def take(self, value: ir.Value) -> bool:
        """Whether the value can be had; operations come behind what they need."""
        owner = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if value in self.inputs or owner in self.ops:
            return True
        if _lies_in_memory(value):
            self.inputs[value] = "wide"
        elif owner.name in ARITHMETIC and len(self.ops) < MOST_OPERATIONS:
            if not all(self.take(v) for v in owner.operands):
                return False
            self.ops[owner] = ARITHMETIC[owner.name]
        else:
            return self._spread(value, owner)
        return True

    def _spread(self, value: ir.Value, owner: ir.Operation) -> bool:
        if owner.name == "stablehlo.broadcast_in_dim":
            dims = dims_of(owner, "broadcast_dimensions")
        elif NUMBER in owner.attributes:
            found = re.match(r"\[affine_map<\([^)]*\) -> \(([^)]*)\)>", str(owner.attributes["indexing_maps"]))
            if found is None or not re.fullmatch(r"(d\d+(, )?)+", found[1]):
                return False
            dims = [int(name[1:]) for name in found[1].split(", ")]
        else:
            return False
        rank, x = len(self.shape), owner.operands[0]
        kinds = {"row": list(range(self.axes)), "column": list(range(self.axes, rank))}
        kind = next((k for k, axes in kinds.items() if dims == axes
                     and list(hlo.shape_of(x)) == [self.shape[d] for d in axes]), None)
        if kind is None:
            return False
        self.inputs[value], self.ways[value] = kind, x
        return True


def is_column_sum(op: ir.Operation) -> bool:
    """A sum of f32 over leading axes that a kernel of this pass can do."""
    if op.name != "stablehlo.reduce" or len(op.operands) != 2 or reducer_of(op) != "stablehlo.add":
        return False
    shape, axes = list(hlo.shape_of(op.operands[0])), dims_of(op, "dimensions")
    rows, n = prod(shape[:len(axes)]), prod(shape[len(axes):])
    return (axes == list(range(len(axes))) and 0 < len(axes) < len(shape) and _piece(rows) is not None
            and n % LANES == 0 and n <= LONGEST and str(hlo.element_type(op.operands[0])) == "f32")


def _kernel(rows: int, n: int, piece: int, summed: _Expression, result: ir.Value) -> str:
    """A function of one dispatch: the sums of each piece."""
    sums, pieces, vector = f"tensor<{n}xf32>", rows // piece, f"vector<{LANES}xf32>"
    write = f"!iree_tensor_ext.dispatch.tensor<writeonly:tensor<{pieces}x{n}xf32>>"
    of = {"wide": (f"{rows}x{n}", f"{piece}x{n}", f"[%from, 0], sizes = [{piece}, {n}], strides = [1, 1]"),
          "row": (f"{rows}", f"{piece}", f"[%from], sizes = [{piece}], strides = [1]"),
          "column": (f"{n}", f"{n}", f"[0], sizes = [{n}], strides = [1]")}
    whole = [f"tensor<{of[kind][0]}xf32>" for kind in summed.inputs.values()]
    read = [f"!iree_tensor_ext.dispatch.tensor<readonly:{type_}>" for type_ in whole]
    loads = [f"%s{i} = iree_tensor_ext.dispatch.tensor.load %in{i}, offsets = {of[kind][2]} : {read[i]} -> "
             f"tensor<{of[kind][1]}xf32>" for i, kind in enumerate(summed.inputs.values())]

    def eight(first: str) -> list[str]:
        """The sum of eight rows at a column: %t14."""
        lines: list[str] = []
        total: list[str] = []
        for k in range(ROWS):
            lines.append(f"%r{k} = affine.apply affine_map<(d0) -> (d0 + {k})>({first})")
            names: dict[ir.Value, str] = {}
            for i, (value, kind) in enumerate(summed.inputs.items()):
                names[value], type_ = f"%x{i}_{k}", f"tensor<{of[kind][1]}xf32>"
                if kind == "row":
                    lines += [f"%n{i}_{k} = tensor.extract %s{i}[%r{k}] : {type_}",
                              f"{names[value]} = vector.broadcast %n{i}_{k} : f32 to {vector}"]
                else:
                    at = f"%r{k}, %j" if kind == "wide" else "%j"
                    lines.append(f"{names[value]} = vector.transfer_read %s{i}[{at}], %zero {{in_bounds = [true]}} : "
                                 f"{type_}, {vector}")
            for i, (op, name) in enumerate(summed.ops.items()):
                names[op.results[0]] = f"%y{i}_{k}"
                lines.append(f"%y{i}_{k} = {name} {', '.join(names[v] for v in op.operands)} : {vector}")
            total.append(names[result])
        for k in range(ROWS, 2 * ROWS - 1):
            lines.append(f"%t{k} = arith.addf {total[2 * (k - ROWS)]}, {total[2 * (k - ROWS) + 1]} : {vector}")
            total.append(f"%t{k}")
        return lines

    put = f"{{in_bounds = [true]}} : {vector}, {sums}"
    body = "\n".join([
        *(f"%c{i} = arith.constant {i} : index" for i in sorted({0, LANES, ROWS, n, piece})),
        "%zero = arith.constant 0.0 : f32",
        "%id = flow.dispatch.workgroup.id[0] : index",
        f"%from = affine.apply affine_map<(d0) -> (d0 * {piece})>(%id)", *loads,
        f"%empty = tensor.empty() : {sums}",
        f"%first = scf.for %j = %c0 to %c{n} step %c{LANES} iter_args(%o = %empty) -> {sums} {{",
        *eight("%c0"), f"%w = vector.transfer_write %t14, %o[%j] {put}", f"scf.yield %w : {sums} }}",
        f"%all = scf.for %r = %c{ROWS} to %c{piece} step %c{ROWS} iter_args(%a = %first) -> {sums} {{",
        f"%more = scf.for %j = %c0 to %c{n} step %c{LANES} iter_args(%o = %a) -> {sums} {{",
        *eight("%r"), f"%old = vector.transfer_read %o[%j], %zero {{in_bounds = [true]}} : {sums}, {vector}",
        f"%new = arith.addf %old, %t14 : {vector}", f"%w = vector.transfer_write %new, %o[%j] {put}",
        f"scf.yield %w : {sums} }}", f"scf.yield %more : {sums} }}",
        f"iree_tensor_ext.dispatch.tensor.store %all, %out, offsets = [%id, 0], sizes = [1, {n}], strides = [1, 1] : "
        f"{sums} -> {write}", "flow.return"])
    given = ", ".join(f"%x{i}: {type_}" for i, type_ in enumerate(whole))
    inside = ", ".join([*(f"%in{i}: {type_}" for i, type_ in enumerate(read)), f"%out: {write}"])
    names = ", ".join(f"%x{i}" for i in range(len(whole)))
    return f"""func.func @kernel({given}) -> tensor<{pieces}x{n}xf32> {{
      %0 = flow.dispatch.workgroups({names}) : ({', '.join(whole)}) -> tensor<{pieces}x{n}xf32> = ({inside}) {{
        {body}
      }} count() -> (index, index, index) {{
        %n = arith.constant {pieces} : index
        %one = arith.constant 1 : index
        flow.return %n, %one, %one : index, index, index
      }}
      return %0 : tensor<{pieces}x{n}xf32> }}"""


def _rewrite(op: ir.Operation) -> None:
    shape, axes = list(hlo.shape_of(op.operands[0])), dims_of(op, "dimensions")
    rows, n = prod(shape[:len(axes)]), prod(shape[len(axes):])
    piece, summed = _piece(rows), _Expression(shape, len(axes))
    if not summed.take(op.operands[0]) or "wide" not in summed.inputs.values():
        return
    flat = {"wide": [rows, n], "row": [rows], "column": [n]}
    module = ir.Module.parse(_kernel(rows, n, piece, summed, op.operands[0]))
    (func,) = module.body.operations
    with ir.InsertionPoint(op), op.location:
        given = [hlo.reshape(summed.ways.get(v, v), flat[kind]) for v, kind in summed.inputs.items()]
        (sums,) = fn.inline(func.operation, given)
        total = hlo.reshape(hlo.reduce(sums, [0], "add"), shape[len(axes):])
    fn.replace(op, total)


def apply(module: ir.Module, options: NoOptions) -> None:
    for func in fn.functions(module):
        for op in [op for op in fn.walk(fn.body(func)) if is_column_sum(op)]:
            _rewrite(op)


PASS = Pass("columns", "sums over columns of what lies in memory, as it lies there, for processors", apply,
            optional=True)
