"""The code generator: flags, one session and invocation a module, its diagnostics kept off the console.

One process may compile many modules; the libraries are loaded once.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from iree.compiler import ir
from iree.compiler.api import Invocation, Output, Session, Source, ctypes_dl
from sexpgpu.compiler.passes.iree.console import captured_console
from sexpgpu.compiler.passes.iree.errors import Complaint, explain
from sexpgpu.compiler.passes.iree.messages import Messages
from sexpgpu.compiler.passes.iree.targets import Target
from sexpgpu.runtime.processor import FEATURES, STACK, lacking

#: For every target. ctx functions compute in f64, so f64 must not be narrowed.
COMMON_FLAGS = (
    "--iree-input-type=stablehlo",
    "--iree-input-demote-f64-to-f32=false",
)

#: Measured; see docs/passes.md.
TARGET_FLAGS: dict[str, tuple[str, ...]] = {
    "cpu": ("--iree-global-opt-data-tiling", "--iree-llvmcpu-reassociate-fp-reductions",
            f"--iree-llvmcpu-stack-allocation-limit={STACK}"),
    "vulkan": (),
    "cuda": (),
}


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """`extra_flags` go to IREE after ours; `bundle_folder` is where a failure is saved (the system's temporary one by
    default). `verify` has IREE verify the module after each of its own passes."""

    extra_flags: tuple[str, ...] = ()
    bundle_folder: Path | None = None
    verify: bool = False


def iree_version() -> str:
    """Compiler and runtime must be the same release: the artifact records it and the runtime compares."""
    return version("iree-base-compiler")


def flags_for(target: Target, options: CompileOptions) -> list[str]:
    return [*COMMON_FLAGS, *target.flags, *TARGET_FLAGS[target.kind], *options.extra_flags]


def generate(module: ir.Module, target: Target, options: CompileOptions) -> bytes:
    """The `.vmfb` of a module that only holds what IREE knows. Raises SexpError: E-TARGET when the cause is known to
    be the program's, else E-ICE-003 with a saved bundle."""
    flags = flags_for(target, options)
    text = module.operation.get_asm(enable_debug_info=True)
    with Session() as session:
        try:
            session.set_flags(*flags)
        except ValueError as error:
            raise explain([Complaint("error", str(error))], text, flags, target, options.bundle_folder) from error
        with session.invocation() as invocation:
            messages = Messages(invocation)
            if not options.verify:
                _skip_verifying(invocation)
            # The reader wants a terminating zero after the text.
            source = Source.wrap_buffer(session, text.encode() + b"\0")
            with captured_console() as console:
                done = invocation.parse_source(source) and invocation.execute()
            if not done:
                said = [*messages.complaints, *(Complaint("note", line) for line in console)]
                raise explain(said, text, flags, target, options.bundle_folder)
            with Output.open_membuffer() as output:
                invocation.output_vm_bytecode(output)
                return bytes(output.map_memory())


@cache   # a sixth of a second, and the same for every module
def features_of(target: Target) -> tuple[str, ...]:
    """What code for a processor may use, by LLVM's names (those of `runtime.processor`); nothing for other targets."""
    if target.cpu is None:
        return ()
    with Session() as session:
        session.set_flags(*target.flags)
        with session.invocation() as invocation:
            # The phase at which IREE has settled what the device is. (Its Python face has no method for this either.)
            set_phase = ctypes_dl._dylib.ireeCompilerInvocationSetCompileToPhase
            set_phase.restype, set_phase.argtypes = None, [ctypes.c_void_p, ctypes.c_char_p]
            set_phase(invocation._inv_p, b"flow")
            done = invocation.parse_source(Source.wrap_buffer(session, b"module {}\0")) and invocation.execute()
            assert done, "an empty module is compiled"
            with Output.open_membuffer() as output:
                invocation.output_ir(output)
                described = _FEATURES.search(bytes(output.map_memory()).decode())
    named = {name[1:] for name in described[1].split(",") if name.startswith("+")} if described else set()
    # Of this machine the system's word is taken: it is what the runtime will ask.
    missing = lacking(FEATURES) if target.cpu == "host" else ()
    return tuple(name for name in FEATURES if name in named and name not in missing)


_FEATURES = re.compile(r'cpu_features = "([^"]*)"')


def _skip_verifying(invocation: Invocation) -> None:
    """IREE verifies the module after each of its passes, a quarter of the time of a build, to find its own faults.
    What it is given has been verified by our passes. (Its Python face has no method for this.)"""
    set_verify = ctypes_dl._dylib.ireeCompilerInvocationSetVerifyIR
    set_verify.restype, set_verify.argtypes = None, [ctypes.c_void_p, ctypes.c_bool]
    set_verify(invocation._inv_p, False)
