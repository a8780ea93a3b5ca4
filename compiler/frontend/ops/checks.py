"""What functions of the prelude ask before they compute, so that a mistake is told in their name and not in that of an
operation inside them. The names begin with `%`: they are the prelude's own affair. And `fans`, for initialisers.
"""

from __future__ import annotations

import math

from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.axes import shape_argument
from sexpgpu.compiler.frontend.ops.support.dtype import F32
from sexpgpu.compiler.frontend.ops.support.explain import Operand, at_odds, drawing, origin_notes
from sexpgpu.compiler.frontend.ops.support.staged import describe, show_shape
from sexpgpu.compiler.frontend.values import Tensor
from sexpgpu.diagnostics import Label

GROUP = "checks"
NO_GRAD = "none: it checks"


def _made_here(x: Tensor, name: str) -> Label:
    return Label(x.span, f"{name}: {describe(x)}")


@op("%floats", "name x", group=GROUP, grad="yes", doc="`x`, or an error that `name` takes a tensor of floats.")
def floats(call: Call, name: str, x: object) -> Tensor:
    if not isinstance(x, Tensor):
        call.fail("E-TYPE-002", f"`{name}` takes a tensor of floats, not {describe(x)}", label=f"given {describe(x)}")
    if not x.dtype.is_float:
        call.fail("E-TYPE-007", f"`{name}` is defined for floats, and its tensor is {x.dtype}",
                  label=f"given {describe(x)}", secondary=(_made_here(x, "tensor"),),
                  fix="cast it: `(cast … :f32)`")
    return x


@op("%drop-rate", "name rate", group=GROUP, grad="yes",
    doc="`rate`, or an error that it is no share that `name` leaves out: a number from 0 to below 1, or an f32 scalar.")
def drop_rate(call: Call, name: str, rate: object) -> object:
    if isinstance(rate, Tensor) and rate.dtype is F32 and not rate.shape:
        return rate
    if isinstance(rate, bool) or not isinstance(rate, (int, float)):
        call.fail("E-TYPE-003", f"the rate of `{name}` is a number or an f32 scalar, not {describe(rate)}",
                  label=f"the rate is {describe(rate)}",
                  secondary=(_made_here(rate, "rate"),) if isinstance(rate, Tensor) else ())
    if not 0 <= rate < 1:
        call.fail("E-VALUE-007", f"the rate of `{name}` is from 0 to below 1, not {describe(rate)}",
                  label=f"the rate is {describe(rate)}", fix="1 would leave nothing: it is the share that becomes zero")
    return rate


@op("%same-shape", "name a b", group=GROUP, grad="yes",
    doc="`a`, or an error that the outputs and the targets of a loss have two shapes.")
def same_shape(call: Call, name: str, a: object, b: object) -> Tensor:
    for x, what in ((a, "outputs"), (b, "targets")):
        if not isinstance(x, Tensor):
            call.fail("E-TYPE-002", f"`{name}` takes tensors, and its {what} are {describe(x)}",
                      label=f"{what}: {describe(x)}")
    assert isinstance(a, Tensor) and isinstance(b, Tensor)
    if tuple(a.shape) != tuple(b.shape):
        _two_shapes(call, name, a, b)
    return a


def _two_shapes(call: Call, name: str, a: Tensor, b: Tensor) -> None:
    """Broadcasting is no help in a loss: [n 1] against [n] would compare every output with every target."""
    fix = None
    if [d for d in a.shape if d != 1] == [d for d in b.shape if d != 1]:
        fix = f"reshape the targets to {show_shape(a.shape)}, or drop the axis of size 1 with `squeeze`"
    common = range(min(a.rank, b.rank))
    wrong = [i for i in common if a.shape[i] != b.shape[i]] or range(len(common), max(a.rank, b.rank))
    operands = [Operand(what, x.span, x.shape, [i for i in wrong if i < x.rank])
                for what, x in (("outputs", a), ("targets", b))]
    call.fail("E-SHAPE-013", f"`{name}` of outputs {show_shape(a.shape)} and targets {show_shape(b.shape)}",
              label=f"{show_shape(a.shape)} against {show_shape(b.shape)}",
              secondary=(_made_here(a, "outputs"), _made_here(b, "targets")),
              notes=[drawing(operands, right=False), *origin_notes(operands),
                     f"rule: `{name}`: [shape] [shape] -> []"], fix=fix, clues=at_odds(operands))


@op("%soft-targets", "logits targets", group=GROUP, grad=NO_GRAD,
    doc="Whether the targets of `cross-entropy` are distributions (and not class numbers), or an error.")
def soft_targets(call: Call, logits: object, targets: object) -> bool:
    for x, what in ((logits, "logits"), (targets, "targets")):
        if not isinstance(x, Tensor):
            call.fail("E-TYPE-002", f"`cross-entropy` takes tensors, and its {what} are {describe(x)}",
                      label=f"{what}: {describe(x)}")
    assert isinstance(logits, Tensor) and isinstance(targets, Tensor)
    made = (_made_here(logits, "logits"), _made_here(targets, "targets"))
    if not logits.dtype.is_float:
        swapped = targets.dtype.is_float
        call.fail("E-TYPE-007", f"the logits of `cross-entropy` are floats, and these are {logits.dtype}",
                  label=f"logits of {logits.dtype}", secondary=made,
                  fix="the order is `(cross-entropy logits targets)`" if swapped else "cast them: `(cast … :f32)`")
    if logits.rank == 0:
        call.fail("E-SHAPE-004", "the logits of `cross-entropy` have an axis of classes, and this is a scalar",
                  label="logits without an axis", secondary=made)
    soft = targets.dtype.is_float
    wanted = logits.shape if soft else logits.shape[:-1]
    if tuple(targets.shape) != tuple(wanted):
        _wrong_targets(call, logits, targets, soft, made)
    if targets.dtype.name == "bool":
        call.fail("E-TYPE-008", "the targets of `cross-entropy` are class numbers or distributions, not booleans",
                  label="targets of bool", secondary=made, fix="`binary-cross-entropy` takes booleans")
    return soft


def _wrong_targets(call: Call, logits: Tensor, targets: Tensor, soft: bool, made: tuple[Label, Label]) -> None:
    wanted = logits.shape if soft else logits.shape[:-1]
    kind = "soft targets have the shape of the logits" if soft else "class numbers have the shape of the logits " \
        "without the last axis"
    wrong = [i for i in range(max(len(wanted), targets.rank))
             if i >= len(wanted) or i >= targets.rank or wanted[i] != targets.shape[i]]
    operands = [Operand("logits", logits.span, logits.shape, [i for i in wrong if i < logits.rank]),
                Operand("targets", targets.span, targets.shape, [i for i in wrong if i < targets.rank])]
    fix = None
    if not soft and targets.rank == len(wanted) + 1 and targets.shape[-1] == 1:
        fix = "`(squeeze … :axis -1)` drops the last axis of the targets"
    elif soft and tuple(targets.shape) == tuple(logits.shape[:-1]):
        fix = "class numbers are integers: `(cast … :i32)`"
    elif not soft and tuple(targets.shape) == tuple(logits.shape):
        fix = "distributions are floats: `(cast … :f32)`"
    call.fail("E-SHAPE-013", f"`cross-entropy` of logits {show_shape(logits.shape)} and targets "
              f"{show_shape(targets.shape)}", label=f"targets here are {show_shape(wanted)}", secondary=made,
              notes=[drawing(operands, right=False), *origin_notes(operands), kind,
                     "rule: `cross-entropy`: [… classes], int […] or soft [… classes] -> []"], fix=fix,
              clues=at_odds(operands))


@op("%attention-shapes", "q k v", group=GROUP, grad="yes",
    doc="`q`, or an error that the operands of `attention` do not fit.")
def attention_shapes(call: Call, q: object, k: object, v: object) -> Tensor:
    rule = "rule: `attention`: [batch heads time width] [batch heads' keys width] [batch heads' keys width'] -> " \
           "[batch heads time width'], heads a multiple of heads'"
    named = (("q", q), ("k", k), ("v", v))
    for name, x in named:
        if not isinstance(x, Tensor) or x.rank != 4:
            where = (_made_here(x, name),) if isinstance(x, Tensor) else ()
            call.fail("E-SHAPE-004" if isinstance(x, Tensor) else "E-TYPE-002",
                      f"`{name}` of `attention` is [batch heads time width], and this is {describe(x)}",
                      label=f"{name}: {describe(x)}", secondary=where, notes=[rule])
    assert isinstance(q, Tensor) and isinstance(k, Tensor) and isinstance(v, Tensor)
    for name, other, axis, x, y in (("batch", "k", 0, q, k), ("batch", "v", 0, q, v), ("width", "k", 3, q, k),
                                    ("heads", "v", 1, k, v), ("keys", "v", 2, k, v)):
        if x.shape[axis] != y.shape[axis]:
            first = "q" if x is q else "k"
            operands = [Operand(first, x.span, x.shape, (axis,)), Operand(other, y.span, y.shape, (axis,))]
            call.fail("E-SHAPE-002", f"`attention` of `{first}` {show_shape(x.shape)} and `{other}` "
                      f"{show_shape(y.shape)}: {name} is {int(x.shape[axis])} and {int(y.shape[axis])}",
                      label=f"{name} differs", secondary=(_made_here(x, first), _made_here(y, other)),
                      notes=[drawing(operands), *origin_notes(operands), rule], clues=at_odds(operands))
    if q.shape[1] % k.shape[1]:
        operands = [Operand("q", q.span, q.shape, (1,)), Operand("k", k.span, k.shape, (1,))]
        call.fail("E-SHAPE-011", f"`attention` of {int(q.shape[1])} query heads and {int(k.shape[1])} key heads",
                  label="the one is no multiple of the other", secondary=(_made_here(q, "q"), _made_here(k, "k")),
                  notes=[drawing(operands), *origin_notes(operands), rule])
    return q


@op("fans", "shape", group="make", grad="none: it is known at compile time",
    doc="`:in` and `:out` of a weight's shape: its last two axes, times the kernel that the axes before them are.")
def fans(call: Call, shape: object) -> tuple:
    sizes = shape_argument(call, "shape", shape)
    if len(sizes) < 2:
        call.fail("E-SHAPE-004", f"an initialiser by fan-in needs two axes or more, and the shape is "
                  f"{show_shape(sizes)}", label=f"shape {show_shape(sizes)}",
                  fix="`zeros` and `(normal 0.02)` work for vectors")
    kernel = math.prod(int(n) for n in sizes[:-2])
    return (Keyword("in"), int(sizes[-2]) * kernel, Keyword("out"), int(sizes[-1]) * kernel)
