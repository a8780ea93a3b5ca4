"""What a processor can do: the features that code for CPUs may use, and which of them this machine has.

An artifact names the features it was compiled for. Run without one of them it would end in an illegal instruction, in
the middle of a step and without a word; so they are compared before anything is loaded onto the device.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterable
from functools import cache

#: LLVM's name of a feature → the kernel's, in `/proc/cpuinfo`. Only what a code generator or kernels of this project
#: use: nobody's matrix product needs `aes`.
FEATURES: dict[str, str] = {
    # x86-64
    "sse3": "pni", "ssse3": "ssse3", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "popcnt": "popcnt", "avx": "avx",
    "avx2": "avx2", "fma": "fma", "f16c": "f16c", "bmi": "bmi1", "bmi2": "bmi2", "lzcnt": "abm", "movbe": "movbe",
    "gfni": "gfni", "avxvnni": "avx_vnni",
    "avx512f": "avx512f", "avx512bw": "avx512bw", "avx512cd": "avx512cd", "avx512dq": "avx512dq",
    "avx512vl": "avx512vl", "avx512vnni": "avx512_vnni", "avx512bf16": "avx512_bf16", "avx512fp16": "avx512_fp16",
    "avx512ifma": "avx512ifma", "avx512vbmi": "avx512vbmi", "avx512vbmi2": "avx512_vbmi2",
    "avx512bitalg": "avx512_bitalg", "avx512vpopcntdq": "avx512_vpopcntdq",
    "amx-tile": "amx_tile", "amx-bf16": "amx_bf16",
    # AArch64
    "neon": "asimd", "fullfp16": "asimdhp", "rdm": "asimdrdm", "dotprod": "asimddp", "fp16fml": "asimdfhm",
    "bf16": "bf16", "i8mm": "i8mm", "lse": "atomics", "sve": "sve", "sve2": "sve2",
}

#: Those for which the system has to be asked.
AMX = ("amx-tile", "amx-bf16")

#: Bytes of stack that a kernel for a processor may take: tiles of rows, and what products copy, lie there. Devices that
#: start threads of their own give each twice as much (IREE's default is 128 KiB).
STACK = 1 << 20

#: The levels of x86-64 to build for, the most able first, by a feature that only they have.
_LEVELS = (("x86-64-v4", "avx512vl"), ("x86-64-v3", "avx2"), ("x86-64-v2", "sse4.2"), ("x86-64", ""))


def cpuinfo(*keys: str) -> str | None:
    """What the system says of its first processor under the first key that it has; None where it does not tell."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next((line.partition(":")[2].strip() for line in file if line.partition("\t")[0] in keys), None)
    except OSError:
        return None


def host_features() -> frozenset[str] | None:
    """LLVM's names of what this processor can do and this process may use; None where the system does not tell."""
    flags = cpuinfo("flags", "Features")
    if flags is None:
        return None
    have = set(flags.split())
    return frozenset(name for name, flag in FEATURES.items() if flag in have and (name not in AMX or tiles_granted()))


@cache
def tiles_granted() -> bool:
    """Whether this process may use AMX's tiles, which it has to ask Linux for: each thread's state grows by 8 KiB. An
    instruction without is an illegal one. It is asked once, for all threads, and stays granted."""
    arch_prctl, request, tile_data = 158, 0x1023, 18   # <asm/prctl.h>: ARCH_REQ_XCOMP_PERM
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return False
    return ctypes.CDLL(None).syscall(arch_prctl, request, tile_data) == 0


def lacking(needed: Iterable[str]) -> tuple[str, ...]:
    """Of the features `needed`, those that this processor does not have. Where the system does not tell, those alone
    that it has not granted."""
    have = host_features()
    if have is None:
        have = FEATURES.keys() - (() if tiles_granted() else AMX)
    return tuple(name for name in needed if name in FEATURES and name not in have)


def level() -> str | None:
    """The level of x86-64 that this processor has; None on another architecture."""
    have = host_features()
    if have is None or platform.machine() not in ("x86_64", "AMD64"):
        return None
    return next(name for name, feature in _LEVELS if not feature or feature in have)
