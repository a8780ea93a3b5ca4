"""A proxy in front of a real S3 server that makes it fail as networks and stores do.

It reads a request, asks the plan what shall happen to it, and passes on what the server says, whole or maimed. It is
plain sockets and threads, so that it can break a connection at any byte.
"""

from __future__ import annotations

import http.client
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to one answer.

    `status` and `code` answer in the server's place, with `headers`. `cut_at` is the byte of the body at which the
    connection is `reset` or just closed. `declared` is whether a cut body states its true length: one that does not
    looks whole. `delay` seconds come before the answer. `hang` never goes on, from the head or from `cut_at` on.
    `etag` replaces the server's. `whole` hides the range from the server.
    """

    status: int = 0
    code: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    extra: str = ""
    cut_at: int = -1
    reset: bool = False
    declared: bool = True
    delay: float = 0.0
    hang: bool = False
    etag: str = ""
    whole: bool = False


NONE = Fault()


@dataclass(slots=True)
class Request:
    """One request as it came; `number` counts them, `object_number` those of its path."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""
    number: int = 0
    object_number: int = 0


@dataclass(slots=True)
class FaultProxy:
    """Listens on `url`; `plan` is asked for every request, on any thread, and may be replaced while it runs.
    `at_once` counts the requests that are being answered."""

    upstream: tuple[str, int]
    plan: Callable[[Request], Fault] = lambda _: NONE
    requests: list[Request] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    _server: socket.socket = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _open: set[socket.socket] = field(default_factory=set)
    _closed: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0), backlog=128)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.getsockname()[1]}"

    def close(self) -> None:
        self._closed.set()
        self._server.close()
        with self._lock:
            for sock in self._open:
                _shut(sock)

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            reader = client.makefile("rb")
            while (request := _read_request(reader, client)) is not None:
                with self._lock:
                    request.number = len(self.requests)
                    request.object_number = sum(r.path == request.path for r in self.requests)
                    self.requests.append(request)
                    self.at_once += 1
                    self.most_at_once = max(self.most_at_once, self.at_once)
                try:
                    goes_on = self._answer(client, request, self.plan(request))
                finally:
                    with self._lock:
                        self.at_once -= 1
                if not goes_on:
                    break
        except OSError:
            pass
        finally:
            with self._lock:
                self._open.discard(client)
            client.close()

    def _answer(self, client: socket.socket, request: Request, fault: Fault) -> bool:
        """Whether the connection goes on."""
        if fault.delay:
            self._closed.wait(fault.delay)
        if fault.hang and fault.cut_at < 0:
            self._closed.wait()
            return False
        if fault.status:
            body = (f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{fault.code}</Code>'
                    f"<Message>the proxy says so</Message>{fault.extra}</Error>").encode()
            if request.method == "HEAD":
                body = b""
            lines = [f"HTTP/1.1 {fault.status} Fault", "Content-Type: application/xml", f"Content-Length: {len(body)}",
                     *(f"{k}: {v}" for k, v in fault.headers)]
            client.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            return True
        status, headers, body = self._ask(_without_range(request) if fault.whole else request)
        if fault.etag:
            headers = [(k, v) for k, v in headers if k.lower() != "etag"] + [("ETag", fault.etag)]
        if request.method == "HEAD":  # there is no body that could be maimed
            fault = NONE
        cut = fault.cut_at if 0 <= fault.cut_at < len(body) else len(body)
        if not fault.declared:
            headers = [(k, str(cut) if k.lower() == "content-length" else v) for k, v in headers]
        client.sendall("\r\n".join([status, *(f"{k}: {v}" for k, v in headers)]).encode() + b"\r\n\r\n" + body[:cut])
        if cut == len(body) or not fault.declared:
            return True
        if fault.hang:
            self._closed.wait()
        if fault.reset:
            time.sleep(0.01)  # what was sent should arrive before the reset overtakes it
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def _ask(self, request: Request) -> tuple[str, list[tuple[str, str]], bytes]:
        """What the server says."""
        server = http.client.HTTPConnection(*self.upstream)
        with closing(server):
            server.putrequest(request.method, request.path, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers.items():
                if name.lower() not in ("connection", "expect"):
                    server.putheader(name, value)
            server.endheaders(request.body)
            answer = server.getresponse()
            body = answer.read()
            length = answer.getheader("Content-Length", "0") if request.method == "HEAD" else str(len(body))
        kept = [(k, v) for k, v in answer.getheaders()
                if k.lower() not in ("connection", "transfer-encoding", "content-length")]
        return f"HTTP/1.1 {answer.status} {answer.reason}", [*kept, ("Content-Length", length)], body


def _without_range(request: Request) -> Request:
    return replace(request, headers={k: v for k, v in request.headers.items() if k.lower() != "range"})


def _read_request(reader: object, client: socket.socket) -> Request | None:
    line = reader.readline().decode("latin-1").strip()  # type: ignore[attr-defined]
    if not line:
        return None
    method, path, _ = line.split(" ")
    headers = dict(_read_fields(reader))
    body = int(next((v for k, v in headers.items() if k.lower() == "content-length"), 0))
    if body and any(k.lower() == "expect" for k in headers):
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    return Request(method, path, headers, reader.read(body) if body else b"")  # type: ignore[attr-defined]


def _read_fields(reader: object) -> list[tuple[str, str]]:
    fields = []
    while line := reader.readline().decode("latin-1").strip():  # type: ignore[attr-defined]
        name, _, value = line.partition(":")
        fields.append((name, value.strip()))
    return fields


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
