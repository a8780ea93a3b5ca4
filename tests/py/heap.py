"""What the C library has handed out and not got back. What is resident says less: it depends on how a device's threads
happen to interleave what they allocate, and grows for minutes on a busy machine."""

from __future__ import annotations

import ctypes


class _Mallinfo2(ctypes.Structure):
    """glibc's `struct mallinfo2` (malloc.h)."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]


def allocated() -> float:
    """MiB of this process."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = _Mallinfo2
    info = mallinfo2()
    return (info.uordblks + info.hblkhd) / 2**20
