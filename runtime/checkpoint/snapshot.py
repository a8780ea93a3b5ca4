"""A copy of the whole state, so that it can be written while training goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sexpgpu.runtime.checkpoint.cursor import Cursor

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sexpgpu.runtime.artifact.manifest import StateTensor
    from sexpgpu.runtime.session import Session


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The cursor and the state tensors (bf16 as u16 bits) of one step; nothing of it changes any more."""

    cursor: Cursor
    tensors: tuple[tuple[StateTensor, NDArray], ...]

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for _, array in self.tensors)


def take(cursor: Cursor, session: Session) -> Snapshot:
    """One copy, in host memory: what a device gives as a window on its own memory is copied, what it copies is not
    copied again."""
    return Snapshot(cursor, tuple((tensor, array if array.base is None and array.flags.owndata else np.array(array))
                                  for tensor, array in session.state()))
