"""What files hold: many of them at once, looked at by the native readers."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from sexpgpu.diagnostics import Diagnostic, SexpError
from sexpgpu.runtime.dataio.core import StopFlag, peek, survey
from sexpgpu.runtime.dataio.located import SourceFile
from sexpgpu.runtime.dataio.manifest.model import Block, Shard
from sexpgpu.runtime.dataio.remote.address import is_s3
from sexpgpu.runtime.dataio.spec import FieldSpec

if TYPE_CHECKING:
    from sexpgpu.runtime.dataio.remote.worker import Workers

_HASH_BYTES = 8 << 20
_PATIENCE = 0.1

T = TypeVar("T")


class Surveyor:
    """Counts records and hashes bytes, on several threads that end with `survey`.

    With `heads`, no file is read through: its records are -1 where its head does not tell them. `done` and `bytes` tell
    how far it is, to whoever shows it.
    """

    def __init__(self, threads: int, digest: bool = False, heads: bool = False) -> None:
        self._threads, self._digest, self._heads = threads, digest, heads
        self._stop = StopFlag()
        if heads:
            self._stop.set()  # what a head tells is there before the counting begins
        self._stopped = threading.Event()
        self.done = 0
        self.bytes = 0

    def survey(self, files: Sequence[SourceFile]) -> list[Shard]:
        """A shard for each file, its `uri` the file's path. Raises what is wrong with any of them, all at once."""
        shards, problems = self.look(files)
        if problems:
            raise SexpError(*problems)
        return [shards[i] for i in range(len(files))]

    def look(self, files: Sequence[SourceFile]) -> tuple[dict[int, Shard], list[Diagnostic]]:
        """The shards of the files that can be read, by their places in the list, and what is wrong with the others."""
        shards: dict[int, Shard] = {}
        problems: list[Diagnostic] = []
        for i, result in _on_threads(files, self._threads, self._one, self._end):
            if isinstance(result, SexpError):
                problems += result.diagnostics
                continue
            shards[i] = result
            self.done += 1
            self.bytes += result.bytes
        return shards, problems

    def _end(self) -> None:
        self._stop.set()
        self._stopped.set()

    def _one(self, file: SourceFile, fetches: Workers | None) -> Shard:
        queue = None if fetches is None else fetches.queue
        size, version, found = survey(file.path, file.name, file.encoding, queue, self._stop)
        blocks, first, end = [], 0, 0
        for offset, length, records in found:
            blocks.append(Block(offset if records else end, length, first, records))
            first, end = first + records, blocks[-1].offset + length
        if any(b.offset + b.length > c.offset for b, c in pairwise(blocks)):
            blocks = []  # row groups in another order than their bytes: such a file is opened before its turn
        digest = self._hash(file) if self._digest else ""
        if self._heads and file.encoding != "parquet":
            first, blocks = -1, []
        return Shard(file.path, file.encoding, size, first, version, digest, tuple(blocks))

    def _hash(self, file: SourceFile) -> str:
        digest = hashlib.sha256()
        for chunk in chunks_of(file):
            if self._stopped.is_set():
                break
            digest.update(chunk)
        return digest.hexdigest()


def peek_at(files: Sequence[SourceFile], fields: Sequence[FieldSpec], threads: int = 8) -> dict[int, SexpError]:
    """Opens every file and reads its first records as the fields want them: what is wrong, by places in the list."""
    wanted = [(f.name, f.column, f.dtype, list(f.shape)) for f in fields]

    def one(file: SourceFile, fetches: Workers | None) -> None:
        peek(file.path, file.name, file.encoding, wanted, None if fetches is None else fetches.queue)

    return {i: result for i, result in _on_threads(files, threads, one, lambda: None) if isinstance(result, SexpError)}


def _on_threads(files: Sequence[SourceFile], threads: int, work: Callable[[SourceFile, Workers | None], T],
                end: Callable[[], None]) -> Iterator[tuple[int, T | SexpError]]:
    """What `work` gives or raises for each file, by its place in the list, as it comes. Whatever interrupts the caller
    ends the threads: `end` is called, and what they wait for from S3 is hung up."""
    with _fetching(files) as fetches, ThreadPoolExecutor(threads) as pool:
        futures: dict[Future[T], int] = {}
        try:
            futures = {pool.submit(work, file, fetches): i for i, file in enumerate(files)}
            left = set(futures)
            while left:
                finished, left = wait(left, _PATIENCE, FIRST_COMPLETED)
                for future in finished:
                    try:
                        yield futures[future], future.result()
                    except SexpError as problem:
                        yield futures[future], problem
        except BaseException:
            end()
            for future in futures:
                future.cancel()
            if fetches is not None:
                fetches.close()
            raise


def chunks_of(file: SourceFile) -> Iterator[bytes | bytearray]:
    """All bytes of a file, near or far."""
    if is_s3(file.path):
        from sexpgpu.runtime.dataio.remote.persist import chunks_of_object

        yield from chunks_of_object(file.path, file.name, _HASH_BYTES)
        return
    with open(file.path, "rb") as opened:
        while chunk := opened.read(_HASH_BYTES):
            yield chunk


@contextmanager
def _fetching(files: Sequence[SourceFile]) -> Iterator[Workers | None]:
    """Threads for the files that lie in S3, or None."""
    if not any(is_s3(f.path) for f in files):
        yield None
        return
    from sexpgpu.runtime.dataio.remote.worker import Workers

    workers = Workers()
    try:
        yield workers
    finally:
        workers.close()
