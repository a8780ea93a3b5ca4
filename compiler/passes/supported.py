"""`supported-<target>`: what a target's code generator refuses, found before it is asked, with the place in the source.

The table was made by compiling every operation at every dtype for every target, and a test repeats a sample of it.
Scalar code of `ctx` functions is not looked at: it runs on the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes import manifest as mf
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.spans import chain_of, span_of
from sexpgpu.diagnostics import Diagnostic, Fix, Label, SexpError

DOTS = frozenset({"stablehlo.dot_general", "stablehlo.dot", "stablehlo.convolution"})
EVERYTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Refusal:
    """`kind` cannot do `operations` (all, when empty) on `dtypes`; `instead` works."""

    kind: str
    dtypes: tuple[str, ...]
    operations: frozenset[str]
    what: str
    instead: str

    def hits(self, op: ir.Operation) -> str | None:
        """The dtype that is refused, where this operation has it."""
        if self.operations and op.name not in self.operations:
            return None
        values = op.operands if self.operations else [*op.operands, *op.results]
        for value in values:
            if isinstance(value.type, ir.RankedTensorType):
                name = mf.known_dtype(hlo.element_type(value))
                if name in self.dtypes and not (self.what == "conversion to floats" and not _to_float(op)):
                    return name
        return None


def _to_float(op: ir.Operation) -> bool:
    return not isinstance(hlo.element_type(op.results[0]), ir.IntegerType)


#: Needs functions of the C library that an artifact does not link.
LIBM = frozenset({"stablehlo.tanh", "stablehlo.sine", "stablehlo.cosine", "stablehlo.tan", "stablehlo.cbrt",
                  "stablehlo.atan2", "stablehlo.remainder", "chlo.tan"})

REFUSALS: tuple[Refusal, ...] = (
    Refusal("cpu", ("f64",), LIBM, "this function", "f32"),
    Refusal("vulkan", ("f64",), EVERYTHING, "arithmetic", "f32"),
    # Compiles, but pairs of numbers are added as one f32.
    Refusal("vulkan", ("f16",), EVERYTHING, "arithmetic", "f32"),
    Refusal("vulkan", ("bf16",), DOTS, "matmul", "f32"),
    Refusal("vulkan", ("i8", "i16", "u8", "u16", "i64", "u64"), DOTS, "matmul", "f32 or i32"),
    Refusal("vulkan", ("i64", "u64"), frozenset({"stablehlo.divide", "stablehlo.remainder"}), "division", "i32"),
    Refusal("vulkan", ("i64", "u64"), frozenset({"stablehlo.convert"}), "conversion to floats", "i32"),
    Refusal("vulkan", ("u8", "u16"), frozenset({"stablehlo.divide", "stablehlo.remainder"}), "division", "i32"),
)


def _diagnostic(op: ir.Operation, refusal: Refusal, dtype: str) -> Diagnostic:
    span = span_of(op.location)
    return Diagnostic(
        "E-TARGET-004", f"`{refusal.kind}` cannot run {refusal.what} on {dtype}",
        primary=Label(span, f"{op.name.partition('.')[2]} on {dtype}") if span else None,
        chain=chain_of(op.location), fix=Fix(f"{refusal.instead} works there: `cast` before it"))


#: Bytes of what is narrower than a word of four.
NARROW = {"bool": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "f16": 2, "bf16": 2}


def _outside(module: ir.Module) -> Iterator[tuple[ir.Operation, ir.Type]]:
    """What lies in memory of its own: the state, and what goes into an export or comes out."""
    for op in module.body.operations:
        if op.operation.name == "util.global":
            yield op.operation, ir.TypeAttr(op.attributes["type"]).value
        elif op.operation.name == "func.func" and "sym_visibility" not in op.attributes:
            signature = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
            for kind in (*signature.inputs, *signature.results):
                yield op.operation, kind


def _torn(module: ir.Module) -> Iterator[Diagnostic]:
    """Vulkan devices read and write words of four bytes: what is left at the end of a tensor is lost."""
    seen = set()
    for op, kind in _outside(module):
        if not isinstance(kind, ir.RankedTensorType) or kind in seen:
            continue
        seen.add(kind)
        name = mf.known_dtype(kind.element_type)
        size = NARROW.get(name or "", 4) * prod(kind.shape)
        if size % 4:
            span = span_of(op.location)
            what = f"{name} {list(kind.shape)}"
            yield Diagnostic("E-TARGET-004", f"`vulkan` cannot hold a tensor of {size} bytes: {what}",
                             primary=Label(span, "read or written here") if span else None,
                             notes=("its devices read and write words of four bytes",),
                             fix=Fix("a size that makes it a multiple of four, or i32 or f32 instead"))


def _pass_for(kind: str) -> Pass:
    mine = [r for r in REFUSALS if r.kind == kind]

    def apply(module: ir.Module, options: NoOptions) -> None:
        found: dict[tuple[object, str], Diagnostic] = {}
        torn = list(_torn(module)) if kind == "vulkan" else []
        for func in fn.functions(module):
            for op in fn.walk(fn.body(func)):
                for refusal in mine:
                    dtype = refusal.hits(op)
                    if dtype is not None:
                        # Forward and backward of one expression are one finding.
                        found.setdefault((span_of(op.location), dtype), _diagnostic(op, refusal, dtype))
        if found or torn:
            raise SexpError(*found.values(), *torn)

    return Pass(f"supported-{kind}", f"refuses what {kind} cannot run", apply)


SUPPORTED: dict[str, Pass] = {kind: _pass_for(kind) for kind in ("cpu", "vulkan", "cuda")}
