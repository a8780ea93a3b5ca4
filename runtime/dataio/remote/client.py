"""The process's boto3 client: one for all loaders, so that connections are pooled and credentials resolved once.

What the standard AWS chain says holds: environment, profiles, SSO, container and instance roles; AWS_ENDPOINT_URL_S3
and AWS_ENDPOINT_URL; AWS_REGION (the region of a bucket elsewhere is learned from S3's own answer). boto3 refreshes
credentials before they expire. AWS_NO_SIGN_REQUEST reads public buckets without any.

Retries are ours (`retry`), so boto3's are off.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from sexpgpu.runtime.dataio.remote.retry import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Collection

CONNECTIONS = 64
"""Kept open at most: more than a few loaders have workers."""

_lock = threading.Lock()
_client: Any = None
_key: object = None
_connections: WeakSet[Any] = WeakSet()
_thread = threading.local()


def shared_client(policy: RetryPolicy) -> Any:
    """The client; made anew after a fork, or when an AWS variable of the environment has changed."""
    global _client, _key
    key = (os.getpid(), policy, tuple(sorted((k, v) for k, v in os.environ.items() if k.startswith("AWS_"))))
    with _lock:
        if _key != key:
            _client, _key = _made(policy), key
        return _client


def renew(client: Any) -> None:
    """The client's credentials were refused as expired: the next one resolves them again."""
    global _key
    with _lock:
        if client is _client:
            _key = None


@contextmanager
def while_wanted(stopped: Callable[[], bool]) -> Iterator[None]:
    """What this thread asks of a client is not sent any more once `stopped` says so: `hang_up` finds only those that
    have a connection already."""
    _thread.stopped = stopped
    try:
        yield
    finally:
        del _thread.stopped


def _go_on(connection: Any) -> None:
    stopped = getattr(_thread, "stopped", None)
    if stopped is not None and stopped():
        connection.close()
        raise ConnectionAbortedError("nobody wants the answer any more")


def hang_up(threads: Collection[int]) -> set[int]:
    """Ends what these threads (their `ident`s) send or receive; it fails there as a dropped connection. Gives those
    that had a connection to end."""
    ended: set[int] = set()
    for connection in list(_connections):
        sock = connection.sock
        if connection.user in threads and sock is not None:
            # Not the method of an SSL socket, which would take away what the other thread is reading with. The socket
            # may have been closed meanwhile.
            with suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
            ended.add(connection.user)
    return ended


def _made(policy: RetryPolicy) -> Any:
    import boto3
    from botocore import UNSIGNED
    from botocore.config import Config

    session = boto3.Session()
    config = Config(
        connect_timeout=policy.connect_timeout, read_timeout=policy.read_timeout,
        retries={"total_max_attempts": 1, "mode": "standard"}, max_pool_connections=CONNECTIONS, tcp_keepalive=True,
        # A checksum is that of a whole object; a range has none, and a second try begins in the middle.
        response_checksum_validation="when_required",
    )
    if os.environ.get("AWS_NO_SIGN_REQUEST", "").strip().lower() not in ("", "0", "false", "no"):
        config = config.merge(Config(signature_version=UNSIGNED))
    client = session.client("s3", config=config)
    if not client.meta.endpoint_url.removesuffix(".cn").endswith(".amazonaws.com"):
        # Another endpoint than Amazon's mostly has no name for each bucket.
        client = session.client("s3", config=config.merge(Config(s3={"addressing_style": "path"})))
    _track(client)
    return client


def _track(client: Any) -> None:
    """Makes the client's connections known to `hang_up`.

    botocore has no public way to a connection that waits for an answer. Where it is built otherwise than here,
    threads that hang end with their timeout instead, which is the only difference.
    """
    from botocore import awsrequest

    class Tracked:
        user = 0
        sock: socket.socket | None

        def connect(self) -> None:
            self.user = threading.get_ident()
            super().connect()  # type: ignore[misc]
            _go_on(self)

        def request(self, *args: object, **options: object) -> object:
            self.user = threading.get_ident()
            _connections.add(self)
            _go_on(self)
            return super().request(*args, **options)  # type: ignore[misc]

    with suppress(AttributeError):
        classes = client._endpoint.http_session._pool_classes_by_scheme
        for scheme, pool, connection in (
            ("http", awsrequest.AWSHTTPConnectionPool, awsrequest.AWSHTTPConnection),
            ("https", awsrequest.AWSHTTPSConnectionPool, awsrequest.AWSHTTPSConnection),
        ):
            tracked = type(f"Tracked{connection.__name__}", (Tracked, connection), {})
            classes[scheme] = type(f"Tracked{pool.__name__}", (pool,), {"ConnectionCls": tracked})
