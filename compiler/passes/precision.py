"""Products in the compute dtype: operands of `dot_general` and `convolution` are rounded to it, their sums stay f32.

Runs behind autodiff, so that the products of the way back are rounded too. Norms, softmax, losses and the optimizer
hold no such product of f32 operands, or stay as they are. The module says which dtype, `sexp.compute`; nothing is done
without.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import NoOptions, Pass

ATTRIBUTE = "sexp.compute"
PRODUCTS = ("stablehlo.dot_general", "stablehlo.convolution")


def apply(module: ir.Module, options: NoOptions) -> None:
    attributes = module.operation.attributes
    if ATTRIBUTE not in attributes:
        return
    kind = ir.Type.parse(ir.StringAttr(attributes[ATTRIBUTE]).value)
    del attributes[ATTRIBUTE]
    for func in fn.by_role(module, "train", "evaluate", "export"):
        for op in fn.walk(fn.body(func)):
            if op.name in PRODUCTS and all(str(hlo.element_type(v)) == "f32" for v in (*op.operands, *op.results)):
                with ir.InsertionPoint(op), op.location:
                    for i, operand in enumerate(op.operands):
                        op.operands[i] = hlo.convert(operand, kind)


PASS = Pass("precision", "operands of products in the compute dtype", apply)
