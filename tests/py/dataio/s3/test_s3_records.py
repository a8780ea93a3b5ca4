"""Streams of records from S3: read in order and ahead, resumed at a block, whatever the network does."""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_proxy import Fault, FaultProxy
from s3_server import Server
from sexpgpu.cli.sexpc import main
from sexpgpu.runtime.dataio import FilesSource, Loader, LoaderSpec, StageSpec
from test_manifest_records import FIELDS, ids, make, spec
from test_s3_faults import FAULTS, plan_of

ENCODINGS = ["jsonl.gz", "msgpack.zstf", "jsonl"]
ROWS = 400 + 0 + 1 + 900


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("shuffle", [0, 100])
def test_rows_are_those_of_local_files(server: Server, proxy: FaultProxy, tmp_path: Path, encoding: str,
                                       shuffle: int) -> None:
    names = make(tmp_path, encoding)
    uris = tuple(server.put(f"r/{n}", tmp_path / n) for n in names)
    local = LoaderSpec(FIELDS, (StageSpec("main", (FilesSource(tuple(names), encoding),), shuffle),), 10, str(tmp_path))
    far = LoaderSpec(FIELDS, (StageSpec("main", (FilesSource(uris, encoding),), shuffle),), 10, "/nowhere")
    with Loader(local, partial=True) as a:
        expected = ids(a)
    proxy.plan = plan_of(1, 0.4, lambda draw: FAULTS[draw.choice(sorted(FAULTS))](draw))
    with Loader(far, partial=True) as b:
        assert ids(b) == expected
        state = b.state()
    assert sorted(expected) == list(range(ROWS))
    with Loader(far, partial=True, cursor=state) as c:
        assert ids(c) == []


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_manifest_counts_in_the_bucket(server: Server, proxy: FaultProxy, tmp_path: Path, encoding: str) -> None:
    folder = f"rm-{encoding}"
    for name in make(tmp_path, encoding):
        server.put(f"{folder}/{name}", tmp_path / name)
    uri = f"s3://data/{folder}/m.json"
    assert main(["manifest", f"s3://data/{folder}/", "-o", uri]) == 0
    assert main(["manifest", "--check", uri]) == 0
    made = spec(tmp_path, uri, shuffle=50)
    proxy.plan = plan_of(2, 0.3, FAULTS["reset"])
    with Loader(made, partial=True) as loader:
        assert loader.rows == ROWS
        whole = ids(loader)
        for cut in (17, 100):
            loader.rewind()
            before = ids(loader, cut)
            with Loader(made, partial=True, cursor=loader.state()) as again:
                assert before + ids(again) == whole


def test_a_stream_is_read_ahead(moto_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several requests of one file are on their way at once, so that latency is paid once, not for each window."""
    proxy = FaultProxy((moto_server.host, moto_server.port))
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    line = b'{"id": %d, "x": [%d, %d, %d], "text": "' + b"y" * 2000 + b'"}\n'
    data = b"".join(line % (i, i, i, i) for i in range(12_000))
    uri = moto_server.put("ahead/a.jsonl", data)
    made = LoaderSpec(FIELDS, (StageSpec("main", (FilesSource((uri,), "jsonl"),)),), 100, "/nowhere")
    proxy.plan = lambda _: Fault(delay=0.1)
    with Loader(made, threads=1) as loader:
        assert ids(loader) == list(range(12_000))
    proxy.close()
    # Once to count and once to read by a few threads, in parts of 4 MiB.
    assert proxy.most_at_once >= 2 and len(proxy.requests) < 4 * len(data) / (4 << 20) + 12
