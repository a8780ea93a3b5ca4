"""This project's operations: `sexpgpu_ops.py [WORD …] [--without=PASS,…]`. Forward and gradient of each, all in one
artifact, on buffers that stay on the device."""

import sys
from pathlib import Path

from sexpgpu.runtime.allocator import start_over

start_over()

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[2] / "tests/py/ops"), str(HERE.parents[2] / "tests/py/passes")]

import iree.runtime as rt  # noqa: E402
import numpy as np  # noqa: E402
from iree.compiler import ir  # noqa: E402
from language import Expression, Session, flat  # noqa: E402
from sexpgpu.compiler.passes import blocks  # noqa: E402
from sexpgpu.compiler.passes import functions as fn  # noqa: E402
from sexpgpu.compiler.passes.autodiff import differentiate, drop_stop_gradients  # noqa: E402
from sexpgpu.compiler.passes.base import NoOptions  # noqa: E402
from sexpgpu.compiler.passes.forms import forms_for  # noqa: E402
from sexpgpu.compiler.passes.iree.driver import CompileOptions, generate  # noqa: E402
from sexpgpu.compiler.passes.iree.targets import parse_target  # noqa: E402
from sexpgpu.compiler.passes.pipeline import run_passes  # noqa: E402
from sexpgpu.runtime.session import Device  # noqa: E402

from peers import serve_operations  # noqa: E402
from peers.op_cases import OPERATIONS, cotangent  # noqa: E402

words = [word for word in sys.argv[1:] if not word.startswith("--without=")]
without = [name for word in sys.argv[1:] if word not in words for name in word.removeprefix("--without=").split(",")]
chosen = [op for op in OPERATIONS if any(word in op.name for word in words) or not words]
session, target, shapes = Session(), parse_target("cpu"), {}
for number, op in enumerate(chosen):
    value, found, _ = session.stage(Expression(f"op{number}", op.source, op.arguments))
    assert not found, (op.name, found)
    shapes[op.name] = tuple(int(d) for d in flat(value)[0].shape)
with session.context, ir.Location.unknown():
    for number, op in enumerate(chosen):
        func = fn.find(session.module, f"op{number}")
        differentiate(session.module, func, [i for i, a in enumerate(op.arguments.values()) if a.dtype.kind == "f"], 0)
    drop_stop_gradients(session.module)
    for func in session.module.body.operations:
        for name in [a for a in func.attributes if a.startswith("sexp.")]:
            del func.attributes[name]
run_passes(session.module, [(blocks.PASS, NoOptions()), *forms_for(target, without)])
with session.context:
    code = generate(session.module, target, CompileOptions())

device = Device("local-task", 2).hal
module = rt.VmModule.copy_buffer(instance := rt.VmInstance(), code)
context = rt.VmContext(instance, [rt.create_hal_module(instance, device), module])
ELEMENTS = {"float32": rt.HalElementType.FLOAT_32, "int32": rt.HalElementType.SINT_32}


def put(array: np.ndarray) -> rt.HalBufferView:
    return device.allocator.allocate_buffer_copy(
        memory_type=rt.MemoryType.DEVICE_LOCAL, allowed_usage=rt.BufferUsage.DEFAULT, device=device,
        buffer=np.array(array, order="C"), element_type=ELEMENTS[array.dtype.name])


def prepared(number: int):
    op = chosen[number]
    function = module.lookup_function(f"op{number}")
    seed = [cotangent(shapes[op.name])] if shapes[op.name] else []
    given = [put(a) for a in (*op.arguments.values(), *seed)]

    def once() -> np.ndarray:
        words, results = rt.VmVariantList(len(given)), rt.VmVariantList(8)
        for view in given:
            words.push_ref(view)
        context.invoke(function, words, results)
        return results

    def last() -> np.ndarray:
        results = once()
        return np.array(rt.DeviceArray(device, results.get_as_object(results.size - 1, rt.HalBufferView)).to_host())

    return once, last


serve_operations({op.name: prepared(i) for i, op in enumerate(chosen)})
