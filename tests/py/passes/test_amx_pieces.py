"""What AMX's kernels cut a product into: inside of the operands, within the stack, enough pieces for threads."""

from __future__ import annotations

import itertools

import pytest
from sexpgpu.compiler.kernels import amx, products, weights
from sexpgpu.compiler.kernels.amx_products import gradient_job, product_job
from sexpgpu.compiler.kernels.split import PARTS
from sexpgpu.runtime.processor import STACK

SIZES = (32, 64, 96, 160, 256, 480, 512, 2048, 50304)


@pytest.mark.parametrize("turned", [False, True, None], ids=["straight", "turned", "gradient"])
def test_pieces(turned: bool | None) -> None:
    for rows, depth, columns in itertools.product(SIZES, repeat=3):
        job = gradient_job(weights.Shape(depth, rows, columns, False)) if turned is None else \
            product_job(products.Shape(rows, depth, columns, turned))
        assert job.fits
        (tall, wide), (down, across) = job.piece, job.grid
        assert across * wide == columns and (down - 1) * tall < rows <= down * tall
        # What is split at once is read as a whole, so all of it has to be there.
        held = tall if turned is None else amx.BLOCK
        assert rows % held == 0 and tall % amx.BLOCK == 0
        assert (held + wide) * job.deep * PARTS * 2 + 4 * amx.BLOCK ** 2 <= STACK
        assert depth % job.deep == 0 and job.deep % amx.DEEP == 0
        if rows % 64 == columns % 64 == 0:   # a piece of 64 x 64 for each thread, up to eight
            assert down * across >= min(8, rows * columns // (64 * 64))


def test_what_has_no_whole_tiles() -> None:
    for rows, depth, columns in ((48, 64, 64), (64, 48, 64), (64, 64, 48)):
        assert not product_job(products.Shape(rows, depth, columns, False)).fits
        assert not gradient_job(weights.Shape(depth, rows, columns, False)).fits
