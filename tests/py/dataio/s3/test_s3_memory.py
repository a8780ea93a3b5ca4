"""The ceiling on memory, as stated, holds for files in S3 too: over epochs, for huge row groups and for tiny ones."""

from __future__ import annotations

from pathlib import Path

import msgpack
import numpy as np
import pytest
import zstandard
from dataio_helpers import make_spec
from s3_server import Server
from sexpgpu.runtime.dataio import FieldSpec, FilesSource, LoaderSpec, StageSpec
from test_loader_memory import SLACK, run, write_wide

FIELD = FieldSpec("v", "v", "i32", (513,))
ROWS = 12_000


@pytest.fixture
def server(moto_server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto_server.url)
    return moto_server


def check(spec: LoaderSpec, epochs: int, **options: object) -> None:
    """What passes through is several times the ceiling."""
    bound, peak, marks, epoch = run(spec, ROWS * epochs // 64, lookahead=8 << 20, **options)
    assert epoch >= epochs - 1 and ROWS * 513 * 4 * epochs > 2 * bound
    assert peak < bound + SLACK, (peak, bound, marks)


@pytest.mark.parametrize(("row_group", "shuffle"), [(ROWS, 3000), (500, 0), (7, 0)])
def test_ceiling(server: Server, tmp_path: Path, row_group: int, shuffle: int) -> None:
    write_wide(tmp_path / "w.parquet", ROWS, 513, row_group)
    uri = server.put(f"memory/{row_group}.parquet", tmp_path / "w.parquet")
    check(make_spec(tmp_path, [uri], FIELD, batch=64, shuffle=shuffle, infinite=True), 28, threads=1)


def test_ceiling_of_records(server: Server, tmp_path: Path) -> None:
    values = np.arange(ROWS * 513, dtype=np.int32).reshape(ROWS, 513)
    frames = (b"".join(msgpack.packb({"v": row.tobytes()}) for row in values[at:at + 250])
              for at in range(0, ROWS, 250))
    uri = server.put("memory/w.msgpack.zstf", b"".join(map(zstandard.ZstdCompressor(level=1).compress, frames)))
    stage = StageSpec("main", (FilesSource((uri,), "msgpack.zstf"),), 3000, True)
    check(LoaderSpec((FIELD,), (stage,), 64), 58, threads=2)
