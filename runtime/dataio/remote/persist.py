"""Asking S3 until it answers: one loop of tries, waits and new credentials around whatever is asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from sexpgpu.runtime.dataio.faults import error
from sexpgpu.runtime.dataio.remote.address import parse, parts
from sexpgpu.runtime.dataio.remote.client import renew, shared_client, while_wanted
from sexpgpu.runtime.dataio.remote.meaning import UNANSWERED, Failure, failure_of
from sexpgpu.runtime.dataio.remote.retry import Budget, RetryPolicy, default_policy
from sexpgpu.runtime.dataio.remote.transfer import Transfer, bare_etag

_T = TypeVar("_T")
_FIRST_BYTES = 64 << 10


class Task(Protocol):
    """What is asked: `attempt` does all it can in one go, `done` tells how far it has come."""

    @property
    def done(self) -> int: ...
    @property
    def complete(self) -> bool: ...
    def attempt(self, client: Any) -> None: ...


def persist(name: str, task: Task, policy: RetryPolicy, budget: Budget, stopped: Callable[[], bool],
            pause: Callable[[float], None]) -> Failure | None:
    """Tries until the task is complete, or `stopped`; what went wrong at last, if it did."""
    failures = 0
    while not stopped():
        client: Any = None
        before = task.done
        failure = Failure(UNANSWERED, f"the store of `{name}` sent fewer bytes than it was asked for", retry=True)
        try:
            client = shared_client(policy)
            with while_wanted(stopped):
                task.attempt(client)
        except Exception as problem:
            failure = failure_of(problem, name)
        if task.complete:
            budget.give_back()
            return None
        if stopped():
            break
        if not failure.retry:
            return failure
        if failure.expired:
            renew(client)
        if task.done > before:
            failures = 0
            budget.give_back()
        failures += 1
        if failures >= policy.tries:
            return failure.given_up(name, failures, "it was given up")
        if not budget.take():
            return failure.given_up(name, failures, "the retry budget was spent")
        pause(policy.wait(failures - 1))
    return Failure("E-STORE-008", f"reading `{name}` was interrupted")


def ask(name: str, question: Callable[[Any], _T]) -> _T:
    """What `question` gets from the client, for whoever may wait here. Raises `SexpError`."""
    call = _Call(question)
    _asked(name, call)
    return call.answer


def read_object(uri: str, name: str, most: int) -> tuple[bytearray, str]:
    """A whole object of at most `most` bytes, and its etag. Raises `SexpError`; an E-STORE-008 where it is larger."""
    opening = Transfer(uri, name, -1, memoryview(bytearray(_FIRST_BYTES)))
    _asked(name, opening)
    if opening.size > most:
        raise error("E-STORE-008", f"`{name}` has {opening.size:,} bytes, and at most {most:,} are read at once")
    data = bytearray(opening.size)
    if opening.size > 0:
        read_range(uri, name, 0, memoryview(data), opening.size, opening.etag)
    return data, opening.etag


def _asked(name: str, task: Task) -> None:
    policy = default_policy()
    failure = persist(name, task, policy, Budget(policy.budget), lambda: False, time.sleep)
    if failure is not None:
        raise error(failure.code, failure.message, notes=failure.notes, fix=failure.fix)


class _Call:
    """A question that is answered whole or not at all."""

    answer: Any

    def __init__(self, question: Callable[[Any], Any]) -> None:
        self._question = question
        self.done = 0
        self.complete = False

    def attempt(self, client: Any) -> None:
        self.answer = self._question(client)
        self.complete = True


def head(uri: str, name: str) -> tuple[int, str]:
    """An object's size in bytes, and its etag."""
    address = parse(uri)
    found = ask(name, lambda client: client.head_object(Bucket=address.bucket, Key=address.key))
    return int(found["ContentLength"]), bare_etag(found.get("ETag"))


def read_range(uri: str, name: str, begin: int, room: memoryview, size: int, etag: str) -> None:
    """Fills `room` from byte `begin` of this version of an object. Raises `SexpError`."""
    _asked(name, Transfer(uri, name, begin, room, size, etag))


def chunks_of_object(uri: str, name: str, chunk: int) -> Iterator[bytearray]:
    """All bytes of an object, one version of it, in order."""
    size, etag = head(uri, name)
    for begin in range(0, size, chunk):
        data = bytearray(min(chunk, size - begin))
        read_range(uri, name, begin, memoryview(data), size, etag)
        yield data


def listing(uri: str) -> list[str]:
    """The URIs of all objects whose key begins with that of `uri`, in the order of their keys."""
    bucket, prefix = parts(uri)
    found: list[str] = []
    token: str | None = None
    while True:
        more = {"ContinuationToken": token} if token else {}
        page = ask(uri, lambda client, more=more: client.list_objects_v2(Bucket=bucket, Prefix=prefix, **more))
        found += [f"s3://{bucket}/{item['Key']}" for item in page.get("Contents", ())]
        if not page.get("IsTruncated"):
            return sorted(found)
        token = page["NextContinuationToken"]


def put(uri: str, name: str, data: bytes) -> None:
    """Writes a whole object, which is there in full or not at all."""
    address = parse(uri)
    ask(name, lambda client: client.put_object(Bucket=address.bucket, Key=address.key, Body=data,
                                               ContentType="application/json"))
