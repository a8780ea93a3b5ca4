"""Export `matmul_peak`: one square product in the dtype that the model computes in, for the runtime to time.

What share of it a training step reaches says how much of the device the step uses: the code generator, its flags and
the device are the same for both. Most products of most models are not square and not as large, so a share of 1 is not
to be had. Vulkan devices get none: one without a GPU would take ten seconds for it, and what is small enough for that
one is over on a GPU before it has begun.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import manifest as mf
from sexpgpu.compiler.passes import precision
from sexpgpu.compiler.passes.base import NoOptions, Pass

EXPORT = "matmul_peak"

#: Rows of the matrices: enough that a product is not over before it has begun, few enough for a tenth of a second.
SIZE = 1024
SIZE_GPU = 4096


def apply(module: ir.Module, options: NoOptions) -> None:
    manifest = mf.read(module)
    attributes = module.operation.attributes
    kind = ir.StringAttr(attributes[precision.ATTRIBUTE]).value if precision.ATTRIBUTE in attributes else "f32"
    driver = (manifest.get("target") or {}).get("driver")
    if driver == "vulkan":
        return
    size = SIZE_GPU if driver == "cuda" else SIZE
    matrix = hlo.tensor_type([size, size], kind)
    with fn.new_function(module, EXPORT, [matrix, matrix]) as (_, (a, b)):
        fn.return_values([hlo.dot_general(a, b, contract=([1], [0]), element="f32")])
    manifest["peak"] = {"export": EXPORT, "size": size, "dtype": mf.dtype_name(ir.Type.parse(kind))}
    mf.write(module, manifest)


PASS = Pass("peak", "export matmul_peak, a product to measure the device by", apply)
