"""When to try again: exponential backoff with full jitter, and a budget that all requests of a loader share.

A request is tried `tries` times in a row without a byte; each byte that arrives begins the count anew, so a connection
that drops every second still gets through. The budget ends what would otherwise go on for ever at a store that fails
most of the time: a try that brings nothing takes one from it, a try that brings bytes gives one back.

Sources: AWS Architecture Blog, "Exponential Backoff And Jitter" (full jitter); the retry quota of the AWS SDKs'
standard mode.
"""

from __future__ import annotations

import os
import random
import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Seconds, but for the counts. The n-th wait is drawn evenly from 0 to `first · 2ⁿ`, at most `longest`."""

    tries: int = 10
    budget: int = 200
    first: float = 0.1
    longest: float = 20.0
    connect_timeout: float = 5.0
    read_timeout: float = 10.0
    """Without a byte for so long, a connection counts as dropped."""

    def wait(self, failures: int) -> float:
        """How long to wait after so many failures in a row."""
        return random.uniform(0, min(self.longest, self.first * 2.0 ** min(failures, 30)))


class Budget:
    """Shared by threads. `retries` counts all retries, for the metrics."""

    def __init__(self, size: int) -> None:
        self._lock = threading.Lock()
        self._size = self._left = size
        self.retries = 0

    def take(self) -> bool:
        """Whether one more retry is allowed."""
        with self._lock:
            if self._left == 0:
                return False
            self._left -= 1
            self.retries += 1
            return True

    def give_back(self) -> None:
        with self._lock:
            self._left = min(self._left + 1, self._size)


def default_policy() -> RetryPolicy:
    """The policy; AWS_MAX_ATTEMPTS of the standard chain sets the tries."""
    asked = os.environ.get("AWS_MAX_ATTEMPTS", "")
    return RetryPolicy(tries=int(asked)) if asked.isdecimal() and int(asked) > 0 else RetryPolicy()
