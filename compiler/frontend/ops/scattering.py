"""Writing by indices: scatter-add, scatter-set, dynamic-slice, dynamic-update-slice.

Indices outside of the axis are clamped into it, as those of `take` are.
"""

from __future__ import annotations

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.axes import axis_of, shape_argument
from sexpgpu.compiler.frontend.ops.support.broadcast import Argument, agree_dtype
from sexpgpu.compiler.frontend.ops.support.dtype import I32, convert
from sexpgpu.compiler.frontend.ops.support.explain import Operand, mismatch
from sexpgpu.compiler.frontend.ops.support.staged import (
    describe,
    give,
    integer_tensor,
    rule_note,
    show_shape,
    tensor,
)
from sexpgpu.compiler.frontend.values import Tensor

GROUP = "index"
RULE = "[… n …], int [i …], [… i … …] -> [… n …]"


def _scatter(call: Call, x: object, indices: object, updates: object, axis: object, kind: str) -> Tensor:
    x = tensor(call, "x", x)
    chosen = integer_tensor(call, "indices", indices, "indices")
    new = tensor(call, "updates", updates)
    along = axis_of(call, x, "axis", axis)
    agree_dtype(call, [Argument(x, call.where("x")), Argument(new, call.where("updates"))], keep_bool=True)
    wanted = [*x.shape[:along], *chosen.shape, *x.shape[along + 1:]]
    if [int(d) for d in wanted] != [int(d) for d in new.shape]:
        wrong = [i for i in range(min(len(wanted), new.rank)) if wanted[i] != new.shape[i]]
        operands = [Operand("wanted", call.where("indices"), wanted, wrong),
                    Operand("updates", call.where("updates"), new.shape, wrong, new.span)]
        call.fail("E-SHAPE-013", f"`{call.op.name}` into {show_shape(x.shape)} at {show_shape(chosen.shape)} takes "
                  f"updates {show_shape(wanted)}, not {show_shape(new.shape)}",
                  **mismatch(operands, rule_note(call), right=False))
    places = chosen.value if chosen.dtype.bytes >= 4 else convert(chosen.value, chosen.dtype, I32)
    # Unlike a gather, a scatter is not clamped by definition, and some backends write where it points.
    shape, element = hlo.shape_of(places), hlo.element_type(places)
    places = hlo.minimum(hlo.maximum(places, hlo.zeros_like(places)),
                         hlo.splat(int(x.shape[along]) - 1, shape, element))
    window = [*range(along), *range(along + chosen.rank, along + chosen.rank + x.rank - 1 - along)]
    value = hlo.scatter(x.value, places, new.value, window_dims=window, inserted=[along], index_map=[along],
                        index_dim=chosen.rank, kind=kind)
    return give(call, value, x.dtype, x.shape)


@op("scatter-add", "x indices updates &key (axis 0)", group=GROUP, rule=RULE,
    doc="`x` with each slice of `updates` added at the place along the axis that its index gives; repeats add up.")
def scatter_add(call: Call, x: object, indices: object, updates: object, axis: object) -> Tensor:
    return _scatter(call, x, indices, updates, axis, "add")


@op("scatter-set", "x indices updates &key (axis 0)", group=GROUP, rule=RULE,
    doc="`x` with each slice of `updates` put at the place along the axis that its index gives. Of repeated indices "
        "one wins, and which one is not said.")
def scatter_set(call: Call, x: object, indices: object, updates: object, axis: object) -> Tensor:
    return _scatter(call, x, indices, updates, axis, "set")


def _starts(call: Call, x: Tensor, starts: object) -> list:
    """Scalars of i32, one for each axis: a list of numbers and scalar tensors, or a tensor of one axis."""
    span = call.where("starts")
    if isinstance(starts, Tensor) and starts.rank == 1 and starts.dtype.is_integer:
        whole = convert(starts.value, starts.dtype, I32)
        found = [hlo.reshape(hlo.slice_(whole, [i], [i + 1]), []) for i in range(int(starts.shape[0]))]
    elif isinstance(starts, tuple):
        found = []
        for i, start in enumerate(starts):
            if isinstance(start, int) and not isinstance(start, bool):
                found.append(hlo.splat(start % int(x.shape[i]) if start < 0 and i < x.rank else start, [], "i32"))
            elif isinstance(start, Tensor) and not start.shape and start.dtype.is_integer:
                found.append(convert(start.value, start.dtype, I32))
            else:
                call.fail("E-TYPE-008", f"a start of `{call.op.name}` is an integer, not {describe(start)}", at=span,
                          label=f"start {i} is {describe(start)}")
    else:
        call.fail("E-TYPE-013", f"the starts of `{call.op.name}` are a list of integers, not {describe(starts)}",
                  at=span, label=f"this is {describe(starts)}", notes=rule_note(call))
    if len(found) != x.rank:
        call.fail("E-SHAPE-004", f"`{call.op.name}` of {show_shape(x.shape)} takes {x.rank} starts, not {len(found)}",
                  at=span, label=f"{len(found)} starts", notes=rule_note(call))
    return found


@op("dynamic-slice", "x starts sizes", group=GROUP, rule="[n …], int each axis, [m …] -> [m …]",
    doc="The part of size `sizes` that begins at `starts`: integers or scalar tensors, one for each axis. A part that "
        "would reach beyond the end is moved back.")
def dynamic_slice(call: Call, x: object, starts: object, sizes: object) -> Tensor:
    x = tensor(call, "x", x)
    size = shape_argument(call, "sizes", sizes)
    if len(size) != x.rank or any(m > n for m, n in zip(size, x.shape, strict=False)):
        call.fail("E-SHAPE-006", f"a part {show_shape(size)} of {show_shape(x.shape)}", at=call.where("sizes"),
                  label=f"not within {show_shape(x.shape)}", notes=rule_note(call))
    places = _starts(call, x, starts)
    return give(call, hlo.dynamic_slice(x.value, places, [int(n) for n in size]), x.dtype, size)


@op("dynamic-update-slice", "x update starts", group=GROUP, rule="[n …], [m …], int each axis -> [n …]",
    doc="`x` with `update` put where `starts` says, moved back where it would reach beyond the end.")
def dynamic_update_slice(call: Call, x: object, update: object, starts: object) -> Tensor:
    x, new = tensor(call, "x", x), tensor(call, "update", update)
    agree_dtype(call, [Argument(x, call.where("x")), Argument(new, call.where("update"))], keep_bool=True)
    if new.rank != x.rank or any(m > n for m, n in zip(new.shape, x.shape, strict=True)):
        call.fail("E-SHAPE-006", f"an update {show_shape(new.shape)} of {show_shape(x.shape)}", at=call.where("update"),
                  label=f"not within {show_shape(x.shape)}", notes=rule_note(call))
    return give(call, hlo.dynamic_update_slice(x.value, new.value, _starts(call, x, starts)), x.dtype, x.shape)
