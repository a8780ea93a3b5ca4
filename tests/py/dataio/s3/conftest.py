"""Two S3 servers that have nothing in common but the protocol, on loopback: moto (Python) and rclone (Go)."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from fault_proxy import FaultProxy
from s3_server import KEYS, Server
from sexpgpu.runtime.dataio.remote import persist, retry, worker


@pytest.fixture(scope="session")
def moto_server() -> Iterator[Server]:
    moto = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    started = Server("moto", *server.get_host_and_port())
    started.client.create_bucket(Bucket="data")
    yield started
    server.stop()


@pytest.fixture(scope="session")
def rclone_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    beside = Path(sys.executable).with_name("rclone")
    program = str(beside) if beside.exists() else shutil.which("rclone")
    if program is None:
        pytest.skip("rclone is not installed")
    folder = tmp_path_factory.mktemp("rclone")
    (folder / "data").mkdir()
    log = folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [program, "serve", "s3", str(folder), "--addr", "127.0.0.1:0", "--auth-key", ",".join(KEYS),
             "--vfs-cache-mode", "off", "--config", os.devnull], stdout=out, stderr=out)
    try:
        port = 0
        for _ in range(200):
            text = log.read_text()
            if "127.0.0.1:" in text:
                port = int(text.rsplit("127.0.0.1:", 1)[1].split("/")[0].split()[0].strip("]"))
                break
            time.sleep(0.05)
        assert port, log.read_text()
        yield Server("rclone", "127.0.0.1", port)
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture(params=["moto", "rclone"])
def server(request: pytest.FixtureRequest) -> Server:
    """Each of the two."""
    return request.getfixturevalue(f"{request.param}_server")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Credentials of the tests, and nothing of the machine's own."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {"AWS_ACCESS_KEY_ID": KEYS[0], "AWS_SECRET_ACCESS_KEY": KEYS[1], "AWS_REGION": "us-east-1",
                        "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": str(tmp_path / "no-config"),
                        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "no-credentials")}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries without long waits."""
    policy = retry.RetryPolicy(tries=8, budget=400, first=0.001, longest=0.02, connect_timeout=2, read_timeout=1)
    for module in (worker, persist):
        monkeypatch.setattr(module, "default_policy", lambda: policy)


@pytest.fixture
def proxy(server: Server, monkeypatch: pytest.MonkeyPatch, quick: None) -> Iterator[FaultProxy]:
    """In front of each server, and what the loader is told to use."""
    made = FaultProxy((server.host, server.port))
    monkeypatch.setenv("AWS_ENDPOINT_URL", made.url)
    yield made
    with suppress(OSError):
        made.close()
