"""Endpoints, regions and credentials: the standard AWS chain, as a user would set it."""

from __future__ import annotations

import json
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from dataio_helpers import diagnostic_of, id_spec, read_ids, write_ids
from fault_proxy import NONE, Fault, FaultProxy, Request
from s3_server import KEYS, Server
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio import Loader, LoaderSpec


@pytest.fixture
def spec(server: Server, tmp_path: Path) -> LoaderSpec:
    [name] = write_ids(tmp_path, [[500]])
    return id_spec(Path("/nowhere"), [server.put("access/a.parquet", tmp_path / name)], batch=10)


def rows(spec: LoaderSpec) -> list[int]:
    with Loader(spec) as loader:
        return read_ids(loader)


def access_key(request: Request) -> str:
    return request.headers["Authorization"].split("Credential=")[1].split("/")[0]


def region(request: Request) -> str:
    return request.headers["Authorization"].split("Credential=")[1].split("/")[2]


def profile(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    path = folder / "config"
    path.write_text(textwrap.dedent(text))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(path))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_endpoint_of_the_environment(spec: LoaderSpec, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch,
                                     name: str) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    monkeypatch.setenv(name, proxy.url)
    assert rows(spec) == list(range(500))
    assert {r.path for r in proxy.requests} == {"/data/access/a.parquet"}  # path style


def test_the_endpoint_of_s3_goes_before_the_common_one(spec: LoaderSpec, proxy: FaultProxy,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert rows(spec) == list(range(500))


def test_endpoint_and_keys_of_a_profile(spec: LoaderSpec, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch,
                                        tmp_path: Path) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    profile(tmp_path, monkeypatch, f"""
        [profile lab]
        endpoint_url = {proxy.url}
        aws_access_key_id = {KEYS[0]}
        aws_secret_access_key = {KEYS[1]}
        region = eu-west-3
        """)
    monkeypatch.delenv("AWS_REGION")
    monkeypatch.setenv("AWS_PROFILE", "lab")
    assert rows(spec) == list(range(500))
    assert {region(r) for r in proxy.requests} == {"eu-west-3"}
    monkeypatch.setenv("AWS_PROFILE", "none")
    with pytest.raises(SexpError) as caught:
        Loader(spec)
    assert diagnostic_of(caught).code == "E-STORE-022"


def test_wrong_keys_are_refused(rclone_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a server that looks at signatures."""
    [name] = write_ids(tmp_path, [[500]])
    spec = id_spec(tmp_path, [rclone_server.put("access/a.parquet", tmp_path / name)], batch=10)
    monkeypatch.setenv("AWS_ENDPOINT_URL", rclone_server.url)
    assert rows(spec) == list(range(500))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(SexpError) as caught:
        Loader(spec)
    assert diagnostic_of(caught).code in ("E-STORE-002", "E-STORE-022")


def test_without_credentials(spec: LoaderSpec, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(SexpError) as caught:
        Loader(spec)
    d = diagnostic_of(caught)
    assert d.code == "E-STORE-022" and d.fix is not None and "AWS_NO_SIGN_REQUEST" in d.fix.text
    assert proxy.requests == []


def test_public_buckets_need_none(moto_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [name] = write_ids(tmp_path, [[500]])
    spec = id_spec(tmp_path, [moto_server.put("access/a.parquet", tmp_path / name)], batch=10)
    moto_server.client.put_object_acl(Bucket="data", Key="access/a.parquet", ACL="public-read")
    proxy = FaultProxy((moto_server.host, moto_server.port))
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_NO_SIGN_REQUEST", "true")
    assert rows(spec) == list(range(500))
    assert all("Authorization" not in r.headers for r in proxy.requests)
    proxy.close()


def test_an_expired_token_is_resolved_again(spec: LoaderSpec, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch,
                                            tmp_path: Path) -> None:
    """The keys in the credentials file are replaced while the loader runs, as by a cron job or a sidecar."""
    keys = tmp_path / "credentials"
    text = "[default]\naws_access_key_id = {}\naws_secret_access_key = {}\n"
    keys.write_text(text.format("OLD", "old"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(keys))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    def plan(request: Request) -> Fault:
        if access_key(request) != "OLD":
            return NONE
        keys.write_text(text.format(*KEYS))
        return Fault(status=400, code="ExpiredToken")

    proxy.plan = plan
    with Loader(spec) as loader:
        assert read_ids(loader) == list(range(500))
        assert loader.stats().retries >= 1
    assert access_key(proxy.requests[0]) == "OLD" and access_key(proxy.requests[-1]) == KEYS[0]


def test_credentials_are_refreshed_before_they_expire(spec: LoaderSpec, proxy: FaultProxy, tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """A `credential_process` whose first keys are about to expire is asked again, and nothing is refused."""
    count = tmp_path / "count"
    count.write_text("0")

    def answer(minutes: int) -> dict[str, object]:
        return {"Version": 1, "AccessKeyId": KEYS[0], "SecretAccessKey": KEYS[1],
                "Expiration": (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()}

    script = tmp_path / "keys.py"
    script.write_text(textwrap.dedent(f"""
        import json, pathlib
        count = pathlib.Path({str(count)!r})
        number = int(count.read_text())
        count.write_text(str(number + 1))
        print(json.dumps([{json.dumps(answer(1))}, {json.dumps(answer(600))}][min(number, 1)]))
        """))
    profile(tmp_path, monkeypatch, f"""
        [default]
        credential_process = {sys.executable} {script}
        """)
    with Loader(spec) as loader:
        assert read_ids(loader) == list(range(500))
        assert loader.stats().retries == 0
    assert int(count.read_text()) == 2


def test_the_region_of_a_bucket_is_learned(spec: LoaderSpec, proxy: FaultProxy) -> None:
    """S3 tells the region when a request was signed for another, and is asked once."""
    def plan(request: Request) -> Fault:
        if "Authorization" in request.headers and region(request) == "eu-central-1":
            return NONE
        return Fault(status=400, code="AuthorizationHeaderMalformed", extra="<Region>eu-central-1</Region>",
                     headers=(("x-amz-bucket-region", "eu-central-1"),))

    proxy.plan = plan
    assert rows(spec) == list(range(500))
    wrong = [r for r in proxy.requests if region(r) != "eu-central-1"]
    assert 1 <= len(wrong) <= 2
