"""Targets by name: what the user wrote, the flags it stands for, and how the artifact describes it."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError, one_of
from sexpgpu.runtime.processor import cpuinfo

#: Processors offered by name; LLVM knows more, and these are the ones worth shipping for.
X86_CPUS = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "haswell", "broadwell", "skylake", "skylake-avx512",
            "cascadelake", "icelake-client", "icelake-server", "sapphirerapids", "emeraldrapids", "graniterapids",
            "znver1", "znver2", "znver3", "znver4", "znver5")
ARM_CPUS = ("generic", "cortex-a72", "cortex-a76", "neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2",
            "apple-m1", "apple-m2", "apple-m3", "apple-m4")

#: Architecture as the user names it → the one code is made for. IREE 3.13 refuses sm_90 and later; the PTX of sm_89
#: is compiled by the driver for every later GPU.
CUDA_ARCHITECTURES = {
    **{f"sm_{n}": f"sm_{n}" for n in (60, 61, 70, 75, 80, 86, 89)},
    **{f"sm_{n}": "sm_89" for n in (90, 100, 120)},
}
DEFAULT_CUDA = "sm_80"

KINDS = ("cpu", "vulkan", "cuda")


@dataclass(frozen=True, slots=True)
class Target:
    """`kind` is one of KINDS; `name` what the user wrote; `detail` what the manifest says; `driver` the runtime's.

    `cpu` is LLVM's name of the processor, where the target is one.
    """

    kind: str
    name: str
    detail: str
    driver: str
    flags: tuple[str, ...]
    cpu: str | None = None


def host_cpu() -> str:
    """The processor of this machine, for people: its model name where the system tells it."""
    return cpuinfo("model name") or platform.machine()


def _unknown(code: str, what: str, word: str, choices: tuple[str, ...]) -> SexpError:
    return SexpError(Diagnostic(code, f"there is no {what} `{word}`", fix=Fix(one_of(word, choices))))


def parse_target(text: str) -> Target:
    """`cpu`, `cpu:x86-64-v3`, `vulkan`, `cuda`, `cuda:sm_86`. Raises E-TARGET-001, -002 or -003."""
    kind, _, detail = text.partition(":")
    match kind:
        case "cpu":
            return _cpu(text, detail)
        case "vulkan" if not detail:
            return Target("vulkan", text, "vulkan-spirv", "vulkan", ("--iree-hal-target-device=vulkan",))
        case "cuda":
            return _cuda(text, detail or DEFAULT_CUDA)
    raise _unknown("E-TARGET-001", "target", text, KINDS)


def _cpu(text: str, cpu: str) -> Target:
    known = ARM_CPUS if platform.machine() in ("aarch64", "arm64") else X86_CPUS
    if cpu and cpu not in known:
        raise _unknown("E-TARGET-002", "processor", cpu, known)
    return Target("cpu", text, cpu or f"host:{host_cpu()}", "local-task", (
        "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
        f"--iree-llvmcpu-target-cpu={cpu or 'host'}",
    ), cpu or "host")


def _cuda(text: str, architecture: str) -> Target:
    if architecture not in CUDA_ARCHITECTURES:
        given = f"sm_{architecture}" if re.fullmatch(r"\d+", architecture) else architecture
        raise _unknown("E-TARGET-003", "GPU architecture", given, tuple(CUDA_ARCHITECTURES))
    made = CUDA_ARCHITECTURES[architecture]
    detail = architecture if made == architecture else f"{architecture} (PTX of {made})"
    return Target("cuda", text, detail, "cuda", ("--iree-hal-target-device=cuda", f"--iree-cuda-target={made}"))
