"""FLOPs and bytes of one microbatch's forward and backward, into the manifest's `cost`.

Exact for `dot_general` and `convolution` (two a multiply-add); one for each element of any other operation on floats,
however dear. Bytes are what operations that do not fuse read and write: contractions, reductions, indexing, sorts.
A counted loop counts its body for each round; of an `if`, the dearest branch.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import manifest as mf
from sexpgpu.compiler.passes.autodiff.reverse import is_real
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.convolutions import layout_of
from sexpgpu.compiler.passes.counted import count_of
from sexpgpu.compiler.passes.reading import dot_numbers
from sexpgpu.compiler.passes.running import running_of
from sexpgpu.runtime.dtypes import DTYPES

#: Operations that move data and compute nothing.
FREE = frozenset(f"stablehlo.{n}" for n in (
    "constant", "iota", "reshape", "transpose", "broadcast_in_dim", "slice", "concatenate", "pad", "reverse", "convert",
    "bitcast_convert", "dynamic_slice", "dynamic_update_slice", "gather", "select", "optimization_barrier", "copy"))

#: Operations whose operands and results go through memory.
THROUGH_MEMORY = frozenset(f"stablehlo.{n}" for n in (
    "dot_general", "dot", "convolution", "reduce", "reduce_window", "gather", "scatter", "sort", "dynamic_slice",
    "dynamic_update_slice", "concatenate"))


@dataclass(frozen=True, slots=True)
class Cost:
    flops: int = 0
    bytes: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.flops + other.flops, self.bytes + other.bytes)

    def times(self, n: int) -> Cost:
        return Cost(self.flops * n, self.bytes * n)


_WIDTH = {d.mlir: d.bytes for d in DTYPES.values()}


def _bytes(value: ir.Value) -> int:
    if not isinstance(value.type, ir.RankedTensorType):
        return 0
    return prod(hlo.shape_of(value)) * _WIDTH.get(str(hlo.element_type(value)), 4)


def _flops(op: ir.Operation) -> int:
    out = op.results[0]
    match op.name:
        case "stablehlo.dot_general" | "stablehlo.dot":
            contracted = prod(hlo.shape_of(op.operands[0])[d] for d in dot_numbers(op).contract[0])
            return 2 * prod(hlo.shape_of(out)) * contracted
        case "stablehlo.convolution":
            kernel = hlo.shape_of(op.operands[1])
            return 2 * prod(hlo.shape_of(out)) * prod(kernel) // kernel[layout_of(op).kernel[1]]
        case "stablehlo.reduce" | "stablehlo.scatter" | "stablehlo.sort":
            source = op.operands[-1] if op.name == "stablehlo.scatter" else op.operands[0]
            return prod(hlo.shape_of(source)) if is_real(source) else 0
        case "stablehlo.reduce_window":
            window = ir.DenseI64ArrayAttr(op.attributes["window_dimensions"]) if running_of(op) is None else (1,)
            return prod(hlo.shape_of(out)) * prod(window) if is_real(out) else 0
    return 0 if op.name in FREE or not is_real(out) else prod(hlo.shape_of(out))


def cost_of(block: ir.Block) -> Cost:
    total = Cost()
    for view in block.operations:
        op = view.operation
        match op.name:
            case "stablehlo.while":
                count = count_of(op)
                total += cost_of(op.regions[1].blocks[0]).times(count.trips if count else 1)
            case "stablehlo.if" | "stablehlo.case":
                total += max((cost_of(r.blocks[0]) for r in op.regions), key=lambda c: c.flops)
            case _ if len(op.results):
                moved = sum(_bytes(v) for v in (*op.operands, *op.results)) if op.name in THROUGH_MEMORY else 0
                total += Cost(_flops(op), moved)
    return total


def apply(module: ir.Module, options: NoOptions) -> None:
    manifest = mf.read(module)
    for func in fn.by_role(module, "train"):
        cost = cost_of(fn.body(func))
        manifest["cost"] = {"flops": cost.flops, "bytes": cost.bytes}
    mf.write(module, manifest)


PASS = Pass("cost", "FLOPs and bytes of a microbatch into the manifest", apply)
