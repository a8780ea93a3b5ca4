"""What users of other loaders report of what lies in files, and the right behaviour; named after the report."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgpack
import pyarrow as pa
import pytest
from dataio_helpers import diagnostic_of, make_spec, refused, write
from record_files import encode, read_all, read_data, refusal, spec_of
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio import FieldSpec, FilesSource, Loader, LoaderSpec, ManifestSource, StageSpec
from stage_model import ID, ModelSource, make_stage, take


def test_polars_15747_files_that_disagree_on_types(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": pa.array([1, 2], pa.int8())})
    write(tmp_path / "b.parquet", {"x": pa.array([3, 4], pa.uint64())})
    write(tmp_path / "c.parquet", {"x": pa.array([5.0, 6.0])})
    spec = make_spec(tmp_path, ["a.parquet", "b.parquet", "c.parquet"], FieldSpec("x", "x", "i32", ()), batch=6)
    assert read_all(spec)["x"].tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("value", "dtype"), [
    (65536, "u16"), (2**31, "i32"), (1.5, "i32"), (float("nan"), "i32"), (2.0**63, "i64"), (1e39, "f32"),
    (16777217, "f32"), (-1, "u8")])
def test_transformers_2825_values_are_never_wrapped_or_rounded(tmp_path: Path, value: float, dtype: str) -> None:
    assert refused(tmp_path, pa.array([value]), dtype).code == "E-DATA-004"
    assert refusal(tmp_path, json.dumps({"x": value}).encode(), "jsonl", dtype).code == "E-DATA-004"
    assert refusal(tmp_path, msgpack.packb({"x": value}), "msgpack", dtype).code == "E-DATA-004"


def test_transformers_2825_numbers_beyond_every_type(tmp_path: Path) -> None:
    assert refusal(tmp_path, b'{"x":1e400}', "jsonl", "f64").code == "E-DATA-004"
    assert refusal(tmp_path, b'{"x":9223372036854775808}', "jsonl", "i64").code == "E-DATA-004"


def test_posthog_90036_all_gzip_members(tmp_path: Path) -> None:
    data = encode([{"x": i} for i in range(50)], "jsonl.gz", cuts=range(5, 400, 17))
    assert read_data(tmp_path, data, "jsonl.gz", "i8").tolist() == list(range(50))


def test_python_zstandard_59_all_frames(tmp_path: Path) -> None:
    data = encode([{"x": i} for i in range(50)], "msgpack.zstf", cuts=range(1, 200, 13))
    assert read_data(tmp_path, data, "msgpack.zstf", "i8").tolist() == list(range(50))


def test_datasets_8241_a_byte_order_mark_in_any_file(tmp_path: Path) -> None:
    files = {f"{i}.jsonl": b"\xef\xbb\xbf" * (i % 2) + b'{"x":%d}\n' % i for i in range(4)}
    spec = spec_of(tmp_path, files, "jsonl", FieldSpec("x", "x", "i8", ()))
    assert read_all(spec)["x"].tolist() == [0, 1, 2, 3]


def test_blank_lines_crlf_and_a_missing_newline(tmp_path: Path) -> None:
    assert read_data(tmp_path, b'\r\n{"x":1}\r\n\r\n\n{"x":2}', "jsonl", "i8").tolist() == [1, 2]


def test_simdjson_1534_one_bad_line_is_told_and_its_neighbours_are_safe(tmp_path: Path) -> None:
    lines = [b'{"x":%d}' % i for i in range(1000)]
    lines[600] = b'{"x":6 00}'
    data = gzip.compress(b"\n".join(lines))
    assert "record 600 (line 601)" in refusal(tmp_path, data, "jsonl.gz", "i32").message
    spec = spec_of(tmp_path, {"a.jsonl.gz": data}, "jsonl.gz", FieldSpec("x", "x", "i32", ()))
    assert read_all(spec, on_bad_data="skip-record")["x"].tolist() == [i for i in range(1000) if i != 600]


@pytest.mark.parametrize("encoding", ["jsonl.gz", "jsonl.zst", "msgpack.zstf"])
def test_datasets_3060_a_cut_file_is_told_with_its_byte(tmp_path: Path, encoding: str) -> None:
    whole = encode([{"x": i, "pad": "abc" * (i % 7)} for i in range(500)], encoding)
    for size in (len(whole) - 1, len(whole) // 2, 30):
        found = refusal(tmp_path, whole[:size], encoding)
        assert found.code == "E-STORE-005" and f"byte {size}" in found.message
        assert f"`a.{encoding}` is cut" in found.message


def test_streaming_662_the_first_batch_waits_for_one_file_only(tmp_path: Path) -> None:
    """Of records in an infinite stage; thousands of files are no matter, and none is read before its turn."""
    sources = [ModelSource(tuple((i,) * 50 for i in range(1000)), "jsonl")]
    spec = make_stage(tmp_path, sources, batch=10, infinite=True)
    with Loader(spec, threads=1, prefetch=1, lookahead=1) as loader:
        assert take(loader, 1) == [0] * 10
        read = loader.stats().bytes_read
    assert read < 1000 * 256 << 10  # a look at the heads, which are all there is of these files
    big = b'{"id":1}\n' * 2_000_000
    (tmp_path / "big.jsonl").write_bytes(big)
    source = FilesSource(("big.jsonl",) * 20, "jsonl")
    spec = LoaderSpec(spec.fields, (StageSpec("main", (source,), 0, True),), 10, str(tmp_path))
    with Loader(spec, threads=1, prefetch=1, lookahead=1) as loader:
        take(loader, 1)
        assert loader.stats().bytes_read < len(big)


@pytest.mark.parametrize("encoding", ["parquet", "jsonl.gz", "msgpack.zstf"])
@pytest.mark.parametrize("count", [2, 4])
def test_streaming_399_an_index_that_disagrees_names_both(tmp_path: Path, encoding: str, count: int) -> None:
    if encoding == "parquet":
        write(tmp_path / "a.parquet", {"id": pa.array([1, 2, 3])}, row_group_size=2)
    else:
        (tmp_path / f"a.{encoding}").write_bytes(encode([{"id": i} for i in range(3)], encoding))
    shard = {"uri": f"a.{encoding}", "encoding": encoding, "records": count}
    (tmp_path / "m.json").write_text(json.dumps({
        "kind": "sexpgpu.manifest", "version": 1, "name": "m",
        "splits": {"train": {"records": count, "shards": [shard]}}}))
    stage = StageSpec("main", (ManifestSource("m.json", None, None, None),))
    with pytest.raises(SexpError) as caught, Loader(LoaderSpec((ID,), (stage,), 1, str(tmp_path))) as loader:
        list(loader)
    found = diagnostic_of(caught)
    assert found.code == "E-DATA-032"
    told = " ".join((found.message, *found.notes))
    assert f"a.{encoding}`" in told and "`m.json`" in told
