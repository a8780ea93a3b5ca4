"""Convolutions and pooling, channels last: tensors [batch space… channels], kernels [space… in out].

`:padding` is `:valid` (none), `:same` (the result has ⌈n / stride⌉ elements, what is odd at the end), a number for both
ends of every axis, or a list with a number or `[before after]` for each axis.
"""

from __future__ import annotations

from math import prod
from typing import NoReturn

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.data import Keyword
from sexpgpu.compiler.frontend.ops.reductions import narrow, wide
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.axes import integer
from sexpgpu.compiler.frontend.ops.support.broadcast import Argument, agree_dtype
from sexpgpu.compiler.frontend.ops.support.explain import Operand, mismatch, origin_notes
from sexpgpu.compiler.frontend.ops.support.staged import (
    describe,
    float_tensor,
    give,
    rule_note,
    show_shape,
    tensor,
)
from sexpgpu.compiler.frontend.values import Tensor
from sexpgpu.compiler.transposed import transposed
from sexpgpu.diagnostics.record import record

GROUP = "nets"
RULE = "[batch space… in], [kernel… in/groups out] -> [batch space'… out]"


@record
class Windows:
    """One number for each axis of space."""

    size: list[int]
    strides: list[int]
    padding: list[tuple[int, int]]
    dilation: list[int]

    def reach(self, axis: int) -> int:
        return (self.size[axis] - 1) * self.dilation[axis] + 1


def per_axis(call: Call, parameter: str, value: object, axes: int) -> list[int]:
    """A positive number for each axis: one for all, or a list."""
    values = value if isinstance(value, tuple) else (value,) * axes
    found = [int(integer(call, parameter, v)) for v in values]
    if len(found) != axes or any(n < 1 for n in found):
        call.fail("E-SHAPE-009", f"`:{parameter}` of `{call.op.name}` is a positive integer, or a list of {axes}",
                  at=call.where(parameter), label=f"this is {describe(value)}")
    return found


def _word(value: object) -> object:
    return value.name if isinstance(value, Keyword) else value.lstrip(":") if isinstance(value, str) else value


def _padding(call: Call, value: object, space: list[int], w: Windows) -> list[tuple[int, int]]:
    axes = len(space)
    word = _word(value)
    if word == "valid":
        return [(0, 0)] * axes
    if word == "same":
        found = []
        for i, n in enumerate(space):
            total = max(0, (-(-n // w.strides[i]) - 1) * w.strides[i] + w.reach(i) - n)
            found.append((total // 2, total - total // 2))
        return found
    values = value if isinstance(value, tuple) else (value,) * axes
    if len(values) == axes:
        found = [_pair(call, v) for v in values]
        if all(p is not None for p in found):
            return [p for p in found if p is not None]
    call.fail("E-TYPE-013", f"`:padding` of `{call.op.name}` is {describe(value)}", at=call.where("padding"),
              label="no padding", fix=f"`:valid`, `:same`, a number, or a list of {axes} numbers or `[before after]`")


def _pair(call: Call, value: object) -> tuple[int, int] | None:
    both = value if isinstance(value, tuple) else (value, value)
    if len(both) == 2 and all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in both):
        return int(both[0]), int(both[1])
    return None


def _placed(call: Call, x: Tensor, w: Windows, padding: object, size_name: str) -> tuple[Windows, list[int]]:
    """The windows with their padding, and how many there are along each axis."""
    space = [int(n) for n in x.shape[1:-1]]
    w = Windows(w.size, w.strides, _padding(call, padding, space, w), w.dilation)
    counts = []
    for i, n in enumerate(space):
        whole = n + sum(w.padding[i])
        if w.reach(i) > whole:
            operands = [Operand("the tensor", call.where("x"), x.shape, (i + 1,))]
            call.fail("E-SHAPE-006", f"a window of {w.reach(i)} does not fit axis {i + 1} of {show_shape(x.shape)}, "
                      f"{whole} with its padding", at=call.where(size_name), label=f"{w.reach(i)} of {whole}",
                      notes=[*rule_note(call), *origin_notes(operands)], fix="`:padding :same` makes room")
        counts.append((whole - w.reach(i)) // w.strides[i] + 1)
    return w, counts


def _operands(call: Call, x: object, kernel: object) -> tuple[Tensor, Tensor, int]:
    x, kernel = float_tensor(call, "x", x), float_tensor(call, "kernel", kernel)
    agree_dtype(call, [Argument(x, call.where("x")), Argument(kernel, call.where("kernel"))])
    axes = x.rank - 2
    if axes < 1 or axes > 3 or kernel.rank != x.rank:
        call.fail("E-SHAPE-004", f"`{call.op.name}` of {show_shape(x.shape)} by a kernel {show_shape(kernel.shape)}",
                  at=call.where("kernel"), label=f"{kernel.rank} axes beside {x.rank}", notes=rule_note(call),
                  fix="a batch, one to three axes of space, and channels; the kernel has as many axes")
    return x, kernel, axes


def _channels(call: Call, x: Tensor, kernel: Tensor, wanted: int) -> NoReturn:
    operands = [Operand("x", call.where("x"), x.shape, (x.rank - 1,), x.span),
                Operand("kernel", call.where("kernel"), kernel.shape, (kernel.rank - 2,), kernel.span)]
    call.fail("E-SHAPE-002", f"`{call.op.name}` of {show_shape(x.shape)} by a kernel {show_shape(kernel.shape)}: the "
              f"kernel has {int(kernel.shape[-2])} input channels, not {wanted}", **mismatch(operands, rule_note(call)))


@op("conv", "x kernel &key (stride 1) (padding :valid) (dilation 1) (groups 1)", group=GROUP, rule=RULE,
    doc="Convolution (correlation, as all nets have it) over one, two or three axes of space, channels last. With "
        "`:groups`, each group of input channels has its own group of output channels.")
def conv(call: Call, x: object, kernel: object, stride: object, padding: object, dilation: object, groups: object
         ) -> Tensor:
    x, kernel, axes = _operands(call, x, kernel)
    count = integer(call, "groups", groups)
    inputs, outputs = int(x.shape[-1]), int(kernel.shape[-1])
    if count < 1 or inputs % count or outputs % count:
        call.fail("E-SHAPE-011", f"{int(count)} groups of {inputs} input and {outputs} output channels",
                  at=call.where("groups"), label=f"does not divide {inputs} and {outputs}", notes=rule_note(call))
    if int(kernel.shape[-2]) != inputs // count:
        _channels(call, x, kernel, inputs // count)
    windows = Windows([int(n) for n in kernel.shape[:-2]], per_axis(call, "stride", stride, axes), [],
                      per_axis(call, "dilation", dilation, axes))
    w, counts = _placed(call, x, windows, padding, "kernel")
    value = hlo.convolution(x.value, kernel.value, strides=w.strides, padding=w.padding, dilation=w.dilation,
                            groups=int(count))
    return give(call, value, x.dtype, [x.shape[0], *counts, kernel.shape[-1]])


@op("conv-transpose", "x kernel &key (stride 1) (padding :valid)", group=GROUP,
    rule="[batch space… in], [kernel… in out] -> [batch space'… out]",
    doc="A convolution with `stride` - 1 zeros between the elements of space, which grows it: `:valid` gives "
        "n · stride + max(kernel - stride, 0) elements, `:same` n · stride, as in JAX.")
def conv_transpose(call: Call, x: object, kernel: object, stride: object, padding: object) -> Tensor:
    x, kernel, axes = _operands(call, x, kernel)
    if kernel.shape[-2] != x.shape[-1]:
        _channels(call, x, kernel, int(x.shape[-1]))
    strides = per_axis(call, "stride", stride, axes)
    size = [int(n) for n in kernel.shape[:-2]]
    word = _word(padding)
    if word not in ("valid", "same"):
        call.fail("E-TYPE-013", f"`:padding` of `conv-transpose` is {describe(padding)}", at=call.where("padding"),
                  label="no padding", fix="`:valid` or `:same`; `slice` cuts, `pad` adds")
    low, high = [], []
    for k, s in zip(size, strides, strict=True):
        if word == "same":
            total = k + s - 2
            before = k - 1 if s > k - 1 else -(-total // 2)
        else:
            total = k + s - 2 + max(k - s, 0)
            before = k - 1
        low.append(before)
        high.append(total - before)
    out = [(int(n) - 1) * s + lo + hi + 2 - k
           for n, s, lo, hi, k in zip(x.shape[1:-1], strides, low, high, size, strict=True)]
    turned = hlo.reverse(hlo.transpose(kernel.value, [*range(axes), axes + 1, axes]), list(range(axes)))
    value = transposed(x.value, turned, strides, [k - 1 - lo for k, lo in zip(size, low, strict=True)], out)
    return give(call, value, x.dtype, [x.shape[0], *hlo.shape_of(value)[1:-1], kernel.shape[-1]])


def _pooled(call: Call, x: object, size: object, stride: object, padding: object) -> tuple[Tensor, Windows, list[int]]:
    x = tensor(call, "x", x)
    if not x.dtype.is_float:
        x = float_tensor(call, "x", x)
    axes = x.rank - 2
    if axes < 1:
        call.fail("E-SHAPE-004", f"`{call.op.name}` of {show_shape(x.shape)}", at=call.where("x"),
                  label=f"{x.rank} axes", notes=rule_note(call))
    window = per_axis(call, "size", size, axes)
    strides = window if stride is None else per_axis(call, "stride", stride, axes)
    w, counts = _placed(call, x, Windows(window, strides, [], [1] * axes), padding, "size")
    for i, (lo, hi) in enumerate(w.padding):
        if max(lo, hi) >= w.size[i]:
            call.fail("E-SHAPE-006", f"a padding of {max(lo, hi)} beside a window of {w.size[i]}",
                      at=call.where("padding"), label="a window would be empty", notes=rule_note(call))
    return x, w, counts


def _reduced(value: ir.Value, kind: str, w: Windows) -> ir.Value:
    return hlo.reduce_window(value, kind, window=[1, *w.size, 1], strides=[1, *w.strides, 1],
                             padding=[(0, 0), *w.padding, (0, 0)])


POOL = "[batch space… channels] -> [batch space'… channels]"


@op("max-pool", "x size &key stride (padding :valid)", group=GROUP, rule=POOL,
    doc="The largest element of each window, channels last. Windows stand side by side unless `:stride` says. The "
        "gradient goes to the first largest.")
def max_pool(call: Call, x: object, size: object, stride: object, padding: object) -> Tensor:
    x, w, counts = _pooled(call, x, size, stride, padding)
    return give(call, _reduced(x.value, "maximum", w), x.dtype, [x.shape[0], *counts, x.shape[-1]])


@op("avg-pool", "x size &key stride (padding :valid)", group=GROUP, rule=POOL,
    doc="The mean of each window, channels last; padding does not count.")
def avg_pool(call: Call, x: object, size: object, stride: object, padding: object) -> Tensor:
    x, w, counts = _pooled(call, x, size, stride, padding)
    value, dtype = wide(x)
    total = _reduced(value, "add", w)
    shape, kind = hlo.shape_of(total), hlo.element_type(total)
    if any(p != (0, 0) for p in w.padding):
        ones = hlo.splat(1.0, [1, *(int(n) for n in x.shape[1:-1]), 1], kind)
        share = hlo.divide(hlo.splat(1.0, [1, *counts, 1], kind), _reduced(ones, "add", w))
        share = hlo.broadcast_in_dim(hlo.reshape(share, counts), shape, range(1, len(shape) - 1))
    else:
        share = hlo.splat(1.0 / prod(w.size), shape, kind)
    value, dtype = narrow(hlo.multiply(total, share), x, dtype)
    return give(call, value, dtype, [x.shape[0], *counts, x.shape[-1]])
