"""One batch: NumPy views of a slab of the loader's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sexpgpu.runtime.dataio.core import Lease
from sexpgpu.runtime.dataio.spec import Json


@dataclass(frozen=True, slots=True)
class FieldView:
    """Where a field lies in a slab: `shape` is that of the whole batch, `[batch] ++ row`."""

    name: str
    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]

    def of(self, slab: np.ndarray) -> np.ndarray:
        count = self.dtype.itemsize
        for size in self.shape:
            count *= size
        return slab[self.offset:self.offset + count].view(self.dtype).reshape(self.shape)


class Batch:
    """`arrays` by field name, each `[batch] ++ shape`, page-aligned; bf16 as uint16 bits, bool as `numpy.bool_`.

    `records` rows are this rank's data; where that is less than the batch size (a last, partial batch), the rows after
    them are zero. `cursor` is the loader's state after this batch.

    The arrays are views. Their memory lives as long as any of them, and the loader writes no new rows into it until
    the last one is gone or `release()` is called.
    """

    __slots__ = ("_lease", "arrays", "cursor", "records")

    def __init__(self, lease: Lease, views: tuple[FieldView, ...], cursor: dict[str, Json]) -> None:
        slab = lease.bytes
        self.arrays: dict[str, np.ndarray] = {view.name: view.of(slab) for view in views}
        self.records: int = lease.records
        self.cursor = cursor
        self._lease: Lease | None = lease

    def release(self) -> None:
        """The memory may be filled again; the arrays, wherever they were passed on to, must not be read any more."""
        if self._lease is not None:
            self._lease.release()
            self._lease = None
        self.arrays = {}
