"""Manifests: what they may say, and that what they say is held against the shards."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from dataio_helpers import ID_FIELDS, diagnostic_of, read_ids, write_ids
from hypothesis import given, settings
from hypothesis import strategies as st
from sexpgpu.diagnostics import Diagnostic, SexpError
from sexpgpu.runtime.dataio import FilesSource, Loader, LoaderSpec, ManifestSource, StageSpec
from sexpgpu.runtime.dataio.manifest.parse import parse_manifest
from sexpgpu.runtime.dataio.manifest.shards import beside

GROUPS = [[30, 20], [], [7] * 5, [100]]
ROWS = 30 + 20 + 35 + 100


def shard(folder: Path, name: str, *, blocks: bool = True) -> dict[str, Any]:
    """As an independent writer would describe the file: with pyarrow."""
    metadata = pq.ParquetFile(folder / name).metadata
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    table, first = [], 0
    for group in groups:
        columns = [group.column(i) for i in range(group.num_columns)]
        offset = min(c.dictionary_page_offset or c.data_page_offset for c in columns)
        table.append([offset, group.total_byte_size and sum(c.total_compressed_size for c in columns), first,
                      group.num_rows])
        first += group.num_rows
    found: dict[str, Any] = {"uri": name, "encoding": "parquet", "bytes": (folder / name).stat().st_size,
                             "records": metadata.num_rows}
    return found | {"blocks": table} if blocks and table else found


def manifest(folder: Path, *, blocks: bool = True, groups: list[list[int]] = GROUPS) -> dict[str, Any]:
    names = write_ids(folder, groups)
    shards = [shard(folder, n, blocks=blocks) for n in names]
    return {"kind": "sexpgpu.manifest", "version": 1, "name": "ids", "splits": {"train": {
        "records": sum(s["records"] for s in shards), "bytes": sum(s["bytes"] for s in shards), "shards": shards}}}


def spec(folder: Path, data: object, *, batch: int = 10, shuffle: int = 0, **source: Any) -> LoaderSpec:
    (folder / "m.json").write_text(data if isinstance(data, str) else json.dumps(data))
    made = ManifestSource("m.json", source.get("split"), None, source.get("encoding"))
    return LoaderSpec(ID_FIELDS, (StageSpec("main", (made,), shuffle),), batch, str(folder))


def rows(made: LoaderSpec) -> list[int]:
    with Loader(made, partial=True) as loader:
        return read_ids(loader)


def refused(made: LoaderSpec) -> Diagnostic:
    with pytest.raises(SexpError) as caught:
        rows(made)
    return diagnostic_of(caught)


@pytest.mark.parametrize("blocks", [True, False])
@pytest.mark.parametrize("shuffle", [0, 40])
def test_rows_are_those_of_the_files_in_the_listed_order(tmp_path: Path, blocks: bool, shuffle: int) -> None:
    made = spec(tmp_path, manifest(tmp_path, blocks=blocks), shuffle=shuffle)
    names = tuple(f"part-{i}.parquet" for i in range(len(GROUPS)))
    files = LoaderSpec(ID_FIELDS, (StageSpec("main", (FilesSource(names, "parquet"),), shuffle),), 10, str(tmp_path))
    assert rows(made) == rows(files)
    with Loader(made) as loader:
        assert loader.rows == ROWS


def test_what_is_not_said_is_found_out(tmp_path: Path) -> None:
    data = manifest(tmp_path)
    data["splits"]["train"] = {"shards": [{"uri": s["uri"]} for s in data["splits"]["train"]["shards"]],
                               "more": "unknown keys are ignored"}
    assert rows(spec(tmp_path, data)) == list(range(ROWS))


def test_a_manifest_of_many_shards_opens_few(tmp_path: Path) -> None:
    """With block tables the rows are known without a look at the shards: most are not even there yet."""
    data = manifest(tmp_path, groups=[[10]] * 3)
    like = data["splits"]["train"]["shards"][0]
    data["splits"]["train"] = {"shards": [like | {"uri": "part-0.parquet"}] + [
        like | {"uri": f"later-{i}.parquet"} for i in range(20_000)]}
    for i in range(20):
        (tmp_path / f"later-{i}.parquet").write_bytes((tmp_path / "part-0.parquet").read_bytes())
    with Loader(spec(tmp_path, data)) as loader:
        assert loader.rows == 200_010 and len(loader) == 20_001
        assert [read_ids(loader, 1) for _ in range(20)] == [list(range(10))] * 20


def test_splits(tmp_path: Path) -> None:
    data = manifest(tmp_path)
    shards = data["splits"]["train"]["shards"]
    data["splits"] = {"train": {"shards": shards[:1]}, "validation": {"shards": shards[2:]}}
    assert rows(spec(tmp_path, data, split="train")) == list(range(50))
    assert rows(spec(tmp_path, data, split="validation")) == list(range(50, ROWS))
    d = refused(spec(tmp_path, data))
    assert d.code == "E-DATA-031" and d.fix is not None and "`train`, `validation`" in d.fix.text
    d = refused(spec(tmp_path, data, split="trian"))
    assert d.code == "E-DATA-031" and d.fix is not None and "did you mean `train`" in d.fix.text


def test_an_encoding_of_the_source_goes_before_that_of_the_name(tmp_path: Path) -> None:
    data = manifest(tmp_path, groups=[[5]])
    (tmp_path / "part-0.parquet").rename(tmp_path / "part-0.bin")
    data["splits"]["train"]["shards"] = [{"uri": "part-0.bin"}]
    del data["splits"]["train"]["bytes"], data["splits"]["train"]["records"]
    d = refused(spec(tmp_path, data))
    assert d.code == "E-DATA-030" and "part-0.bin" in d.message
    assert rows(spec(tmp_path, data, encoding="parquet")) == list(range(5))


@pytest.mark.parametrize(("where", "value", "code", "tells"), [
    ("records", 51, "E-DATA-032", "51 records, and it has 50"),
    ("blocks", None, "", ""),
    ("bytes", 12, "E-STORE-007", "12 are expected"),
])
def test_a_shard_that_is_another_one(tmp_path: Path, where: str, value: object, code: str, tells: str) -> None:
    data = manifest(tmp_path, blocks=False)
    table = data["splits"]["train"]
    table.pop("records"), table.pop("bytes")
    table["shards"][0][where] = value
    if not code:
        assert rows(spec(tmp_path, data)) == list(range(ROWS))
        return
    d = refused(spec(tmp_path, data))
    assert d.code == code and tells in d.message and "`part-0.parquet`" in d.message
    if code == "E-DATA-032":
        assert "`m.json`" in d.message


def test_blocks_of_another_file(tmp_path: Path) -> None:
    """Found when the shard's turn comes, since it is not opened before; the first few are opened at once."""
    data = manifest(tmp_path, groups=[[10]] * 30)
    for at in (0, 25):
        wrong = copy.deepcopy(data)
        shards = wrong["splits"]["train"]["shards"]
        shards[at]["blocks"][0][3] = shards[at]["records"] = 9
        wrong["splits"]["train"].pop("records")
        with pytest.raises(SexpError) as caught, Loader(spec(tmp_path, wrong), threads=1, prefetch=1) as loader:
            assert at > 0, "the first shard is looked at when the loader is made"
            read_ids(loader)
        d = diagnostic_of(caught)
        assert d.code == "E-DATA-032" and f"`part-{at}.parquet`" in d.message and "`m.json`" in d.message


WRONG = [
    ("", "[]", "kind"),
    ("", "{", "not JSON"),
    ("", "\ufeff{", "not JSON"),
    ("", "[" * 100_000, "nested"),
    ("", '{"kind": NaN}', "NaN"),
    ("kind", "sexpgpu.artifact", "kind"),
    ("version", None, "version"),
    ("version", True, "version"),
    ("splits", {}, "no split"),
    ("splits", [], "no object"),
    ("splits.train", 3, "no object"),
    ("splits.train.shards", {}, "no list"),
    ("splits.train.records", 1, "together"),
    ("splits.train.bytes", -1, "no count"),
    ("splits.train.shards.0", [], "no object"),
    ("splits.train.shards.0.uri", None, "has none"),
    ("splits.train.shards.0.uri", "../a.parquet", "leaves"),
    ("splits.train.shards.0.uri", "a/../../b.parquet", "leaves"),
    ("splits.train.shards.0.uri", "http://host/a.parquet", "not read"),
    ("splits.train.shards.0.uri", "part-2.parquet", "twice"),
    ("splits.train.shards.0.uri", "a\0b", "zero byte"),
    ("splits.train.shards.0.encoding", "parkett", "did you mean `parquet`"),
    ("splits.train.shards.0.records", "50", "no count"),
    ("splits.train.shards.0.records", 1.5, "no count"),
    ("splits.train.shards.0.bytes", 1 << 70, "no count"),
    ("splits.train.shards.0.etag", 3, "no text"),
    ("splits.train.shards.0.blocks", 3, "no list"),
    ("splits.train.shards.0.blocks", [[0, 1, 2]], "four counts"),
    ("splits.train.shards.0.blocks", [[0, 1, 0, -5]], "four counts"),
    ("splits.train.shards.0.blocks", [[0, 1, 5, 50]], "begins with record 5"),
    ("splits.train.shards.0.blocks", [[0, 9, 0, 30], [8, 9, 30, 20]], "before the end"),
    ("splits.train.shards.0.blocks", [[0, 1 << 40, 0, 50]], "end at byte"),
    ("splits.train.shards.0.blocks", [[0, 1, 0, 49]], "hold 49 records"),
    ("revision", "0123456789abcdef", "changed"),
]


@pytest.mark.parametrize(("where", "value", "tells"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_read_says_where(tmp_path: Path, where: str, value: Any, tells: str) -> None:
    data: Any = value
    if where:
        data = at = manifest(tmp_path)
        *path, last = [int(p) if p.isdecimal() else p for p in where.split(".")]
        for key in path:
            at = at[key]
        at[last] = value
    d = refused(spec(tmp_path, data))
    assert d.code == "E-DATA-030" and "`m.json`" in d.message and tells in " ".join(d.notes)


def test_another_version(tmp_path: Path) -> None:
    data = manifest(tmp_path)
    for version in (1, "1", "1.7"):
        assert len(rows(spec(tmp_path, data | {"version": version}))) == ROWS
    for version in (2, "2.0", 10**50):
        assert refused(spec(tmp_path, data | {"version": version})).code == "E-DATA-033"


def test_a_manifest_that_is_not_there(tmp_path: Path) -> None:
    made = spec(tmp_path, "{}")
    (tmp_path / "m.json").unlink()
    d = refused(made)
    assert d.code == "E-STORE-001" and "`m.json`" in d.message and str(tmp_path) in d.notes[-1]
    (tmp_path / "m.json").mkdir()
    assert refused(made).code == "E-STORE-008"


@pytest.mark.parametrize(("manifest", "uri", "found"), [
    ("m.json", "a.parquet", "a.parquet"), ("d/m.json", "x/a.parquet", "d/x/a.parquet"),
    ("/abs/m.json", "a.parquet", "/abs/a.parquet"), ("d/m.json", "/abs/a.parquet", "/abs/a.parquet"),
    ("s3://b/m.json", "a.parquet", "s3://b/a.parquet"), ("s3://b/d/m.json", "x/a.parquet", "s3://b/d/x/a.parquet"),
    ("s3://b/d/m.json", "s3://c/a.parquet", "s3://c/a.parquet"), ("d/m.json", "s3://c/a.parquet", "s3://c/a.parquet"),
    ("s3://b/m.json", "./x//a.parquet", "s3://b/x//a.parquet"), ("file:///d/m.json", "a.parquet", "file:///d/a.parquet"),
])
def test_shards_lie_beside_their_manifest(manifest: str, uri: str, found: str) -> None:
    assert beside(manifest, uri) == found


_JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                     lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
                         st.sampled_from(["kind", "version", "splits", "train", "shards", "uri", "bytes", "records",
                                          "blocks", "revision", "etag"]), inner, max_size=4), max_leaves=20)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60) | _JSON.map(lambda j: json.dumps(j).encode()) | _JSON.map(
    lambda j: json.dumps({"kind": "sexpgpu.manifest", "version": 1, "splits": {"train": {"shards": [j]}}}).encode()))
def test_no_bytes_make_a_traceback(data: bytes) -> None:
    try:
        parse_manifest(data, "m.json")
    except SexpError as problem:
        assert all(d.code in ("E-DATA-030", "E-DATA-033") for d in problem.diagnostics)
