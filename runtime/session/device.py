"""A device: opening one, giving it arrays, reading arrays back.

Two kinds of device matter here. On the local ones (`local-task`, `local-sync`) host memory is device memory: an
aligned array goes in without a copy, and results are mapped. On the others every array is copied, and results come
back through a staging buffer of our own, since Vulkan devices do not import host memory (IREE's `to_host` fails there).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import iree.runtime as iree
import numpy as np
from sexpgpu.diagnostics import Diagnostic, Fix, SexpError, one_of
from sexpgpu.runtime.artifact.manifest import Target
from sexpgpu.runtime.dtypes import DTYPES
from sexpgpu.runtime.processor import STACK, lacking, level, tiles_granted

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOCAL = ("local-task", "local-sync")
DRIVERS = (*LOCAL, "vulkan", "cuda")
ALIGNMENT = 64
"""Bytes; what an array's address must divide by for a local device to read it in place."""

ELEMENT_TYPES = {
    "f32": iree.HalElementType.FLOAT_32, "bf16": iree.HalElementType.BFLOAT_16, "f16": iree.HalElementType.FLOAT_16,
    "f64": iree.HalElementType.FLOAT_64, "i8": iree.HalElementType.SINT_8, "i16": iree.HalElementType.SINT_16,
    "i32": iree.HalElementType.SINT_32, "i64": iree.HalElementType.SINT_64, "u8": iree.HalElementType.UINT_8,
    "u16": iree.HalElementType.UINT_16, "u32": iree.HalElementType.UINT_32, "u64": iree.HalElementType.UINT_64,
    "bool": iree.HalElementType.BOOL_8,
}
NUMPY_TYPES = {name: np.dtype(d.numpy) for name, d in DTYPES.items()}

_HOST = iree.MemoryType.HOST_LOCAL | iree.MemoryType.DEVICE_VISIBLE
_IN_PLACE = iree.BufferUsage.DEFAULT | iree.BufferUsage.MAPPING
_READ_BACK = iree.BufferUsage.TRANSFER_TARGET | iree.BufferUsage.MAPPING_SCOPED


def reason_of(error: Exception) -> str:
    """The first line of what IREE says, without the place in its sources."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    return re.sub(r"^.*?\S+\.(?:c|h|cc|cpp):\d+: ", "", line).rstrip("; .")


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> NDArray:
    """An array of zeros that a local device reads in place."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.zeros(size + ALIGNMENT, np.uint8)
    offset = -raw.ctypes.data % ALIGNMENT
    return raw[offset:offset + size].view(dtype).reshape(shape)


def choose(target: Target, wanted: str | None) -> str:
    """The device's URI for an artifact built for `target`, where the user asked for `wanted` (None: whatever fits).

    `cpu` is `local-task`; anything else is a driver's name, or `driver://which`. Raises E-RUN-007, and E-ARTIFACT-009
    where this processor lacks something that the artifact's code may use.
    """
    missing = lacking(target.features) if target.driver in LOCAL else ()
    if missing:
        built = target.detail.removeprefix("host:")
        raise SexpError(Diagnostic("E-ARTIFACT-009", f"the artifact was built for `{built}`, and this processor has no "
                                   f"{', '.join(missing)}",
                                   fix=Fix(f"build it with `--target cpu:{level() or 'generic'}`")))
    if wanted is None or wanted == "auto":
        return target.driver
    uri = {"cpu": "local-task"}.get(wanted, wanted)
    driver = uri.split("://")[0]
    if driver not in DRIVERS:
        raise SexpError(Diagnostic("E-RUN-007", f"there is no device `{wanted}`",
                                   fix=Fix(f"devices: {one_of(wanted, ('auto', 'cpu', *DRIVERS))}")))
    fits = driver in LOCAL if target.driver in LOCAL else driver == target.driver
    if not fits:
        raise SexpError(Diagnostic("E-RUN-007", f"the artifact was built for {target.name}, not for `{driver}`",
                                   notes=(f"it runs on `{target.driver}`",),
                                   fix=Fix("leave `--device` out, or build the experiment for that target")))
    return uri


class Device:
    """An open device. `threads` counts the workers of `local-task`; None leaves it to IREE (one a core)."""

    def __init__(self, uri: str, threads: int | None = None) -> None:
        self.uri = uri
        self.driver = uri.split("://")[0]
        self.local = self.driver in LOCAL
        if self.local:
            tiles_granted()   # without having asked, the first instruction of AMX would be the last
        if self.driver == "local-task":
            # The workers are started with the driver, once a process; later values change nothing.
            iree.flags.parse_flags(f"--task_worker_stack_size={2 * STACK}")
            if threads is not None:
                iree.flags.parse_flags(f"--task_topology_group_count={threads}")
        try:
            self.hal = iree.get_device(uri)
        except Exception as error:  # the binding raises RuntimeError, ValueError and others alike
            raise SexpError(Diagnostic("E-RUN-008", f"the device `{uri}` cannot be opened",
                                       notes=(reason_of(error),))) from error
        self._staging: dict[int, iree.HalBuffer] = {}

    def put(self, array: NDArray, dtype: str) -> iree.HalBufferView:
        """`array` (contiguous) as an argument. On a local device an aligned one is shared, not copied: it must stay
        unchanged until the call that reads it returns."""
        element = ELEMENT_TYPES[dtype]
        if self.local and array.__array_interface__["data"][0] % ALIGNMENT == 0:
            buffer = self.hal.allocator.import_host_allocation(array, memory_type=_HOST, allowed_usage=_IN_PLACE)
            return iree.HalBufferView(buffer, array.shape, element)
        return self.copy(array, dtype)

    def copy(self, array: NDArray, dtype: str) -> iree.HalBufferView:
        """`array` in memory of the device's own: what state must be, which outlives the call."""
        view = self.hal.allocator.allocate_buffer_copy(
            memory_type=iree.MemoryType.DEVICE_LOCAL, allowed_usage=_IN_PLACE if self.local else
            iree.BufferUsage.DEFAULT, device=self.hal, buffer=array, element_type=ELEMENT_TYPES[dtype])
        assert isinstance(view, iree.HalBufferView)  # a bare buffer comes back only where no element type was given
        return view

    def get(self, view: iree.HalBufferView, dtype: str) -> NDArray:
        """The contents of a result; on a local device a window on memory that lives as long as the array."""
        kind = NUMPY_TYPES[dtype]
        if self.local:
            return view.map().asarray(view.shape, kind)
        source = view.get_buffer()
        size = source.byte_length()
        staging = self._staging.get(size)
        if staging is None:
            staging = self.hal.allocator.allocate_buffer(memory_type=_HOST, allowed_usage=_READ_BACK,
                                                         allocation_size=size)
            if size <= 65536:  # the metrics of every step come this way; weights do so rarely
                self._staging[size] = staging
        semaphore = self.hal.create_semaphore(0)
        self.hal.queue_copy(source, staging, wait_semaphores=iree.HalFence.create_at(semaphore, 0),
                            signal_semaphores=iree.HalFence.create_at(semaphore, 1))
        iree.HalFence.create_at(semaphore, 1).wait()
        return staging.map().asarray(view.shape, kind).copy()

    def bytes_at_peak(self) -> int | None:
        """The most device memory that was held at once, in bytes; None where the allocator does not count."""
        allocator = self.hal.allocator
        return allocator.statistics["device_bytes_peak"] if allocator.has_statistics else None

    def bytes_in_use(self) -> int | None:
        """Device memory held now, in bytes; None where the allocator does not count."""
        allocator = self.hal.allocator
        if not allocator.has_statistics:
            return None
        numbers = allocator.statistics
        return numbers["device_bytes_allocated"] - numbers["device_bytes_freed"]
