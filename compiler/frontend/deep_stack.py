"""Room for the calls of a program: the evaluator recurs on them, with a dozen of Python's calls for each."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: Only address space until it is used.
_STACK_BYTES = 512 << 20
_RECURSION = 1_000_000


def with_deep_stack(work: Callable[[], T]) -> T:
    """What `work` gives or raises, run in a thread of its own with a stack for the deepest program."""
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failures.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(_STACK_BYTES)
    sys.setrecursionlimit(_RECURSION)
    try:
        thread = threading.Thread(target=run, name="sexpgpu-frontend")
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    if failures:
        raise failures[0]
    return results[0]
