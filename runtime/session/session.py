"""An artifact on a device: its exports as methods that take and give NumPy arrays.

Calls return when the device is done, with IREE's work outside the GIL. Argument and result lists live as long as the
session; the small vectors (`key`, `hyper`, `scale`) are written in place where the device allows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import iree.runtime as iree
import numpy as np
from sexpgpu.diagnostics import Diagnostic, Fix, SexpError
from sexpgpu.runtime.artifact.manifest import Export, Field, StateTensor
from sexpgpu.runtime.artifact.read import Artifact
from sexpgpu.runtime.session.device import NUMPY_TYPES, Device, aligned, reason_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Arrays = Mapping[str, "NDArray"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one microbatch gives: its metrics (f32) and its integer counters (i64)."""

    metrics: NDArray
    counters: NDArray


class Session:
    """One artifact, one device, one state. Not for several threads at once."""

    def __init__(self, artifact: Artifact, device: Device) -> None:
        self.manifest = artifact.manifest
        self.device = device
        self._instance = artifact.instance
        try:
            self._context = iree.VmContext(artifact.instance, [
                iree.create_hal_module(artifact.instance, device.hal), artifact.module])
        except Exception as error:  # whatever the driver found missing
            raise SexpError(Diagnostic("E-ARTIFACT-008", f"`{artifact.path}` does not load on `{device.uri}`",
                                       notes=(reason_of(error),))) from error
        self._module = artifact.module
        self._functions: dict[str, iree.VmFunction] = {}
        m = self.manifest
        self._counted = bool(m.integer_counters)
        self._no_counters = np.zeros(0, np.int64)
        self._key = _Vector(device, 4, "i64")
        self._hyper = _Vector(device, max(1, len(m.schedules)), "f32")
        self._scale = _Vector(device, None, "f32")
        self._out = iree.VmVariantList(2)

    # -- the state ----------------------------------------------------------------------------------------------------

    def init(self, seed: int) -> None:
        """Every state tensor from its initialiser."""
        self._call("init", [self.device.copy(np.array(seed, np.int64), "i64")])

    def state(self) -> Iterator[tuple[StateTensor, NDArray]]:
        """Each state tensor with its contents (bf16 as u16 bits), one after the other, in the manifest's order.

        On a local device an array is a window on the state: read it before the next step, or copy it.
        """
        if not self.manifest.state:
            return
        out = iree.VmVariantList(len(self.manifest.state))
        self._context.invoke(self._function("state_get"), iree.VmVariantList(0), out)
        for i, tensor in enumerate(self.manifest.state):
            yield tensor, self.device.get(out.get_as_object(i, iree.HalBufferView), tensor.dtype)

    def state_get(self) -> dict[str, NDArray]:
        """Copies of the whole state by name."""
        return {tensor.name: np.array(array) for tensor, array in self.state()}

    def state_set(self, arrays: Arrays) -> None:
        """Replaces the whole state; shapes and dtypes must be the manifest's."""
        if not self.manifest.state:
            return
        values = []
        for tensor in self.manifest.state:
            array = np.ascontiguousarray(arrays[tensor.name]).reshape(tensor.shape)
            assert array.dtype == NUMPY_TYPES[tensor.dtype], f"{tensor.name}: {array.dtype}"
            values.append(self.device.copy(array, tensor.dtype))
        self._call("state_set", values)

    def restart_optimizer(self) -> None:
        """The optimizer's state from the parameters that are there now, as `init` makes it from the first ones. An
        artifact of an optimizer without state has no such export, nor have those of earlier versions."""
        if self._module.lookup_function("optimizer_restart") is not None:
            self._call("optimizer_restart", [])

    # -- training -----------------------------------------------------------------------------------------------------

    def microbatch(self, batch: Arrays, key: Sequence[int], hyper: Sequence[float]) -> Outcome:
        """Forward and backward; the gradients are added to what stands accumulated. A step is one or several."""
        self._call("microbatch", [*self._fields(self.manifest.fields, batch), self._key.set(key),
                                  self._hyper.set(hyper)])
        counters = np.array(self._result(1, "i64")) if self._counted else self._no_counters
        return Outcome(np.array(self._result(0, "f32")), counters)

    def update(self, hyper: Sequence[float], microbatches: int) -> tuple[float, bool]:
        """Ends a step with the mean of the accumulated gradients: the gradient norm, and whether it was skipped."""
        self._call("update", [self._hyper.set(hyper), self._scale.set(1.0 / microbatches)])
        norm, skipped = self._result(0, "f32").tolist()
        return norm, skipped != 0.0

    # -- evaluation and scalars ---------------------------------------------------------------------------------------

    def evaluate(self, index: int, batch: Arrays, key: Sequence[int], hyper: Sequence[float], *,
                 row: bool = False) -> NDArray:
        """The metrics of one batch of the `index`-th evaluation; `row` takes a batch of one row."""
        evaluation = self.manifest.evaluations[index]
        export = evaluation.row_export if row else evaluation.export
        assert export is not None
        self._call(export, [*self._fields(evaluation.fields, batch), self._key.set(key), self._hyper.set(hyper)])
        return np.array(self._result(0, "f32"))

    def infer(self, export: Export, arrays: Arrays, seed: int) -> list[NDArray]:
        """The outputs of an export, as windows on memory that lives as long as they do."""
        self._call(export.export, [*self._fields(export.inputs, arrays), self._key.set((seed, 0, 0, 0))])
        return [self._result(i, field.dtype) for i, field in enumerate(export.outputs)]

    def call(self, export: str, arguments: Sequence[iree.HalBufferView]) -> None:
        """Any export, for its time; returns when the device is done. Raises E-RUN-015."""
        self._call(export, arguments)

    def scalars(self, values: Sequence[int | float]) -> iree.VmVariantList:
        """The values of `ctx`, in the manifest's order, as arguments for `ctx`."""
        arguments = iree.VmVariantList(len(values))
        for entry, value in zip(self.manifest.ctx, values, strict=True):
            if entry.type == "i64":
                arguments.push_int(int(value))
            else:
                arguments.push_float(value)
        return arguments

    def ctx(self, export: str, arguments: iree.VmVariantList) -> int | float:
        """A schedule's value (f64) or a curriculum's stage (i64); on the host, a few microseconds."""
        self._context.invoke(self._function(export), arguments, self._out)
        return self._out.get_variant(0)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _fields(self, fields: tuple[Field, ...], batch: Arrays) -> list[iree.HalBufferView]:
        return [self.device.put(batch[f.name], f.dtype) for f in fields]

    def _function(self, export: str) -> iree.VmFunction:
        function = self._functions.get(export)
        if function is None:
            function = self._module.lookup_function(export)
            assert function is not None, export  # the reader has checked that it is there
            self._functions[export] = function
        return function

    def _call(self, export: str, arguments: Sequence[iree.HalBufferView]) -> None:
        inputs = iree.VmVariantList(len(arguments))
        for argument in arguments:
            inputs.push_ref(argument.ref)
        try:
            self._context.invoke(self._function(export), inputs, self._out)
        except RuntimeError as error:
            raise _call_failed(self.device, export, error) from error

    def _result(self, index: int, dtype: str) -> NDArray:
        return self.device.get(self._out.get_as_object(index, iree.HalBufferView), dtype)


def _call_failed(device: Device, export: str, error: RuntimeError) -> SexpError:
    reason = reason_of(error)
    memory = any(word in str(error) for word in ("RESOURCE_EXHAUSTED", "OUT_OF_MEMORY", "out of memory"))
    return SexpError(Diagnostic(
        "E-RUN-015", f"the device `{device.uri}` {'ran out of memory' if memory else 'failed'} in `{export}`",
        notes=(reason,), fix=Fix("lower `:batch-size`, and raise `--microbatches` by as much") if memory else None))


class _Vector:
    """A small argument that changes with every call: shared with a local device, copied to any other."""

    def __init__(self, device: Device, size: int | None, dtype: str) -> None:
        self._device, self._dtype = device, dtype
        self._array = aligned(() if size is None else (size,), NUMPY_TYPES[dtype])
        self._view = device.put(self._array, dtype) if device.local else None

    def set(self, values: Sequence[float] | float) -> iree.HalBufferView:
        if isinstance(values, Sequence):
            self._array[:len(values)] = values
        else:
            self._array[...] = values
        return self._view if self._view is not None else self._device.copy(self._array, self._dtype)
