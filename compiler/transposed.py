"""Transposed convolutions: what a convolution with strides does to its cotangent, without the holes between.

The textbook puts zeros between the numbers of `g` and convolves; with strides of two in two axes three quarters of the
work is on zeros. Here the pixels of the result are taken in groups of one stride: each of a group sees the same numbers
of `g` through kernel positions of its own, so a group's pixels are features of one dense convolution over `g`, and are
laid side by side afterwards (Shi et al. 2016, "Is the deconvolution layer the same as a convolutional layer?").
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from iree.compiler import ir
from sexpgpu.compiler import hlo


def transposed(g: ir.Value, kernel: ir.Value, strides: Sequence[int], low: Sequence[int], size: Sequence[int]
               ) -> ir.Value:
    """`result[i] = Σ g[o] · kernel[k]` over all `o · stride + k = i + low`, in every axis of space.

    `g` [batch, space…, features], `kernel` [window…, channels, features] → [batch, size…, channels], of `g`'s dtype.
    """
    n = len(strides)
    zero = hlo.splat(0, [], hlo.element_type(g))
    *window, channels, features = hlo.shape_of(kernel)
    # Filled up so that position s · t + r belongs to pixel r of a group.
    front = [-lo % s for lo, s in zip(low, strides, strict=True)]
    taps = [-(-(f + k) // s) for f, k, s in zip(front, window, strides, strict=True)]
    end = [t * s - f - k for t, s, f, k in zip(taps, strides, front, window, strict=True)]
    if any(front) or any(end):
        kernel = hlo.pad(kernel, zero, [*front, 0, 0], [*end, 0, 0])
    kernel = hlo.reshape(kernel, [*(d for pair in zip(taps, strides, strict=True) for d in pair), channels, features])
    kernel = hlo.reverse(kernel, list(range(0, 2 * n, 2)))
    kernel = hlo.transpose(kernel, [*range(0, 2 * n, 2), 2 * n + 1, *range(1, 2 * n, 2), 2 * n])
    kernel = hlo.reshape(kernel, [*taps, features, prod(strides) * channels])

    groups = [-(-d // s) for d, s in zip(size, strides, strict=True)]
    before = [t - 1 - (lo + f) // s for t, lo, f, s in zip(taps, low, front, strides, strict=True)]
    after = [q + t - 1 - o - b for q, t, o, b in zip(groups, taps, hlo.shape_of(g)[1:], before, strict=False)]
    g = hlo.pad(g, zero, [0, *before, 0], [0, *after, 0])
    value = hlo.convolution(g, kernel, strides=[1] * n, padding=[(0, 0)] * n, dilation=[1] * n)

    batch = hlo.shape_of(g)[0]
    value = hlo.reshape(value, [batch, *groups, *strides, channels])
    value = hlo.transpose(value, [0, *(d for i in range(n) for d in (1 + i, 1 + n + i)), 2 * n + 1])
    value = hlo.reshape(value, [batch, *(q * s for q, s in zip(groups, strides, strict=True)), channels])
    return hlo.slice_(value, [0] * (n + 2), [batch, *size, channels])
