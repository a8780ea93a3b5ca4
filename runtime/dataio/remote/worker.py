"""The threads that fetch: they take what the native threads ask for, and hold the GIL only while Python runs.

Waiting for work, for a socket and for the next try gives it up. `close` ends all of them at once, whatever they wait
for: a connection that hangs is hung up.
"""

from __future__ import annotations

import threading
import time

from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio.core import Fetch, FetchQueue
from sexpgpu.runtime.dataio.remote.client import hang_up
from sexpgpu.runtime.dataio.remote.meaning import Failure, failure_of
from sexpgpu.runtime.dataio.remote.persist import persist
from sexpgpu.runtime.dataio.remote.retry import Budget, RetryPolicy, default_policy
from sexpgpu.runtime.dataio.remote.transfer import Transfer

WORKERS = 12
"""Requests at once. At 100 ms of latency and 4 MiB a request this is some 400 MB/s, more than one Python moves."""

_TICK = 0.1
_LOOK = 0.02
_JOIN = 1.0   # for a thread that is about to end
_LOST = 0.08  # for one that nothing reaches


class Workers:
    """The fetching threads of one loader."""

    def __init__(self, policy: RetryPolicy | None = None) -> None:
        self.queue = FetchQueue()
        self._policy = policy or default_policy()
        self._budget = Budget(self._policy.budget)
        self._closing = threading.Event()
        self._current: dict[int, Fetch] = {}
        # Daemons, since the interpreter waits for all others before it lets anybody close a loader.
        self._threads = [threading.Thread(target=self._work, name=f"sexpgpu-s3-{i}", daemon=True)
                         for i in range(WORKERS)]
        for thread in self._threads:
            thread.start()

    @property
    def retries(self) -> int:
        return self._budget.retries

    def hang_up(self) -> set[int]:
        """Ends the requests for bytes that nobody wants any more, and gives the threads that made them."""
        threads = {thread for thread, fetch in list(self._current.items()) if fetch.cancelled}
        return hang_up(threads) if threads else set()

    def close(self) -> None:
        """Ends and joins the threads. One that has no connection to hang up yet, since it looks up a name, connects
        or resolves credentials, is left to come to its own end: a Ctrl-C does not wait for it."""
        self._closing.set()
        self.queue.close()
        begun = time.monotonic()
        reached: set[int | None] = set()
        for thread in self._threads:
            while thread.is_alive():
                reached |= self.hang_up()
                lost = thread.ident in self._current and thread.ident not in reached
                if time.monotonic() - begun > (_LOST if lost else _JOIN):
                    break
                thread.join(_LOOK)

    def _work(self) -> None:
        me = threading.get_ident()
        while (fetch := self.queue.take()) is not None:
            self._current[me] = fetch
            try:
                failure = self._fetch(fetch)
            except SexpError as error:
                [d] = error.diagnostics
                failure = Failure(d.code, d.message, d.notes, d.fix.text if d.fix else "")
            except Exception as error:
                failure = failure_of(error, fetch.name)
            finally:
                del self._current[me]
            if failure is not None:
                self.queue.fail(fetch, failure.code, failure.message, list(failure.notes), failure.fix)

    def _fetch(self, fetch: Fetch) -> Failure | None:
        """Fetches a range; what went wrong, if it did."""
        if fetch.cancelled:
            return Failure("E-STORE-008", f"reading `{fetch.name}` was interrupted")
        transfer = Transfer(fetch.uri, fetch.name, fetch.offset, fetch.room.data, fetch.size, fetch.version,
                            stopped=lambda: fetch.cancelled, arrived=self.queue.count_bytes)
        failure = persist(fetch.name, transfer, self._policy, self._budget, lambda: fetch.cancelled,
                          lambda seconds: self._pause(seconds, fetch))
        if failure is None:
            self.queue.finish(fetch, transfer.done, transfer.size, transfer.etag)
        return failure

    def _pause(self, seconds: float, fetch: Fetch) -> None:
        until = time.monotonic() + seconds
        while not fetch.cancelled and (left := until - time.monotonic()) > 0 and not self._closing.is_set():
            self._closing.wait(min(left, _TICK))
