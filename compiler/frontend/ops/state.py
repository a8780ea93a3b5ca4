"""State declared inside the graph: `param`, `buffer`, `update-buffer`. Names get the scopes around them."""

from __future__ import annotations

from contextlib import nullcontext

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.builtin_call import BuiltinCall
from sexpgpu.compiler.frontend.layer_names import LayerText, flaw
from sexpgpu.compiler.frontend.ops.registry import op
from sexpgpu.compiler.frontend.ops.support.dtype import F32, dtype_word
from sexpgpu.compiler.frontend.ops.support.rounds import Rounds, layer
from sexpgpu.compiler.frontend.ops.support.staged import describe, show_shape
from sexpgpu.compiler.frontend.trace import Phase, Region, Variable
from sexpgpu.compiler.frontend.values import Dim, Tensor, origin_of, same_value
from sexpgpu.diagnostics import Fix, Label, did_you_mean
from sexpgpu.diagnostics.record import replace

STATE = "state"
#: The kind of marker, and of what leaves a region.
BUFFER = "buffer"


def must_stand_in(call: BuiltinCall, *phases: Phase) -> None:
    """E-CONTRACT-020 where the form stands in another function's code."""
    trace = call.evaluator.trace
    # What an export computes is the model, used.
    if trace.phase not in phases and not (trace.phase is Phase.EXPORT and Phase.MODEL in phases):
        listed = " or ".join(phase.value for phase in phases)
        call.fail("E-CONTRACT-020", f"`{call.op.name}` stands in {trace.phase.value}", label="out of place",
                  fix=f"it belongs in {listed}")


def must_not_branch(call: BuiltinCall) -> None:
    trace = call.evaluator.trace
    if trace.branches:
        call.fail("E-CONTRACT-020", f"`{call.op.name}` stands in a branch that is staged", label="inside a branch",
                  notes=["the condition is known at run time only, and this would happen in some steps only"])
    if len(trace.loops) > len(trace.layered):
        call.fail("E-CONTRACT-020", f"`{call.op.name}` stands in a loop of the graph", label="inside a loop",
                  notes=["this would happen several times a step"],
                  fix="let the loop carry the value, and use it after the loop")


def _name(call: BuiltinCall, name: object) -> LayerText:
    if not isinstance(name, str) or not name:
        call.fail("E-CONTRACT-025", f"the name of a {_noun(call)} is a string, not {describe(name)}",
                  at=call.where("name"), label=f"this is {describe(name)}")
    trace = call.evaluator.trace
    full = trace.full_name(name)
    if (wrong := flaw(full, trace.layered)) is not None:
        call.fail("E-CONTRACT-025", f"no {_noun(call)} is called `{full}`", at=call.where("name"),
                  label="with the scopes around it", notes=[wrong])
    return full


def _noun(call: BuiltinCall) -> str:
    return "parameter" if call.op.name == "param" else "buffer"


def _dims(call: BuiltinCall, shape: object) -> tuple[Dim, ...]:
    if not isinstance(shape, tuple):
        fix = f"write `[{int(shape)}]`" if isinstance(shape, int) and not isinstance(shape, bool) else None
        call.fail("E-CONTRACT-025", f"the shape of a {_noun(call)} is a vector of sizes, not {describe(shape)}",
                  at=call.where("shape"), label=f"this is {describe(shape)}", fix=fix)
    dims = []
    for i, size in enumerate(shape):
        if isinstance(size, float):
            fix = "`(quotient a b)` gives an integer, `(round …)` the nearest one" + (
                f"; here it is {int(size)}" if size.is_integer() else "")
            call.fail("E-TYPE-006", f"a size is an integer, not the float {size!r}", at=call.item("shape", i),
                      label=f"this is {size!r}", secondary=call.written(call.item("shape", i)), fix=fix)
        if isinstance(size, bool) or not isinstance(size, int):
            call.fail("E-TYPE-006", f"a size is an integer, not {describe(size)}", at=call.item("shape", i),
                      label=f"this is {describe(size)}", secondary=call.written(call.item("shape", i)))
        if size < 1:
            call.fail("E-SHAPE-009", f"a size is positive, not {int(size)}", at=call.item("shape", i),
                      label=f"this is {int(size)}", secondary=call.written(call.item("shape", i)))
        dims.append(size if isinstance(size, Dim) and origin_of(size) else Dim(size))
    return tuple(dims)


def _flag(call: BuiltinCall, parameter: str, value: object) -> bool:
    if not isinstance(value, bool):
        call.fail("E-CONTRACT-025", f"`:{parameter}` is `true` or `false`, not {describe(value)}",
                  at=call.where(parameter), label=f"this is {describe(value)}")
    return value


def _declared(call: BuiltinCall, new: Variable, table: dict[str, Variable], other: dict[str, Variable]) -> Variable:
    """The first declaration of the name, which is `new` when there was none; another one must agree with it."""
    if new.name in other:
        call.fail("E-VALUE-008", f"`{new.name}` is a parameter and a buffer", label="the second declaration",
                  secondary=[Label(other[new.name].span, "the first declaration")])
    old = table.get(new.name)
    if old is None:
        table[new.name] = new
        return new
    if call.evaluator.trace.uncertain:
        return new
    first = [Label(old.span, f"{show_shape(old.shape)} here, first")]
    if tuple(old.shape) != tuple(new.shape):
        call.fail("E-SHAPE-010", f"`{new.name}` is declared {show_shape(old.shape)} and {show_shape(new.shape)}",
                  label=f"{show_shape(new.shape)} here", secondary=first,
                  fix="one full name is one tensor: another name, or a `scope` around it, makes two")
    for setting in ("dtype", "decay", "trainable"):
        if getattr(old, setting) != getattr(new, setting):
            call.fail("E-VALUE-008", f"`{new.name}` is declared twice with different `:{setting}`",
                      label="the second declaration", secondary=[Label(old.span, "the first declaration")])
    if new.init_given and not same_value(old.init, new.init):
        call.fail("E-VALUE-008", f"`{new.name}` is declared twice with different `:init`",
                  label="the second declaration", secondary=[Label(old.span, "the first declaration")],
                  fix="give both the same `:init`, or only the first one any")
    return old


def _placed(call: BuiltinCall, variable: Variable, kind: str, facts: dict[str, ir.Attribute]) -> Tensor:
    """What the place sees of a variable: of a stack, which stands in front of the `repeat`, each round takes its part,
    once; of a buffer, the value that it was given last."""
    trace = call.evaluator.trace
    with ir.InsertionPoint(trace.layered[0].place) if trace.layered else nullcontext():
        value = _marker(call, variable, kind, facts)
    for region in trace.regions:
        new = region.leaving.get((BUFFER, variable.name))
        if new is not None:
            value = replace(value, value=new.values[0], shape=_behind(value, region))
        elif isinstance(region, Rounds) and region.layered:
            if variable.name not in region.layers:
                with ir.InsertionPoint.at_block_begin(region.block):
                    region.layers[variable.name] = layer(value, region)
            value = region.layers[variable.name]
    return Tensor(value.value, value.dtype, variable.own_shape, call.span)


def _behind(value: Tensor, region: Region | Rounds) -> tuple[Dim, ...]:
    """The shape of what a region sees of a stack."""
    return value.shape[1:] if isinstance(region, Rounds) else value.shape


def _marker(call: BuiltinCall, variable: Variable, kind: str, facts: dict[str, ir.Attribute]) -> Tensor:
    symbol = call.evaluator.initialisers.symbol(variable)
    type_ = hlo.tensor_type(variable.shape, variable.dtype.mlir)
    made = hlo.marker(kind, [], [type_], {"name": ir.StringAttr.get(variable.name), **facts}, [symbol])
    return Tensor(made.results[0], variable.dtype, variable.shape, call.span)


@op("param", "name shape &key init (dtype :f32) (decay true) (trainable true)", group=STATE,
    doc="A parameter: a tensor of state that the optimizer trains. `:init` is an initialiser or a function of the "
        "shape, `(normal 0.02)` by default.")
def param(call: BuiltinCall, name: object, shape: object, init: object, dtype: object, decay: object,
          trainable: object) -> Tensor:
    must_stand_in(call, Phase.MODEL, Phase.OBJECTIVE, Phase.EVALUATE)
    full, dims = _name(call, name), _dims(call, shape)
    lead = [Dim(loop.trips) for loop in call.evaluator.trace.layered]
    kind = dtype_word(call, "dtype", dtype, F32) if call.given("dtype") else call.evaluator.parameter_dtype
    variable = Variable(full, kind, (*lead, *dims), init, call.given("init"),
                        _flag(call, "decay", decay), _flag(call, "trainable", trainable), call.span, len(lead),
                        call.given("decay"))
    if variable.trainable and not variable.dtype.is_float:
        call.fail("E-TYPE-007", f"a trainable parameter is of floats, not {variable.dtype}", at=call.where("dtype"),
                  label=f"this is {variable.dtype}", fix="`:trainable false`, or a `buffer`, holds integers")
    trace = call.evaluator.trace
    variable = _declared(call, variable, trace.parameters, trace.buffers)
    facts: dict[str, ir.Attribute] = {"trainable": ir.BoolAttr.get(variable.trainable),
                                      "decay": ir.BoolAttr.get(variable.decay)}
    made = _placed(call, variable, "param", facts)
    if variable.name in trace.made:
        trace.made.pop(variable.name)   # of one that is declared twice, the other may be used
    else:
        trace.made[variable.name] = made.value
    return made


@op("buffer", "name shape &key init (dtype :f32)", group=STATE, grad="none: it is state without a gradient",
    doc="A tensor of state that `update-buffer` sets and nothing trains; zeros at first unless `:init` says otherwise.")
def buffer(call: BuiltinCall, name: object, shape: object, init: object, dtype: object) -> Tensor:
    must_stand_in(call, Phase.MODEL, Phase.OBJECTIVE, Phase.EVALUATE)
    full, dims = _name(call, name), _dims(call, shape)
    initial = init if call.given("init") else 0
    lead = [Dim(loop.trips) for loop in call.evaluator.trace.layered]
    variable = Variable(full, dtype_word(call, "dtype", dtype, F32), (*lead, *dims), initial, call.given("init"), False,
                        False, call.span, len(lead))
    trace = call.evaluator.trace
    variable = _declared(call, variable, trace.buffers, trace.parameters)
    return _placed(call, variable, BUFFER, {})


@op("update-buffer", "name value", group=STATE, grad="none: it is state without a gradient",
    doc="Sets a buffer at the end of a training step; an evaluation changes none.")
def update_buffer(call: BuiltinCall, name: object, value: object) -> None:
    must_stand_in(call, Phase.MODEL, Phase.OBJECTIVE, Phase.EVALUATE)
    must_not_branch(call)
    full, trace = _name(call, name), call.evaluator.trace
    variable = trace.buffers.get(full)
    if variable is None:
        near = did_you_mean(full, trace.buffers)
        call.fail("E-NAME-006", f"there is no buffer `{full}`", at=call.where("name"), label="no such buffer",
                  fix=Fix(f"did you mean `{near}`?") if near else
                  "declare it first: `(buffer \"name\" [shape] :init zeros)`")
    if not isinstance(value, Tensor):
        call.fail("E-TYPE-002", f"a buffer holds a tensor, not {describe(value)}", at=call.where("value"),
                  label=f"this is {describe(value)}")
    if trace.uncertain:
        return
    own = variable.own_shape
    if tuple(value.shape) != tuple(own):
        call.fail("E-SHAPE-013", f"the buffer `{full}` is {show_shape(own)}, and its new value "
                  f"{show_shape(value.shape)}", at=call.where("value"), label=f"this is {show_shape(value.shape)}",
                  secondary=[Label(variable.span, f"{show_shape(own)} here")])
    if value.dtype is not variable.dtype:
        call.fail("E-TYPE-004", f"the buffer `{full}` is {variable.dtype}, and its new value {value.dtype}",
                  at=call.where("value"), label=f"this is {value.dtype}",
                  secondary=[Label(variable.span, f"{variable.dtype} here")],
                  fix=f"cast it: `(cast … :{variable.dtype})`")
    if trace.training:
        place = ir.Location.current

        def store(values: list[ir.Value]) -> None:
            with place:
                hlo.marker("update_buffer", values, [], {"name": ir.StringAttr.get(full)})

        trace.leave((BUFFER, full), [value.value], store)
