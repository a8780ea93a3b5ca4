"""Arrays of msgpack numbers, which are read eight at a time where they are of one kind, against `msgpack` and exact
arithmetic."""

from __future__ import annotations

import struct
from pathlib import Path

import msgpack
import pytest
from dataio_helpers import DTYPES
from exact_values import decoded, exact_value, same, wanted
from hypothesis import given, settings
from hypothesis import strategies as st
from record_files import spec_of
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio import FieldSpec, Loader

KINDS = {0xca: ">f", 0xcb: ">d", 0xcc: ">B", 0xcd: ">H", 0xce: ">I", 0xcf: ">Q", 0xd0: ">b", 0xd1: ">h", 0xd2: ">i",
         0xd3: ">q"}


def packed_as(tag: int) -> st.SearchStrategy[bytes]:
    """A number of this kind, small ones in wide kinds among them. Tags below 80 and from E0 on are numbers alone."""
    if tag not in KINDS:
        return st.sampled_from([bytes([tag]), bytes([tag & 1]), b"\xc2", b"\xc3"] if tag < 0x80 else [bytes([tag])])
    form = KINDS[tag]
    bits = 8 * struct.calcsize(form)
    if form[1] in "fd":
        values = st.integers(-300, 300).map(float) | st.floats(width=bits)
    else:
        low = 0 if form[1].isupper() else -(1 << (bits - 1))
        values = st.integers(max(low, -3), 3) | st.integers(low, low + (1 << bits) - 1)
    return values.map(lambda value: bytes([tag]) + struct.pack(form, value))


@st.composite
def arrays(draw: st.DrawFn, small: bool) -> list[bytes]:
    """Runs of one kind each, of lengths around the eight that are read together."""
    out: list[bytes] = []
    for _ in range(draw(st.integers(1, 4))):
        tag = draw(st.sampled_from([*KINDS, 0x05, 0x7f, 0xff, 0xe0]))
        values = draw(st.lists(packed_as(tag), min_size=1, max_size=3))
        if small:
            values = [v for v in values if exact_value(msgpack.unpackb(v)) in (0, 1)] or [b"\x01"]
        out += (values * 30)[:draw(st.sampled_from([1, 2, 7, 8, 9, 16, 23, 24, 25]))]
    return out


def check(folder: Path, values: list[bytes], dtype: str) -> None:
    head = b"\x82\xa1x" + b"\xdc" + struct.pack(">H", len(values))
    record = head + b"".join(values) + b"\xa1n\x07"
    [read] = [msgpack.unpackb(record, strict_map_key=False)["x"]]
    expected = [wanted(exact_value(v), isinstance(v, int), dtype) for v in read]
    fields = (FieldSpec("x", "x", dtype, (len(values),)), FieldSpec("n", "n", "i32", ()))
    spec = spec_of(folder, {"a": record * 3}, "msgpack", *fields)
    bad = expected.index(None) if None in expected else None
    with Loader(spec, threads=1) as loader:
        if bad is None:
            for batch in loader:
                got = decoded(batch.arrays["x"].reshape(-1), dtype)
                assert all(map(same, got, expected)), (dtype, read, got)
                assert batch.arrays["n"].tolist() == [7]
            return
        with pytest.raises(SexpError) as caught:
            loader.next()
    [refused] = caught.value.diagnostics
    assert refused.code == "E-DATA-004" and f" at [{bad}] cannot be represented in {dtype}" in refused.message


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_runs(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    values = data.draw(arrays(data.draw(st.booleans(), label="small")), label="values")
    check(tmp_path_factory.mktemp("runs"), values, data.draw(st.sampled_from(DTYPES), label="dtype"))


@pytest.mark.parametrize("dtype", ["u16", "f32"])
@pytest.mark.parametrize("count", [7, 8, 9, 63, 64, 65, 70])
def test_a_cut_file_ends_inside_a_run(tmp_path: Path, dtype: str, count: int) -> None:
    """Whatever byte a file is cut at: nothing behind it is looked at."""
    record = b"\x81\xa1x\xdc\x00" + bytes([count]) + b"".join(b"\xcd" + struct.pack(">H", i) for i in range(count))
    fields = FieldSpec("x", "x", dtype, (count,))
    for cut in (*range(max(1, len(record) - 30), len(record)), 20):
        spec = spec_of(tmp_path, {"a": record + record[:cut]}, "msgpack", fields)
        with pytest.raises(SexpError, match="E-STORE-005") as caught, Loader(spec) as loader:
            assert loader.next().arrays["x"].tolist() == [list(range(count))]  # type: ignore[union-attr]
            loader.next()
        assert caught.value.diagnostics[0].code == "E-STORE-005"
