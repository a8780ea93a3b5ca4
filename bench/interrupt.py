"""How long after Ctrl-C a loader whose S3 hangs is gone: its wait ended, its threads joined.

    python bench/interrupt.py [--turns 10]

A server on loopback speaks as much S3 as a hang needs. For each way to hang a child process makes a loader and waits
for a batch; it is sent SIGINT at a random moment, and tells on the system's monotonic clock when the wait had ended
(`KeyboardInterrupt`) and when the loader was closed. A busy machine adds what it takes until the process is scheduled.
The interpreter's own end comes after that and is not counted.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CHILD = """
import os, time
import pyarrow.parquet
from sexpgpu.runtime.dataio import FieldSpec, FilesSource, Loader, LoaderSpec, StageSpec
import sexpgpu.runtime.dataio.remote.worker
stage = StageSpec("main", (FilesSource(("s3://bucket/rows.parquet",), "parquet"),), 0, True)
spec = LoaderSpec((FieldSpec("x", "x", "i64", ()),), (stage,), 64)
print("ready", flush=True)
try:
    with Loader(spec, threads=2) as loader:
        try:
            for _ in loader:
                pass
        except KeyboardInterrupt:
            ended = time.monotonic()
            raise
except KeyboardInterrupt:
    closed = time.monotonic()
    print(locals().get("ended", closed), closed, flush=True)
os._exit(0)
"""


class Hanging(BaseHTTPRequestHandler):
    """Answers for one object until it is time to hang."""

    data = b""
    when = "opening"
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        unit = self.headers["Range"].removeprefix("bytes=")
        size = len(self.data)
        first, last = (max(0, size - int(unit[1:])), size - 1) if unit.startswith("-") else map(int, unit.split("-"))
        if self.when == "opening" or (self.when == "reading" and not unit.startswith("-")):
            time.sleep(3600)
        self.send_response(206)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        body = self.data[first:last + 1]
        if self.when == "in a body" and not unit.startswith("-"):
            self.wfile.write(body[:len(body) // 2])
            time.sleep(3600)
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def serve(when: str, data: bytes) -> tuple[str, Callable[[], None]]:
    """An endpoint that hangs, and how to end it."""
    if when == "connecting":
        # Nobody accepts, and the queue of those who wait is full: what comes now gets no answer at all.
        listener = socket.create_server(("127.0.0.1", 0), backlog=0)
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(listener.getsockname())

        def end() -> None:
            for each in (*waiting, listener):
                each.close()

        return f"http://127.0.0.1:{listener.getsockname()[1]}", end
    handler = type("Handler", (Hanging,), {"data": data, "when": when})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}", server.shutdown


def measure(endpoint: str) -> tuple[float, float]:
    """Milliseconds from the signal to the end of the wait, and to the closed loader."""
    child = subprocess.Popen([sys.executable, "-c", CHILD], text=True, stdout=subprocess.PIPE,
                             env=os.environ | {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "a",
                                               "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"})
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(1 + random.random())
    sent = time.monotonic()
    child.send_signal(signal.SIGINT)
    ended, closed = map(float, child.stdout.readline().split())
    child.wait()
    return (ended - sent) * 1000, (closed - sent) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=10, help="interrupts of each way to hang (10)")
    options = parser.parse_args()
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(pa.table({"x": list(range(200_000))}), path, row_group_size=1000)
        data = path.read_bytes()
    print(f"{'S3 hangs':12} {'wait ended, ms':>16} {'loader closed, ms':>19}   (median, worst)")
    for when in ("connecting", "opening", "reading", "in a body"):
        endpoint, end = serve(when, data)
        ended, closed = zip(*(measure(endpoint) for _ in range(options.turns)), strict=True)
        end()
        print(f"{when:12} {statistics.median(ended):9.0f}, {max(ended):4.0f} {statistics.median(closed):12.0f}, "
              f"{max(closed):4.0f}")


if __name__ == "__main__":
    main()
