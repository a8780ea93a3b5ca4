"""One range of an object, by as many requests as it takes: each goes on at the byte where the last one broke off.

The object is the same all along: its etag goes with every request (If-Match) and is compared with every answer, since
not every server heeds the condition; so is its size.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sexpgpu.runtime.dataio.remote.address import parse
from sexpgpu.runtime.dataio.remote.meaning import Failure, Refused, changed

_CHUNK = 256 << 10
_LEAST_CHUNK = 1 << 10
_RANGE = re.compile(r"^bytes (\d+)-(\d+)/(\d+)$")


def bare_etag(etag: str | None) -> str:
    """An etag without its quotes, as manifests hold it; empty where there is none."""
    return (etag or "").strip().strip('"')


def _never() -> bool:
    return False


class Transfer:
    """From `begin` on into all of `room`; a `begin` of -1 is the end of the object, as much as `room` holds.

    `done` bytes have arrived. `size` and `etag` are the object's, -1 and empty until they are known. `stopped` is asked
    between chunks, `arrived` told of each.
    """

    def __init__(self, uri: str, name: str, begin: int, room: memoryview, size: int = -1, etag: str = "", *,
                 stopped: Callable[[], bool] = _never, arrived: Callable[[int], None] = lambda _: None) -> None:
        address = parse(uri)
        self._object = {"Bucket": address.bucket, "Key": address.key}
        self._name = name
        self._opening = begin < 0
        self._begin = begin
        self._room = room
        self._count = len(room)
        self._stopped = stopped
        self._arrived = arrived
        self.size = size
        self.etag = etag
        self.done = 0
        self._chunk = _CHUNK

    @property
    def complete(self) -> bool:
        return self._begin >= 0 and self.done == self._count

    def attempt(self, client: Any) -> None:
        """One request; returns when it gave all it could, raises what boto3 does or `Refused`."""
        try:
            response = client.get_object(**self._object, Range=self._range(), **self._condition())
        except client.exceptions.ClientError as error:
            if self._begin < 0 and error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 416:
                self._learn_size(client.head_object(**self._object, **self._condition()))
                return
            raise
        body = response["Body"]
        try:
            if self._accept(response):
                self._receive(body)
        except Exception:
            # What arrived of a chunk is lost when it breaks off: smaller ones get through a connection that is worse.
            self._chunk = max(self._chunk // 4, _LEAST_CHUNK)
            raise
        finally:
            # Not back to the pool with bytes of ours still in it; whole bodies went back by themselves.
            if not self.complete or self._count == 0:
                body.close()

    def _range(self) -> str:
        if self._begin < 0:
            return f"bytes=-{self._count}"
        return f"bytes={self._begin + self.done}-{self._begin + self._count - 1}"

    def _condition(self) -> dict[str, str]:
        # A weak etag never matches such a condition; it is compared with the answers all the same.
        return {"IfMatch": f'"{self.etag}"'} if self.etag and not self.etag.startswith("W/") else {}

    def _accept(self, response: dict[str, Any]) -> bool:
        """Checks that the answer is of the object and the bytes asked for; False where it is of no use, but no harm."""
        etag = bare_etag(response.get("ETag"))
        name = self._name
        if self.etag and etag and etag != self.etag:
            raise Refused(changed(name, "its etag is another one", f"expected {self.etag}, found {etag}"))
        found = _RANGE.match(response.get("ContentRange", ""))
        if found:
            first, last, size = (int(text) for text in found.groups())
        else:  # the server sends the whole object, whatever was asked for
            size = int(response["ContentLength"])
            first, last = 0, size - 1
        if self.size >= 0 and size != self.size:
            raise Refused(changed(name, "its size is another one", f"expected {self.size:,} bytes, found {size:,}"))
        self.etag, self.size = etag or self.etag, size
        if self._begin < 0:
            self._begin = max(0, size - self._count)
            self._count = size - self._begin
        if first != self._begin + self.done:
            if found:
                raise Refused(Failure("E-STORE-008", f"`{name}` could not be read: byte {self._begin + self.done} was "
                                                     f"asked for, and byte {first} was sent"))
            if self.done == 0 and self._opening:
                self._begin, self._count = size, 0   # an opening wants no more than to know the size
                return False
            raise Refused(Failure("E-STORE-008", f"`{name}` could not be read: its store sends whole objects only"))
        return last >= first

    def _learn_size(self, head: dict[str, Any]) -> None:
        """Of an object without bytes, which has no range that could be asked for."""
        self.size, self.etag = int(head["ContentLength"]), bare_etag(head.get("ETag"))
        self._begin, self._count = self.size, 0

    def _receive(self, body: Any) -> None:
        while not self.complete and not self._stopped():
            chunk = body.read(min(self._chunk, self._count - self.done))
            if not chunk:
                return
            self._room[self.done:self.done + len(chunk)] = chunk
            self.done += len(chunk)
            self._arrived(len(chunk))
