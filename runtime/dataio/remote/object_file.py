"""An S3 object as a Python file, for libraries that want one; the loader itself does not use it."""

from __future__ import annotations

import io

from sexpgpu.runtime.dataio.remote.persist import head, read_range


class ObjectFile(io.RawIOBase):
    """Reads by range, one version of the object. Wrap it in a `BufferedReader`."""

    def __init__(self, uri: str, name: str) -> None:
        super().__init__()
        self._uri, self._name = uri, name
        self._size, self._etag = head(uri, name)
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, room: memoryview) -> int:  # type: ignore[override]
        count = min(len(room), max(self._size - self._at, 0))
        if count:
            read_range(self._uri, self._name, self._at, memoryview(room).cast("B")[:count], self._size, self._etag)
            self._at += count
        return count
