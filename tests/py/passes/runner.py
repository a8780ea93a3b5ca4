"""Runs exports of a `.vmfb` on NumPy arrays: the tests' own thin way, independent of the product's runtime."""

from __future__ import annotations

import json

import iree.runtime as rt
import numpy as np
from sexpgpu.runtime.processor import tiles_granted

#: What kernels for a processor may take, and as much again (the runtime's `STACK`); IREE's default is 128 KiB.
rt.flags.parse_flags("--task_worker_stack_size=2097152")
# Without having been asked for, an instruction of AMX ends the process.
tiles_granted()

ELEMENTS = {
    "float32": rt.HalElementType.FLOAT_32, "float64": rt.HalElementType.FLOAT_64, "float16": rt.HalElementType.FLOAT_16,
    "bfloat16": rt.HalElementType.BFLOAT_16, "int8": rt.HalElementType.SINT_8, "int16": rt.HalElementType.SINT_16,
    "int32": rt.HalElementType.SINT_32, "int64": rt.HalElementType.SINT_64, "uint8": rt.HalElementType.UINT_8,
    "uint16": rt.HalElementType.UINT_16, "uint32": rt.HalElementType.UINT_32, "uint64": rt.HalElementType.UINT_64,
    "bool": rt.HalElementType.BOOL_8,
}


class Program:
    """`call(name, *arrays)` gives a list of arrays; ints and floats are passed as scalars."""

    def __init__(self, vmfb: bytes, driver: str = "local-task") -> None:
        self.instance = rt.VmInstance()
        # Not kept open for others: a Vulkan device has threads that never rest.
        self.device = rt.get_device(driver, cache=driver.startswith("local"))
        self.local = driver.startswith("local")
        hal = rt.create_hal_module(self.instance, self.device)
        self.module = rt.VmModule.copy_buffer(self.instance, vmfb)
        self.context = rt.VmContext(self.instance, [hal, self.module])

    @property
    def manifest(self) -> dict[str, object]:
        return json.loads(self.module.lookup_function("init").reflection["sexpgpu.manifest"])

    def call(self, name: str, *arguments: object) -> list[np.ndarray]:
        found = self._called(name, *arguments)
        return found   # where this is the last use of `self`, its device goes now: after all buffers

    def _called(self, name: str, *arguments: object) -> list[np.ndarray]:
        function = self.module.lookup_function(name)
        given, results = rt.VmVariantList(len(arguments)), rt.VmVariantList(8)
        for argument in arguments:
            if isinstance(argument, float):
                given.push_float(argument)
            elif isinstance(argument, int):
                given.push_int(argument)
            else:
                given.push_ref(self._put(np.asarray(argument)))
        self.context.invoke(function, given, results)
        return [self._get(results, i) for i in range(results.size)]

    def _put(self, array: np.ndarray) -> rt.HalBufferView:
        return self.device.allocator.allocate_buffer_copy(
            memory_type=rt.MemoryType.DEVICE_LOCAL, allowed_usage=rt.BufferUsage.DEFAULT, device=self.device,
            buffer=np.array(array, order="C"), element_type=ELEMENTS[array.dtype.name])

    def _get(self, results: rt.VmVariantList, index: int) -> np.ndarray:
        value = results.get_variant(index)
        if isinstance(value, (int, float)):
            return np.asarray(value)
        view = results.get_as_object(index, rt.HalBufferView)
        if self.local:
            return np.array(rt.DeviceArray(self.device, view).to_host())
        return self._through_staging(view)

    def _through_staging(self, view: rt.HalBufferView) -> np.ndarray:
        """Vulkan devices do not import host memory."""
        source = view.get_buffer()
        kind = rt.HalElementType.map_to_dtype(view.element_type)
        staging = self.device.allocator.allocate_buffer(
            memory_type=rt.MemoryType.HOST_LOCAL | rt.MemoryType.DEVICE_VISIBLE,
            allowed_usage=rt.BufferUsage.TRANSFER_TARGET | rt.BufferUsage.MAPPING_SCOPED,
            allocation_size=source.byte_length())
        done = self.device.create_semaphore(0)
        self.device.queue_copy(source, staging, wait_semaphores=rt.HalFence.create_at(done, 0),
                               signal_semaphores=rt.HalFence.create_at(done, 1))
        rt.HalFence.create_at(done, 1).wait()
        return staging.map().asarray(view.shape, kind).copy()
