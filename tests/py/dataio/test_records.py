"""JSON lines and msgpack in every packing, against the libraries that wrote them."""

from __future__ import annotations

import gzip
import json
import math
import struct
from pathlib import Path

import msgpack
import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from record_files import RECORD_ENCODINGS, encode, oracle, read_all, read_data, refusal, spec_of
from sexpgpu.runtime.dataio import FieldSpec, Loader
from sexpgpu.runtime.dataio.core import _native
from sexpgpu.runtime.dataio.encodings import ENCODINGS


def test_the_table_of_encodings_is_the_native_one() -> None:
    assert sorted(ENCODINGS) == sorted(_native.encodings())


@pytest.mark.parametrize("encoding", RECORD_ENCODINGS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_as_the_libraries_read_it(tmp_path_factory: pytest.TempPathFactory, encoding: str,
                                  data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("records")
    other = st.recursive(st.none() | st.booleans() | st.integers(-2**63, 2**64 - 1) | st.floats(allow_nan=False) |
                         st.text(max_size=20), lambda inner: st.lists(inner, max_size=3) |
                         st.dictionaries(st.text(max_size=4), inner, max_size=3), max_leaves=6)
    record = st.fixed_dictionaries({
        "i": st.integers(-2**31, 2**31 - 1), "row": st.lists(st.integers(0, 65535), min_size=6, max_size=6),
        "m": st.lists(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
                      min_size=2, max_size=2),
        "ünread \" \\ key": other, "b": st.booleans(),
    })
    records = data.draw(st.lists(record, min_size=1, max_size=12))
    cuts = data.draw(st.lists(st.integers(1, 4000), max_size=4))
    packed = encode(records, encoding, cuts)
    assert oracle(packed, encoding) == records
    fields = [FieldSpec("i", "i", "i32", ()), FieldSpec("row", "row", "u16", (2, 3)),
              FieldSpec("m", "m", "f32", (2, 3)),
              FieldSpec("flat", "row", "i64", (6,)), FieldSpec("b", "b", "bool", ())]
    got = read_all(spec_of(folder, {"a": packed}, encoding, *fields, batch=5))
    assert got["i"].tolist() == [r["i"] for r in records]
    assert got["row"].reshape(-1, 6).tolist() == got["flat"].tolist() == [r["row"] for r in records]
    assert (got["m"] == np.array([r["m"] for r in records], np.float32)).all()
    assert got["b"].tolist() == [r["b"] for r in records]


@pytest.mark.parametrize("encoding", RECORD_ENCODINGS)
def test_files_of_many_pieces(tmp_path: Path, encoding: str) -> None:
    """Records cut by pieces, members and frames anywhere, over several megabytes."""
    random = np.random.default_rng(0)
    rows = random.integers(0, 70000, (900, 700))
    records = [{"n": i, "x": row.tolist()} for i, row in enumerate(rows)]
    packed = encode(records, encoding, random.integers(0, 4_000_000, 40).tolist())
    spec = spec_of(tmp_path, {"a": packed, "b": packed}, encoding, FieldSpec("n", "n", "i32", ()),
                   FieldSpec("x", "x", "i32", (700,)), batch=64)
    for threads in (1, 3):
        got = read_all(spec, threads=threads)
        assert got["n"].tolist() == [*range(900), *range(900)]
        assert (got["x"] == np.concatenate([rows, rows])).all()


@pytest.mark.parametrize("encoding", RECORD_ENCODINGS)
def test_files_without_bytes_or_records_have_no_rows(tmp_path: Path, encoding: str) -> None:
    files = {"empty": b"", "none": encode([], encoding), "one": encode([{"x": 7}], encoding), "end": b""}
    assert read_all(spec_of(tmp_path, files, encoding, FieldSpec("x", "x", "i8", ())))["x"].tolist() == [7]


def test_byte_order_mark_is_stripped_once_a_file(tmp_path: Path) -> None:
    line = b'\xef\xbb\xbf{"x": 1}\n'
    spec = spec_of(tmp_path, {"a": line, "b": line}, "jsonl", FieldSpec("x", "x", "i8", ()))
    assert read_all(spec)["x"].tolist() == [1, 1]
    assert read_data(tmp_path, gzip.compress(line), "jsonl.gz", "i8").tolist() == [1]
    assert refusal(tmp_path, line + line, "jsonl").code == "E-DATA-015"


def test_blank_lines_crlf_and_no_newline_at_the_end(tmp_path: Path) -> None:
    data = b'\n  \n{"x":1}\r\n\r\n \t{ "x" : 2 } \n\n\n{"x":3}'
    assert read_data(tmp_path, data, "jsonl", "i8").tolist() == [1, 2, 3]
    assert read_data(tmp_path, data + b"\n\n", "jsonl", "i8").tolist() == [1, 2, 3]


def test_a_bad_line_is_told_by_its_number_and_its_neighbours_are_safe(tmp_path: Path) -> None:
    data = b'{"x":0}\n\n{"x":1}\n{"x":}\n{"x":3}\n'
    spec = spec_of(tmp_path, {"a.jsonl": data}, "jsonl", FieldSpec("x", "x", "i8", ()))
    with Loader(spec) as loader:
        assert [loader.next().arrays["x"].tolist() for _ in range(2)] == [[0], [1]]  # type: ignore[union-attr]
        with pytest.raises(Exception, match=r"`a.jsonl` record 2 \(line 4\): no JSON value begins here, at byte 5"):
            loader.next()
    with Loader(spec, on_bad_data="skip-record") as loader:
        assert [b.arrays["x"].item() for b in loader] == [0, 1, 3]
        assert [(o.file, o.record, o.rest, o.code) for o in loader.take_omissions()] == [("a.jsonl", 2, False,
                                                                                          "E-DATA-015")]


def test_every_gzip_member_is_read(tmp_path: Path) -> None:
    data = b"".join(gzip.compress(b'{"x":%d}\n' % i) for i in range(100)) + gzip.compress(b"")
    assert read_data(tmp_path, data, "jsonl.gz", "i8").tolist() == list(range(100))
    assert read_data(tmp_path, data + bytes(1000), "jsonl.gz", "i8").tolist() == list(range(100))


def test_every_zstd_frame_is_read(tmp_path: Path) -> None:
    """Empty and skippable frames anywhere, as in zstd's seekable format; unknown content sizes; checksums."""
    plain = zstandard.ZstdCompressor(write_content_size=False)
    checked = zstandard.ZstdCompressor(write_checksum=True)
    skippable = struct.pack("<II", 0x184D2A5E, 5) + b"table"
    data = skippable + b"".join(
        (plain if i % 2 else checked).compress(msgpack.packb({"x": i})) + plain.compress(b"") + skippable
        for i in range(50))
    assert read_data(tmp_path, data, "msgpack.zstf", "i8").tolist() == list(range(50))


def test_large_zstd_frames_and_windows(tmp_path: Path) -> None:
    """A frame of 40 MB of text is read through a window; one of 2^27 bytes and more is no matter."""
    rows = np.random.default_rng(1).integers(0, 255, (40, 1 << 20), dtype=np.uint8)
    text = b"".join(msgpack.packb({"x": row.tobytes()}) for row in rows)
    for options in ({}, {"write_content_size": False}):
        packed = zstandard.ZstdCompressor(**options).compress(text)
        assert (read_data(tmp_path, packed, "msgpack.zstf", "u8", (1 << 20,)) == rows).all()
    wide = zstandard.ZstdCompressionParameters(window_log=28, write_content_size=False)
    compressor = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    packed = compressor.compress(text) + compressor.flush()
    assert (read_data(tmp_path, packed, "msgpack.zstf", "u8", (1 << 20,)) == rows).all()


def test_msgpack_bytes_hold_rows(tmp_path: Path) -> None:
    values = np.arange(6, dtype="<f4").reshape(2, 3)
    for packed in (msgpack.packb({"x": values.tobytes()}), msgpack.packb({b"x": values.tobytes()}),
                   b"\x81\xa1x\xb8" + values.tobytes()):
        assert (read_data(tmp_path, packed, "msgpack", "f32", (2, 3)) == values).all()
    assert read_data(tmp_path, msgpack.packb({"x": b"\x01\x02"}), "msgpack", "u16").tolist() == [0x201]
    short = refusal(tmp_path, msgpack.packb({"x": b"12345"}), "msgpack", "i32", (2,))
    assert short.code == "E-DATA-003" and "it has 5 bytes, where 8 hold i32 [2]" in short.message
    text = refusal(tmp_path, msgpack.packb({"x": "abcd"}), "msgpack", "i32")
    assert text.code == "E-DATA-002" and "a text" in text.message
    bools = refusal(tmp_path, msgpack.packb({"x": b"\x01\x02"}), "msgpack", "bool", (2,))
    assert bools.code == "E-DATA-004" and "its byte 1 is 2" in bools.message


def test_keys(tmp_path: Path) -> None:
    """The whole name first, then members; escapes; keys of other kinds; a key twice."""
    fields = [FieldSpec("a", "a.b", "i8", ()), FieldSpec("é", "é\n", "i8", ()), FieldSpec("deep", "p.q.r", "i8", ())]
    lines = (b'{"a":{"b":1},"\\u00e9\\n":2,"p":{"q":{"r":3}}}\n'
             b'{"a":{"b":9},"a.b":4,"\xc3\xa9\\n":5,"p.q":{"r":6}}\n'
             b'{"a.b":7,"a":{"b":9},"\xc3\xa9\\u000A":8,"p":{"q.r":9}}\n')
    got = read_all(spec_of(tmp_path, {"a": lines}, "jsonl", *fields))
    assert [got[f.name].tolist() for f in fields] == [[1, 4, 7], [2, 5, 8], [3, 6, 9]]
    packed = msgpack.packb({1: 2, None: 3, "a": {"b": 1, 5: 6}, "é\n": 2, "p": {"q": {"r": 3}}})
    got = read_all(spec_of(tmp_path, {"a": packed}, "msgpack", *fields))
    assert [got[f.name].tolist() for f in fields] == [[1], [2], [3]]
    twice = refusal(tmp_path, b'{"x":1,"y":2,"y":3,"x":1}\n', "jsonl")
    assert twice.code == "E-DATA-006" and "its key `x` stands twice" in twice.message
    assert read_data(tmp_path, b'{"y":1,"y":2,"x":3}', "jsonl", "i8").tolist() == [3]
    missing = refusal(tmp_path, b'{"y":1}', "jsonl")
    assert missing.code == "E-DATA-001" and "has no key `x`" in missing.message
    for data, encoding in ((b'{"input_ids":1,"\\u0061":{"b":[]},"z":2}', "jsonl"),
                           (msgpack.packb({"input_ids": 1, 5: 6, b"a": {}, "z": [2]}), "msgpack")):
        missing = refusal(tmp_path, data, encoding, column="inputids")
        assert missing.fix is not None
        assert missing.fix.text.startswith("there is `input_ids`, `a`, `z`; did you mean `input_ids`?")


@pytest.mark.parametrize(("value", "dtype", "expected"), [
    ("1e3", "i32", 1000), ("1.50e1", "u8", 15), ("-0", "i8", 0), ("-0.0", "f32", -0.0), ("1E+2", "i16", 100),
    ("18446744073709551615", "u64", 2**64 - 1), ("-9223372036854775808", "i64", -2**63), ("true", "i8", 1),
    ("1", "bool", True), ("0.0", "bool", False), ("10000000000000000000000", "f64", 1e22), ("1e-400", "f64", 0.0),
    ("0.1", "f32", float(np.float32(0.1))), ("NaN", "f32", math.nan), ("-Infinity", "f16", -math.inf),
    ("16777216", "f32", 16777216.0), ("1e38", "f32", float(np.float32(1e38))), ("65504", "f16", 65504.0),
    ("123456789012345", "i64", 123456789012345), ("12345678", "i32", 12345678), ("0", "u8", 0),
    ("170141183460469231731687303715884105728", "f32", 2.0**127),
    # between two f32, nearer to the lower one but not by way of a double
    ("1.00000017881393432617187499", "f32", 1.0000001192092896),
])
def test_json_numbers(tmp_path: Path, value: str, dtype: str, expected: float) -> None:
    for data, shape in ((f'{{"x":{value}}}\n', ()), (f'{{"x":[ {value} ,{value}]}}\n', (2,))):
        for got in read_data(tmp_path, data.encode(), "jsonl", dtype, shape).reshape(-1).tolist():
            assert got == expected or (math.isnan(expected) and math.isnan(got))
            assert math.copysign(1, got) == math.copysign(1, expected) or math.isnan(expected)


@pytest.mark.parametrize(("value", "dtype"), [
    ("256", "u8"), ("-1", "u16"), ("65536", "u16"), ("2147483648", "i32"), ("1.5", "i32"), ("1e400", "f64"),
    ("1e39", "f32"), ("16777217", "f32"), ("9223372036854775808", "i64"), ("18446744073709551616", "u64"),
    ("NaN", "i32"), ("Infinity", "u8"), ("1.0000000000000000001", "i32"), ("1e20", "u64"), ("2", "bool"),
    ("10000000000000000000001", "f64"), ("-9223372036854775809", "i64"), ("65520", "f16"), ("0.5", "bool"),
    ("1e99999999999999999999", "i8"), ("1e-5", "i8"),
])
def test_json_numbers_that_do_not_fit(tmp_path: Path, value: str, dtype: str) -> None:
    for data, shape, where in ((f'{{"x":{value}}}', (), ""), (f'{{"x":[[0,1],[1,{value}]]}}', (2, 2), " at [1, 1]")):
        diagnostic = refusal(tmp_path, data.encode(), "jsonl", dtype, shape)
        assert diagnostic.code == "E-DATA-004"
        assert f"its value {value}{where} cannot be represented in {dtype}" in diagnostic.message


@pytest.mark.parametrize(("value", "code", "found"), [
    ("null", "E-DATA-005", "null"), ('"text"', "E-DATA-002", "a text"), ("{}", "E-DATA-002", "an object"),
    ("[1,2]", "E-DATA-003", "it has [2]"), ("[1,2,3,4]", "E-DATA-003", "it has [4]"),
    ("[]", "E-DATA-003", "it has [0]"),
    ("[[1,2,3]]", "E-DATA-003", "it has [1, 3]"),
    ("[[1],[1,2]]", "E-DATA-003", "it has [2, lists of different lengths]"),
    ("[1,null,3]", "E-DATA-005", "its value at [1] is null"), ('[1,"a",3]', "E-DATA-002", "its value at [1] is a text"),
    ("7", "E-DATA-003", "a single value"),
])
def test_values_of_another_shape_or_kind(tmp_path: Path, value: str, code: str, found: str) -> None:
    diagnostic = refusal(tmp_path, f'{{"x":[1,2,3]}}\n{{"x":{value}}}\n'.encode(), "jsonl", "i32", (3,))
    assert diagnostic.code == code and found in diagnostic.message
    assert "`a.jsonl` record 1 (line 2): the field `:x` wants i32 [3]" in diagnostic.message
    records = msgpack.packb({"x": [1, 2, 3]}) + msgpack.packb({"x": json.loads(value)})
    diagnostic = refusal(tmp_path, records, "msgpack", "i32", (3,))
    if value == '"text"':  # bytes of the wrong number: old msgpack has no other type for them
        code, found = "E-DATA-003", "it has 4 bytes"
    assert diagnostic.code == code
    assert found.replace("null", "nil").replace("an object", "a map") in diagnostic.message
    assert "`a.msgpack` record 1: the field `:x` wants i32 [3]" in diagnostic.message


@pytest.mark.parametrize("line", [
    "[1]", "1", "nonsense", '{"x":1', '{"x":1}}', '{"x":1} {"x":2}', '{"x":01}', '{"x":1.}', '{"x":.5}', '{"x":+1}',
    '{"x":1e}', '{"x":-}', '{x:1}', '{"x":1,}', '{"x" 1}', '{"x":1 "y":2}', '{"x":[1 2]}', '{"x":tru}',
    '{"y":"\t","x":1}',
    '{"y":"\\x","x":1}', '{"y":"\\u12g4","x":1}', '{"y":"abc', '{"y":[1,2,"x":1}', '{"y":{"a":[}]},"x":1}',
    '{"y":' + "[" * 5000 + "]" * 5000 + ',"x":1}',
])
def test_malformed_json(tmp_path: Path, line: str) -> None:
    diagnostic = refusal(tmp_path, line.encode() + b"\n" + b'{"x":1}\n', "jsonl")
    assert diagnostic.code == "E-DATA-015" and "record 0 (line 1)" in diagnostic.message


@pytest.mark.parametrize("bad", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82", b"\x80"])
def test_bytes_that_are_no_utf8(tmp_path: Path, bad: bytes) -> None:
    assert refusal(tmp_path, b'{"y":"' + bad + b'","x":1}', "jsonl").code == "E-DATA-015"
    good = '{"y":"é€😀 \\ud800","x":1}'.encode()
    assert read_data(tmp_path, good, "jsonl", "i8").tolist() == [1]


@pytest.mark.parametrize(("data", "code"), [
    (msgpack.packb([1]), "E-DATA-015"), (msgpack.packb(7), "E-DATA-015"), (b"\xc1", "E-DATA-015"),
    (msgpack.packb({"x": 1}) + b"\x81\xa1x", "E-STORE-005"), (b"\x81\xa1x\xdd\xff\xff\xff\xff", "E-STORE-005"),
    (msgpack.packb({"x": msgpack.Timestamp(1, 2)}), "E-DATA-002"), (msgpack.packb({"x": None}), "E-DATA-005"),
    (msgpack.packb({"x": 2**40}), "E-DATA-004"), (msgpack.packb({"x": 1.5}), "E-DATA-004"),
    (b"\x82\xa1x\x01\xa1x\x02", "E-DATA-006"), (msgpack.packb({"y": 1}), "E-DATA-001"),
])
def test_bad_msgpack(tmp_path: Path, data: bytes, code: str) -> None:
    assert refusal(tmp_path, data, "msgpack").code == code


@settings(max_examples=60, deadline=None)
@given(value=st.integers(-2**63, 2**64 - 1) | st.floats() | st.booleans(),
       dtype=st.sampled_from(["i8", "u16", "i32", "u64", "i64", "f32", "f64", "bool"]))
def test_msgpack_and_json_agree_with_parquet(tmp_path_factory: pytest.TempPathFactory, value: float,
                                             dtype: str) -> None:
    """One rule for a value, whatever file it comes from."""
    import pyarrow as pa
    from dataio_helpers import read_column
    from sexpgpu.diagnostics import SexpError

    folder = tmp_path_factory.mktemp("value")

    def outcome(read: object) -> object:
        try:
            return read().tobytes()  # type: ignore[operator]
        except SexpError as error:
            return error.diagnostics[0].code

    kind = pa.uint64() if isinstance(value, int) and value >= 2**63 else None
    wanted = outcome(lambda: read_column(folder, pa.array([value], kind), dtype))
    assert outcome(lambda: read_data(folder, msgpack.packb({"x": value}), "msgpack", dtype)) == wanted
    assert outcome(lambda: read_data(folder, msgpack.packb({"x": [value]}), "msgpack", dtype, (1,))) == wanted
    # Beyond 2^53 the shortest text of a float is another integer than the float, and a text is taken at its word.
    if not (isinstance(value, float) and (math.isnan(value) or abs(value) >= 2**53)):
        assert outcome(lambda: read_data(folder, json.dumps({"x": value}).encode(), "jsonl", dtype)) == wanted
