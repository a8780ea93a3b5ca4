"""Manifests in S3, of shards in S3: written, read, checked, and no more requests than they need."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dataio_helpers import ID_FIELDS, diagnostic_of, read_ids, write_ids
from fault_proxy import NONE, Fault, FaultProxy
from s3_server import Server
from sexpgpu.cli.sexpc import main
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio import Loader, LoaderSpec, ManifestSource, StageSpec

SHARDS = 30


@pytest.fixture
def prefix(server: Server, proxy: FaultProxy, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Thirty shards of a hundred rows and one of another kind, under a prefix of the test's own."""
    name = f"m-{request.node.name.split('[')[0]}"
    for i, path in enumerate(write_ids(tmp_path, [[60, 40]] * SHARDS)):
        server.put(f"{name}/train-{i:03}.parquet", tmp_path / path)
    server.put(f"{name}/readme.txt", b"no data")
    return f"s3://data/{name}"


def spec(uri: str, batch: int = 100) -> LoaderSpec:
    return LoaderSpec(ID_FIELDS, (StageSpec("main", (ManifestSource(uri, "train", None, None),)),), batch)


def test_a_prefix_becomes_a_manifest_in_the_bucket(prefix: str, server: Server, proxy: FaultProxy,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifest", f"{prefix}/", "-o", f"{prefix}/manifest.json"]) == 0
    key = prefix.removeprefix("s3://data/")
    data = json.loads(server.client.get_object(Bucket="data", Key=f"{key}/manifest.json")["Body"].read())
    shards = data["splits"]["train"]["shards"]
    assert [s["uri"] for s in shards] == [f"train-{i:03}.parquet" for i in range(SHARDS)]
    for shard in shards[:3]:
        head = server.client.head_object(Bucket="data", Key=f"{key}/{shard['uri']}")
        assert (shard["bytes"], f'"{shard["etag"]}"') == (head["ContentLength"], head["ETag"])
        assert [b[3] for b in shard["blocks"]] == [60, 40]
    assert main(["manifest", "--check", f"{prefix}/manifest.json"]) == 0
    assert capsys.readouterr().out.endswith("as listed: 30 files in `train`\n")
    with Loader(spec(f"{prefix}/manifest.json")) as loader:
        assert read_ids(loader) == list(range(SHARDS * 100))


def test_the_first_batch_takes_one_manifest_and_a_few_heads(prefix: str, proxy: FaultProxy, tmp_path: Path) -> None:
    out = str(tmp_path / "m.json")
    assert main(["manifest", f"{prefix}/train-*.parquet", "-o", out]) == 0
    assert json.loads(Path(out).read_text())["splits"]["train"]["shards"][0]["uri"] == f"{prefix}/train-000.parquet"
    proxy.requests.clear()
    with Loader(spec(out), threads=1, prefetch=1, lookahead=1) as loader:
        assert loader.rows == SHARDS * 100
        assert read_ids(loader, 1) == list(range(100))
        asked = {r.path for r in proxy.requests}
    assert len(asked) < 12
    assert all(r.headers["If-Match"] for r in proxy.requests if r.method == "GET")


def test_a_shard_of_another_etag_is_refused(prefix: str, server: Server, proxy: FaultProxy, tmp_path: Path) -> None:
    assert main(["manifest", f"{prefix}/", "-o", f"{prefix}/m.json"]) == 0
    (tmp_path / "new").mkdir()
    [name] = write_ids(tmp_path / "new", [[60, 40]])
    data = bytearray((tmp_path / "new" / name).read_bytes())
    data[10] ^= 1  # the same size, and whatever a page without a checksum may hide
    server.put(f"{prefix.removeprefix('s3://data/')}/train-020.parquet", bytes(data))
    with pytest.raises(SexpError) as caught, Loader(spec(f"{prefix}/m.json")) as loader:
        read_ids(loader)
    d = diagnostic_of(caught)
    assert d.code == "E-STORE-007" and "train-020.parquet" in d.message


def test_a_command_goes_on_through_failures(prefix: str, proxy: FaultProxy, tmp_path: Path) -> None:
    faults = [Fault(status=503, code="SlowDown"), Fault(cut_at=100, reset=True), Fault(cut_at=3)]
    proxy.plan = lambda r: faults[r.number % 3] if r.number % 4 == 0 else NONE
    assert main(["manifest", f"{prefix}/", "-o", f"{prefix}/manifest.json"]) == 0
    assert main(["manifest", f"{prefix}/train-00*.parquet", "--sha256", "-o", str(tmp_path / "few.json")]) == 0
    few = json.loads((tmp_path / "few.json").read_text())["splits"]["train"]
    assert few["records"] == 1000 and all(len(s["sha256"]) == 64 for s in few["shards"])


def test_nothing_under_a_prefix(prefix: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifest", f"{prefix}/none/", "-o", "/dev/null/m.json"]) == 3
    assert "no files of a known encoding" in capsys.readouterr().err
    assert main(["manifest", "s3://nobucket/", "-o", "/dev/null/m.json"]) == 3
    assert "E-STORE-001" in capsys.readouterr().err
