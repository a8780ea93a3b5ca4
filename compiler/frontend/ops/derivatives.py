"""Derivatives that a program asks for or gives itself: `gradient`, `value-and-gradient`, `custom-gradient`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.builtin_call import BuiltinCall
from sexpgpu.compiler.frontend.ops.registry import Failed, op
from sexpgpu.compiler.frontend.ops.support.staged import (
    cast_fix,
    describe,
    give,
    require_graph,
    rule_note,
    show_shape,
    tensor,
)
from sexpgpu.compiler.frontend.ops.support.structure import as_tensors, leaves, rebuilt
from sexpgpu.compiler.frontend.values import Tensor
from sexpgpu.diagnostics import SexpError

if TYPE_CHECKING:
    from sexpgpu.diagnostics import Span

GROUP = "control"


def _float_arguments(call: BuiltinCall, xs: Sequence[object]) -> list[Tensor]:
    found = []
    for i, x in enumerate(xs):
        span = call.where("xs", i)
        if not isinstance(x, Tensor):
            call.fail("E-TYPE-002", f"`{call.op.name}` is by tensors, not by {describe(x)}", at=span,
                      label=f"this is {describe(x)}", notes=rule_note(call))
        if not x.dtype.is_float:
            call.fail("E-TYPE-007", f"`{call.op.name}` is by tensors of floats, and this is {x.dtype}", at=span,
                      label=f"this is {x.dtype}", fix=cast_fix(span, "f32"))
        found.append(x)
    return found


def _differentiated(call: BuiltinCall, f: object, xs: Sequence[object]) -> tuple[Tensor, list[ir.Value]]:
    """The value of `f` and its gradients. What `f` stages stands aside until it is differentiated: a loop is then
    replaced by one that keeps more, and no value of the old one may be left."""
    from sexpgpu.compiler.passes.autodiff import backpropagate

    require_graph(call)
    inputs = _float_arguments(call, xs)
    if not inputs:
        call.fail("E-ARITY-001", f"`{call.op.name}` is by nothing", label="no tensor after the function")
    trace = call.evaluator.trace
    holder = ir.Operation.create("scf.execute_region", regions=1)
    block = hlo.block(holder.regions[0], [])
    trace.branches += 1
    trace.gradients += 1
    try:
        with ir.InsertionPoint(block):
            # A name for each input that is known in here only: what else uses the tensor has no part in it.
            own = [Tensor(hlo.make("stablehlo.add", [x.value.type], [x.value, hlo.zeros_like(x.value)]).result,
                          x.dtype, x.shape, x.span) for x in inputs]
            value = call.apply(f, *own)
            if not isinstance(value, Tensor) or value.shape or not value.dtype.is_float:
                call.fail("E-TYPE-019", f"the function of `{call.op.name}` gives {describe(value)}, not a scalar",
                          at=call.where("f"), label=f"gives {describe(value)}", notes=rule_note(call),
                          fix="`sum` or `mean` makes one of many")
            ops = [o.operation for o in block.operations]
            seed = hlo.splat(1.0, [], value.dtype.mlir)
            hlo.return_([value.value])
        end = block.operations[len(block.operations) - 1].operation
        with ir.InsertionPoint(end):
            try:
                gradients = backpropagate(ops, [(end.operands[0], seed)], [t.value for t in own])
            except SexpError as error:
                for diagnostic in error.diagnostics:
                    call.evaluator.reporter.add(diagnostic)
                raise Failed from None
            gradients = [hlo.zeros_like(x.value) if g is None else g for x, g in zip(own, gradients, strict=True)]
        result = end.operands[0]
        end.erase()
        here = ir.InsertionPoint(holder)
        for made in list(block.operations):
            made.operation.detach_from_parent()
            here.insert(made.operation)
    finally:
        trace.branches -= 1
        trace.gradients -= 1
        holder.erase()
    return Tensor(result, value.dtype, (), call.span), gradients


@op("gradient", "f &rest xs", group=GROUP, rule="(a … -> []), a … -> a, or a list", by_name=False,
    doc="The gradient of a function with a scalar value by each of its arguments: a tensor for one, a list for "
        "several. It has a gradient itself.")
def gradient(call: BuiltinCall, f: object, xs: tuple) -> object:
    return _shown(call, xs, _differentiated(call, f, xs)[1])


@op("value-and-gradient", "f &rest xs", group=GROUP, rule="(a … -> []), a … -> [], a, or a list", by_name=False,
    doc="`(list value gradient)`, as `gradient` gives it; `f` is computed once.")
def value_and_gradient(call: BuiltinCall, f: object, xs: tuple) -> object:
    value, gradients = _differentiated(call, f, xs)
    return (value, _shown(call, xs, gradients))


def _shown(call: BuiltinCall, xs: Sequence[Tensor], gradients: Sequence[ir.Value]) -> object:
    found = tuple([give(call, g, x.dtype, x.shape) for x, g in zip(xs, gradients, strict=True)])
    return found[0] if len(found) == 1 else found


@op("%after", "arrived x", group=GROUP, by_name=False,
    doc="`x`, known no earlier than the tensor `arrived`: what is computed from it is computed then, and again.")
def after(call: BuiltinCall, arrived: Tensor, x: Tensor) -> Tensor:
    from sexpgpu.compiler.passes.waiting import after

    arrived, x = tensor(call, "arrived", arrived), tensor(call, "x", x)
    shut = hlo.marker("stop_gradient", [arrived.value], [arrived.value.type]).result
    return give(call, after(shut, [x.value])[0], x.dtype, x.shape)


@op("custom-gradient", "f backward &rest xs", group=GROUP, rule="(a … -> b), (b b a … -> a …), a … -> b", by_name=False,
    doc="`(f x …)`, with a gradient of one's own: `backward` gets the cotangent of the value, the value and the "
        "arguments, and gives the cotangent of the argument, or a list of one for each (nil for none). Neither "
        "function passes a gradient to what else it uses.")
def custom_gradient(call: BuiltinCall, f: object, backward: object, xs: tuple) -> object:
    require_graph(call)
    inputs = [x for x in xs if isinstance(x, Tensor)]
    value = as_tensors(call, call.apply(f, *xs))
    outputs = leaves(value)
    if not outputs or not inputs:
        call.fail("E-TYPE-002", f"`custom-gradient` of a function that gives {describe(value)}", at=call.where("f"),
                  label="no tensor")
    if not call.evaluator.trace.is_differentiated:
        return value
    shut = [hlo.marker("stop_gradient", [t.value], [t.value.type]).result for t in outputs]
    symbol, others = _backward(call, backward, xs, value, shut)
    made = hlo.marker("custom_gradient", [*shut, *(x.value for x in inputs), *others], [v.type for v in shut],
                      {"outputs": hlo.i64(len(shut)), "inputs": hlo.i64(len(inputs))}, [symbol])
    return rebuilt(value, list(made.results))


def _backward(call: BuiltinCall, backward: object, xs: tuple, value: object, shut: Sequence[ir.Value]
              ) -> tuple[str, list[ir.Value]]:
    """The function from what the marker holds and the cotangents to the cotangents of the inputs; and what it uses
    besides."""
    from sexpgpu.compiler.passes import functions as fn

    inputs = [x for x in xs if isinstance(x, Tensor)]
    trace = call.evaluator.trace
    holder = ir.Operation.create("scf.execute_region", regions=1)
    trace.branches += 1
    try:
        block = hlo.block(holder.regions[0], [v.type for v in shut])
        with ir.InsertionPoint(block):
            given = rebuilt(value, list(block.arguments))
            answer = call.apply(backward, given, rebuilt(value, list(shut)), *xs)
            results = _cotangents(call, answer, inputs, xs)
        held = [*shut, *(x.value for x in inputs)]
        others = [v for v in fn.captured(holder) if v not in held]
        for made in fn.walk(block):
            if hlo.marker_kind(made) not in (None, "stop_gradient"):
                call.fail("E-CONTRACT-020", "the second function of `custom-gradient` declares state or draws numbers",
                          at=call.where("backward"), label="it only computes",
                          fix="what it needs is made outside of it")
        module = holder
        while module.parent is not None:
            module = module.parent.operation
        top = module.regions[0].blocks[0]
        symbol = f"cotangent.{sum(fn.role(f.operation) == 'cotangent' for f in top.operations)}"
        with ir.InsertionPoint(top):
            func = ir.Operation.create("func.func", regions=1, attributes={
                "sym_name": ir.StringAttr.get(symbol), "sym_visibility": ir.StringAttr.get("private"),
                "sexp.role": ir.StringAttr.get("cotangent"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(
                    [v.type for v in (*held, *others, *shut)], [v.type for v in results]))})
        body = hlo.block(func.regions[0], [v.type for v in (*held, *others, *shut)])
        mapping = dict(zip([*held, *others, *block.arguments], body.arguments, strict=False))
        with ir.InsertionPoint(body):
            for made in block.operations:
                fn.clone_one(made.operation, mapping)
            ir.Operation.create("func.return", operands=[mapping.get(v, v) for v in results])
    finally:
        trace.branches -= 1
        holder.erase()
    return symbol, others


def _cotangents(call: BuiltinCall, answer: object, inputs: Sequence[Tensor], xs: tuple) -> list[ir.Value]:
    """One for each tensor among the arguments: zeros for nil and for what has none."""
    span: Span = call.where("backward")
    listed = answer if isinstance(answer, tuple) else (answer,)
    if len(listed) != len(xs):
        call.fail("E-TYPE-013", f"the second function of `custom-gradient` gives {describe(answer)} for {len(xs)} "
                  "arguments", at=span, label=f"{len(xs)} cotangents are needed", notes=rule_note(call))
    found = []
    for x, g in zip(xs, listed, strict=True):
        if not isinstance(x, Tensor):
            continue
        if g is None:
            found.append(hlo.zeros_like(x.value))
        elif isinstance(g, Tensor) and g.dtype is x.dtype and tuple(g.shape) == tuple(x.shape):
            found.append(g.value)
        else:
            call.fail("E-SHAPE-013", f"the cotangent of {describe(x)} is {describe(g)}", at=span,
                      label=f"not {x.dtype} {show_shape(x.shape)}", notes=rule_note(call))
    return found
