"""Threads, signals, forks and the end of the process, while S3 answers and while it hangs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from dataio_helpers import (
    FOR_EVER,
    SOON,
    id_spec,
    interrupted,
    no_thread_is_left_but,
    read_ids,
    soon,
    threads,
    write_ids,
)
from fault_proxy import NONE, Fault, FaultProxy
from s3_server import Server
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio import Loader, LoaderSpec
from sexpgpu.runtime.dataio.core import _native
from sexpgpu.runtime.dataio.remote import persist, retry, worker


@pytest.fixture
def server(moto_server: Server) -> Server:
    return moto_server


@pytest.fixture
def spec(server: Server, tmp_path: Path) -> LoaderSpec:
    names = write_ids(tmp_path, [[20_000], [20_000]])
    return id_spec(Path("/nowhere"), [server.put(f"life/{n}", tmp_path / n) for n in names], batch=100, shuffle=50,
                   infinite=True)


@pytest.fixture
def patient(proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch) -> FaultProxy:
    """Timeouts so long that nothing but the loader's own doing ends a hang."""
    be_patient(monkeypatch)
    return proxy


def be_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = retry.RetryPolicy(connect_timeout=FOR_EVER, read_timeout=FOR_EVER)
    monkeypatch.setattr(worker, "default_policy", lambda: policy)


def ours() -> bool:
    """Whether a thread of a loader's runs."""
    return any(t.name.startswith("sexpgpu-s3") for t in threading.enumerate())


def they_end() -> None:
    until = time.monotonic() + SOON
    while ours():
        assert time.monotonic() < until
        time.sleep(0.02)


def after(seconds: float) -> Callable[[], bool]:
    until = time.monotonic() + seconds
    return lambda: time.monotonic() >= until


def hang_after_opening(proxy: FaultProxy) -> None:
    proxy.plan = lambda request: NONE if request.headers.get("Range") == "bytes=-65536" else Fault(hang=True)


def test_no_thread_is_left(spec: LoaderSpec, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """At an endpoint without a server, since the test's own have threads that come and go."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    before = threads()
    for _ in range(4):
        with pytest.raises(SexpError):
            Loader(spec)
        assert no_thread_is_left_but(before)


def test_no_thread_of_ours_is_left_when_s3_hangs(spec: LoaderSpec, patient: FaultProxy) -> None:
    hang_after_opening(patient)
    for _ in range(3):
        with soon(), Loader(spec):
            time.sleep(0.2)
            assert ours()
        assert not ours()


def test_a_loader_that_is_refused_leaves_no_thread(spec: LoaderSpec, proxy: FaultProxy) -> None:
    with Loader(spec) as loader:
        cursor = loader.state() | {"fields": "others"}
    for options in ({"world": 1_000_000}, {"cursor": cursor}, {"cursor": {}}):
        with pytest.raises(SexpError):
            Loader(spec, **options)  # type: ignore[arg-type]
        assert not ours()


def test_a_restore_leaves_a_hang_behind(spec: LoaderSpec, patient: FaultProxy) -> None:
    with Loader(spec, seed=3) as loader:
        first = read_ids(loader, 3)
        hang_after_opening(patient)
        loader.restore(loader.state())
        time.sleep(0.2)
        patient.plan = lambda _: NONE
        loader.rewind()
        assert read_ids(loader, 3) == first


def test_nothing_that_ends_a_hang_waits_for_long() -> None:
    """What stands between Ctrl-C and the end of a loader, by construction; `bench/interrupt.py` measures it."""
    assert _native.PATIENCE_MS / 1000 + worker._LOST + worker._LOOK < 0.2


@pytest.fixture
def deaf() -> Iterator[str]:
    """An endpoint where nobody accepts and the queue is full: connecting hangs."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as waiting:
        for _ in range(4):
            each = waiting.enter_context(socket.socket())
            each.setblocking(False)
            each.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_ctrl_c_while_connecting_hangs(spec: LoaderSpec, deaf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", deaf)
    be_patient(monkeypatch)
    monkeypatch.setattr(worker, "_JOIN", FOR_EVER)   # the wait for a thread that can be reached: here is none
    with interrupted(after(0.7)):
        Loader(spec)


def test_who_has_no_connection_yet_asks_nothing_any_more(spec: LoaderSpec, patient: FaultProxy,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that make their client while the loader is closed: a request of theirs would hang."""
    patient.plan = lambda _: Fault(hang=True)
    made = persist.shared_client
    free = threading.Event()

    def slow(policy: retry.RetryPolicy) -> object:
        client = made(policy)
        free.wait(SOON)
        return client

    monkeypatch.setattr(persist, "shared_client", slow)
    with interrupted(after(0.3)):
        Loader(spec)
    free.set()
    they_end()
    assert not patient.requests


@pytest.mark.parametrize("where", ["opening", "reading"])
def test_ctrl_c_while_s3_hangs(spec: LoaderSpec, patient: FaultProxy, where: str) -> None:
    if where == "opening":
        patient.plan = lambda _: Fault(hang=True)
    else:
        hang_after_opening(patient)
    with interrupted(after(0.5)), Loader(spec) as loader:
        loader.next()
    # On a busy machine one may have been caught while it made its client: it sees by itself that nobody waits.
    they_end()


def child(spec: LoaderSpec, code: str) -> subprocess.Popen[str]:
    """A process that is as patient as `patient`."""
    head = textwrap.dedent(f"""
        from sexpgpu.runtime.dataio import Loader, LoaderSpec
        from sexpgpu.runtime.dataio.remote import retry, worker
        worker.default_policy = lambda: retry.RetryPolicy(connect_timeout={FOR_EVER}, read_timeout={FOR_EVER})
        spec = LoaderSpec.from_json({spec.to_json()!r})
        """)
    return subprocess.Popen([sys.executable, "-c", head + textwrap.dedent(code)], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=dict(os.environ))


@pytest.mark.parametrize("end", ["", "raise SystemExit(0)", "del loader", "loader.close()"])
def test_a_process_ends_while_s3_hangs(spec: LoaderSpec, proxy: FaultProxy, end: str) -> None:
    hang_after_opening(proxy)
    process = child(spec, f"import time\nloader = Loader(spec)\ntime.sleep(0.3)\nprint('made', flush=True)\n{end}")
    assert process.stdout is not None and process.stdout.readline() == "made\n"
    _, errors = process.communicate(timeout=SOON)
    assert process.returncode == 0 and errors == ""


def test_a_process_is_interrupted_while_s3_hangs(spec: LoaderSpec, proxy: FaultProxy) -> None:
    hang_after_opening(proxy)
    process = child(spec, """
        loader = Loader(spec)
        print("made", flush=True)
        try:
            loader.next()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """)
    assert process.stdout is not None and process.stdout.readline() == "made\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=SOON)
    assert out == "interrupted\n" and errors == "" and process.returncode == 0


def test_a_forked_child_reads_with_a_loader_of_its_own(spec: LoaderSpec, proxy: FaultProxy) -> None:
    process = child(spec, """
        import os
        loader = Loader(spec, seed=3)
        first = loader.next()
        pid = os.fork()
        if pid == 0:
            again = Loader(spec, cursor=first.cursor)
            assert again.next().arrays["id"].shape == (100,)
            again.close()
            loader.close()
            raise SystemExit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert loader.next() is not None
        """)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors


def test_python_goes_on_while_bytes_arrive(spec: LoaderSpec, proxy: FaultProxy) -> None:
    """The native threads never need the GIL to end, and Python's threads run while they wait."""
    proxy.plan = lambda _: Fault(delay=0.05)
    ran = threading.Event()
    with Loader(spec) as loader:
        thread = threading.Thread(target=ran.set)
        thread.start()
        assert len(read_ids(loader, 20)) == 2000
        assert ran.is_set()
        thread.join()
