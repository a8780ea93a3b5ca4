"""Order: sort, argsort, top-k. Stable, NaN last, as NumPy's.

Staged are sorts of integers that carry indices along (`support.sort_keys`); how they are done is the target's
(`passes.sort_kernels`, `passes.sort_rounds`). Only indices are computed so; the values follow by `take-along`, whose
gradient is theirs.
"""

from __future__ import annotations

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.indexing import pick_along
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.axes import axis_of, counted, integer
from sexpgpu.compiler.frontend.ops.support.dtype import I32
from sexpgpu.compiler.frontend.ops.support.explain import Operand, origin_notes
from sexpgpu.compiler.frontend.ops.support.sort_keys import parts
from sexpgpu.compiler.frontend.ops.support.staged import give, rule_note, show_shape, tensor
from sexpgpu.compiler.frontend.values import Tensor, is_true

GROUP = "index"


def order(x: Tensor, axis: int, descending: bool, *, nan_first: bool = False, count: int | None = None) -> ir.Value:
    """The indices along `axis` in order, i32, of the shape of `x`; or the first `count` of them."""
    shape = [int(d) for d in x.shape]
    if shape[axis] == 1:
        return hlo.splat(0, shape, "i32")
    *lower, last = parts(x, descending, nan_first)
    places = None
    for part in lower:
        places = hlo.sort_indices(part, axis)
    found = hlo.sort_indices(last if places is None else pick_along(last, places, axis), axis)
    if count is not None and count < shape[axis]:
        found = hlo.slice_(found, [0] * len(shape), [count if d == axis else n for d, n in enumerate(shape)])
    return found if places is None else pick_along(places, found, axis)


@op("argsort", "x &key (axis -1) (descending false)", group=GROUP, rule="[… n …] -> i32 [… n …]",
    grad="none: it gives indices",
    doc="The indices that put an axis in order: stable, NaN last.")
def argsort(call: Call, x: object, axis: object, descending: object) -> Tensor:
    x = tensor(call, "x", x)
    along = axis_of(call, x, "axis", axis)
    counted(call, x.shape[along], call.where("x"))
    return give(call, order(x, along, is_true(descending)), I32, x.shape)


@op("sort", "x &key (axis -1) (descending false)", group=GROUP, rule="[… n …] -> [… n …]",
    doc="The elements of an axis in order, NaN last. The gradient of each goes to where it came from.")
def sort(call: Call, x: object, axis: object, descending: object) -> Tensor:
    x = tensor(call, "x", x)
    along = axis_of(call, x, "axis", axis)
    counted(call, x.shape[along], call.where("x"))
    return give(call, pick_along(x.value, order(x, along, is_true(descending)), along), x.dtype, x.shape)


@op("top-k", "x k &key (axis -1)", group=GROUP, rule="[… n …], k -> [… k …], i32 [… k …]",
    doc="`(list values indices)` of the k largest elements along an axis, the largest first; of equal ones the first. "
        "NaN counts as the largest.")
def top_k(call: Call, x: object, k: object, axis: object) -> tuple[Tensor, Tensor]:
    x = tensor(call, "x", x)
    along = axis_of(call, x, "axis", axis)
    count = integer(call, "k", k)
    size = int(x.shape[along])
    counted(call, size, call.where("x"))
    if not 1 <= count <= size:
        call.fail("E-SHAPE-006", f"`top-k` of {int(count)} along an axis of {size}", at=call.where("k"),
                  label=f"{int(count)} of {size}",
                  notes=[*rule_note(call), *origin_notes([Operand("the tensor", call.where("x"), x.shape, (along,))]),
                         f"the tensor is {show_shape(x.shape)}"])
    found = order(x, along, True, nan_first=True, count=int(count))
    dims = [count if a == along else d for a, d in enumerate(x.shape)]
    return (give(call, pick_along(x.value, found, along), x.dtype, dims), give(call, found, I32, dims))
