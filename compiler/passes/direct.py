"""Convolutions that read the input where it lies, for x86-64 processors with AVX2.

Patches (`patches.py`) are nine times the input for a kernel of 3 x 3, and to write and read them takes longer than the
product. A convolution whose tile keeps some pixels of one row and some features in registers needs none: it goes
through the kernel's positions and the channels with the same broadcasts and multiply-adds as a product, from the padded
input. So it becomes `linalg.conv_2d_nhwc_hwcf` with that tile written on it. The tile has to divide: the width of the
result sets its pixels, and features are filled up with zeros to a multiple of eight.

What stays, for `patches`: a width that no tile divides, few channels (a loop over one channel does not pay), and large
kernels, which every row of pixels reads whole and which have to stay in the second level of the cache. The input and
what is computed from the result lie in memory: fused into the loop they would be computed once a position, or spill its
registers. Measured in docs/benchmarks.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import Pass
from sexpgpu.compiler.passes.convolutions import back, forth, kernel_forth, layout_of, padded, settings_of
from sexpgpu.compiler.passes.kernel_calls import KernelOptions
from sexpgpu.compiler.passes.tiled import contraction, schedule

#: By the numbers in a vector, vectors of accumulators. AVX2 has sixteen registers, some for what is loaded; AVX-512 has
#: twice as many, but tiles of 24 accumulators were slower than those of 14.
ACCUMULATORS = {16: 14, 8: 12}
#: Fewer accumulators wait for one another.
BUSY = 8
#: Channels taken at a time; fewer are left to patches.
DEPTH = 4
#: Numbers in a kernel.
LARGEST = 1 << 16
#: Features are filled up to a multiple of this, a vector of AVX2.
LEAST = 8
#: Pixels in one piece of work.
PIECE = 256


@dataclass(frozen=True, slots=True)
class Tile:
    """Pixels of a row and features kept in registers, in vectors of so many `lanes`."""

    pixels: int
    features: int
    lanes: int

    @property
    def vectors(self) -> int:
        return self.pixels * self.features // self.lanes

    @property
    def cost(self) -> float:
        """Loads, those of the kernel twice for it lies further away, or the wait for what was added last: the more of
        the two, for each multiply-add."""
        loads = self.pixels + 2 * self.features // self.lanes
        return max(loads, self.vectors, BUSY) / self.vectors


def tile_of(width: int, features: int, lanes: int) -> Tile | None:
    """The best tile that divides both, and None where there is none of at least two pixels."""
    most = ACCUMULATORS[lanes]
    tiles = [Tile(p, f, lanes) for p in range(2, most + 1) if width % p == 0
             for f in range(lanes, features + 1, lanes) if features % f == 0 and p * f // lanes <= most]
    return min(tiles, key=lambda t: (t.cost, -t.vectors)) if tiles else None


def _schedule(rows: int, width: int, features: int, tile: Tile) -> ir.Attribute:
    """The loops: batch, rows, pixels of a row, features; the kernel's rows and columns, channels."""
    height = max(n for n in range(1, rows + 1) if rows % n == 0 and (n == 1 or n * width <= PIECE))
    return schedule("ConvTileAndDecomposeExpert", distribution=[1, height, width, features, 0, 0, 0],
                    vector_common_parallel=[1, 1, tile.pixels, tile.features, 0, 0, 0],
                    vector_reduction=[0, 0, 0, 0, 1, 1, DEPTH])


def _pairs(values: list[int]) -> ir.Attribute:
    return ir.Attribute.parse(f"dense<{values}> : tensor<2xi64>")


def _convolve(x: ir.Value, kernel: ir.Value, shape: list[int], strides: list[int], dilation: list[int], tile: Tile
              ) -> ir.Value:
    """Two axes of space; `shape` is the result's."""
    return contraction("linalg.conv_2d_nhwc_hwcf", x, kernel, shape,
                       {"strides": _pairs(strides), "dilations": _pairs(dilation),
                        "compilation_info": _schedule(*shape[1:], tile)})


def _rewrite(op: ir.Operation, lanes: int) -> None:
    c, layout = settings_of(op), layout_of(op)
    if c is None or c.groups != 1 or any(str(hlo.element_type(v)) != "f32" for v in (*op.operands, op.results[0])):
        return
    batch, *space, features = (hlo.shape_of(op.results[0])[i] for i in forth(layout.out))
    *window, channels, _ = (hlo.shape_of(op.operands[1])[i] for i in kernel_forth(layout.kernel))
    filled = -(-features // LEAST) * LEAST
    tile = tile_of(space[-1], filled, next(n for n in ACCUMULATORS if n <= max(lanes, LEAST) and filled % n == 0))
    if len(space) > 2 or tile is None or channels % DEPTH or prod(window) * channels * filled > LARGEST:
        return
    flat = [1] * (2 - len(space))
    with ir.InsertionPoint(op), op.location:
        x = hlo.optimization_barrier(padded(hlo.transpose(op.operands[0], forth(layout.x)), c))
        x = hlo.reshape(x, [batch, *flat, *hlo.shape_of(x)[1:]])
        kernel = hlo.transpose(op.operands[1], kernel_forth(layout.kernel))
        if filled > features:
            none = [0] * (len(window) + 1)
            kernel = hlo.pad(kernel, hlo.splat(0, [], "f32"), [*none, 0], [*none, filled - features])
        kernel = hlo.optimization_barrier(hlo.reshape(kernel, [*flat, *window, channels, filled]))
        value = _convolve(x, kernel, [batch, *flat, *space, filled], [*flat, *c.strides], [*flat, *c.dilation], tile)
        value = hlo.optimization_barrier(hlo.reshape(value, [batch, *space, filled]))
        if filled > features:
            value = hlo.slice_(value, [0] * len(hlo.shape_of(value)), [batch, *space, features])
        value = hlo.transpose(value, back(forth(layout.out)))
    fn.replace(op, value)


def apply(module: ir.Module, options: KernelOptions) -> None:
    for op in fn.named(module, "stablehlo.convolution"):
        _rewrite(op, options.lanes)


PASS = Pass("direct-avx2", "convolutions of f32 in tiles of pixels and features, for processors with AVX2", apply,
            KernelOptions, optional=True)
