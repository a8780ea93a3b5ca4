"""`export`: a function of the experiment that the artifact offers for inference."""

from __future__ import annotations

from sexpgpu.compiler.frontend.builtin_call import BuiltinCall
from sexpgpu.compiler.frontend.contract_values import Export, Field
from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.compiler.frontend.ops.experiment_forms import EXPERIMENT, NO_GRAD
from sexpgpu.compiler.frontend.ops.registry import Op, op
from sexpgpu.compiler.frontend.ops.state import must_stand_in
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.trace import Phase
from sexpgpu.compiler.frontend.values import POISON, Closure
from sexpgpu.diagnostics import Label

CODE = "E-CONTRACT-030"


@op("export", "name function &key inputs", group=EXPERIMENT, grad=NO_GRAD, by_name=False, poison="any",
    doc="Compiles a function into the artifact for inference, with `training?` false: "
        "`(export \"logits\" model :inputs [(field :x :shape [8 64])])`. The fields are its arguments, in order, each "
        "with its whole shape; it gives a tensor, a list of tensors or a plist of them. It stands at the top level.")
def export(call: BuiltinCall, name: object, function: object, inputs: object) -> None:
    must_stand_in(call, Phase.TOP)
    word = name.name if isinstance(name, Keyword) else name
    if name is not POISON and (not isinstance(word, str) or not word):
        call.report(CODE, f"the name of an export is a string, not {describe(name)}", at=call.where("name"),
                    label=f"this is {describe(name)}")
    if function is not POISON and not isinstance(function, (Closure, Op)):
        call.report(CODE, f"an export is a function, not {describe(function)}", at=call.where("function"),
                    label=f"this is {describe(function)}", fix="write `(fn (x) …)`, or the name of a function")
    fields = _fields(call, inputs)
    if not isinstance(word, str) or not word or not isinstance(function, (Closure, Op)) or fields is None:
        return
    old = next((e for e in call.evaluator.exports if e.name == word), None)
    if old is not None:
        call.fail(CODE, f"two exports are called `{word}`", at=call.where("name"), label="the second one",
                  secondary=[Label(old.span, "the first one")])
    params = function.code.params if isinstance(function, Closure) else function.signature
    if not params.accepts(len(fields)):
        n = len(fields)
        call.fail(CODE, f"the export `{word}` has {n} input{'s' * (n != 1)}, and its function does not take {n}",
                  at=call.where("function"), label=f"`({params})`",
                  secondary=[Label(call.where("inputs"), f"{n} input{'s' * (n != 1)}")] if call.given("inputs") else [],
                  fix="declare each argument in `:inputs`, in order: `:inputs [(field :x :shape [8 64])]`")
    call.evaluator.exports.append(Export(word, function, fields, call.span, call.where("function")))


def _fields(call: BuiltinCall, inputs: object) -> tuple[Field, ...] | None:
    """The inputs; None where they are wrong (reported)."""
    if inputs is None and not call.given("inputs"):
        return () if call.absent("inputs") else None
    if inputs is POISON:
        return None
    if not isinstance(inputs, tuple):
        call.report(CODE, f"`:inputs` is a vector of `(field …)`, not {describe(inputs)}", at=call.where("inputs"),
                    label=f"this is {describe(inputs)}")
        return None
    found: dict[str, Field] = {}
    good = True
    for i, item in enumerate(inputs):
        place = call.item("inputs", i)
        if not isinstance(item, Field):
            good = False
            if item is not POISON:
                call.report(CODE, f"`:inputs` holds {describe(item)}", at=place,
                            label="this is no `(field …)`", fix="declare it: `(field :x :dtype :f32 :shape [8 64])`")
        elif item.name in found:
            good = False
            call.report(CODE, f"the input `:{item.name}` stands twice", at=item.span, label="the second one",
                        secondary=[Label(found[item.name].span, "the first one")])
        else:
            found[item.name] = item
            good = good and item.dtype is not None and item.shape is not None
            if item.column != item.name:
                good = False
                call.report(CODE, f"the input `:{item.name}` has a `:from`, and is read from no column",
                            at=item.span, label="not of a record", fix="leave `:from` out")
    return tuple(found.values()) if good else None
