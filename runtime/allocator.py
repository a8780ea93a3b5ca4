"""Memory that stays: the environment a training process wants of glibc, set before the process starts.

Every step of a CPU artifact allocates its transients afresh, tens to hundreds of megabytes, and with glibc's defaults
the pages go back to the kernel and come again: a third of the step is page faults. Tunables are read once, before
`main`, so the process replaces itself (`execve`) with the tunables in its environment. What the user set in
`GLIBC_TUNABLES` stays and wins; `SEXPGPU_ALLOCATOR=system` turns all of it off. Standard library only, and first.
"""

from __future__ import annotations

import os
import re
import sys

SWITCH = "SEXPGPU_ALLOCATOR"
"""`system` leaves the allocator alone; unset or `tuned` tunes it."""

GUARD = "SEXPGPU_ALLOCATOR_GUARD"
"""Set in the replaced process only: the user's own `GLIBC_TUNABLES`, to be put back once it has begun."""

TUNABLES = {
    "glibc.malloc.hugetlb": "1",
    "glibc.malloc.arena_max": "1",
    "glibc.malloc.mmap_max": "0",
    "glibc.malloc.trim_threshold": "8000000000",
}

OLDEST = (2, 35)
"""The glibc in which `glibc.malloc.hugetlb` appeared."""


def tuned_environment(environment: dict[str, str], version: tuple[int, int] | None) -> dict[str, str] | None:
    """The environment to start over with, or None where nothing is to be done."""
    if environment.get(SWITCH, "tuned") == "system" or GUARD in environment:
        return None
    if version is None or version < OLDEST:
        return None
    own = environment.get("GLIBC_TUNABLES", "")
    names = {entry.partition("=")[0] for entry in own.split(":")}
    added = [f"{name}={value}" for name, value in TUNABLES.items() if name not in names]
    if not added:
        return None
    return {**environment, "GLIBC_TUNABLES": ":".join([own, *added] if own else added), GUARD: own}


def glibc_version() -> tuple[int, int] | None:
    """None on any other C library."""
    try:
        found = re.fullmatch(r"glibc (\d+)\.(\d+).*", os.confstr("CS_GNU_LIBC_VERSION") or "")
    except (ValueError, OSError, AttributeError):
        return None
    return (int(found[1]), int(found[2])) if found else None


def start_over() -> None:
    """Replaces this process by one with the tunables, unless it is that one; returns where nothing is to be done.

    To be called before anything is imported, opened or started. Where the process cannot be replaced, it goes on.
    """
    if GUARD in os.environ:  # this is the replaced process: its children get the environment the user had
        own = os.environ.pop(GUARD)
        if own:
            os.environ["GLIBC_TUNABLES"] = own
        else:
            os.environ.pop("GLIBC_TUNABLES", None)
        return
    environment = tuned_environment(dict(os.environ), glibc_version())
    if environment is None or not sys.executable or not sys.orig_argv:
        return
    try:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)
    except OSError:
        return
