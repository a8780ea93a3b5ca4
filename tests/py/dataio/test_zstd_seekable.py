"""zstd's seekable format: its table of frames is used where it is right, and does no harm where it is not."""

from __future__ import annotations

import random
import struct
from itertools import pairwise
from pathlib import Path

import msgpack
import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from record_files import oracle, read_data
from sexpgpu.diagnostics import SexpError

RECORDS = [{"x": [i, *range(40)]} for i in range(300)]
TEXT = b"".join(map(msgpack.packb, RECORDS))


def frames_of(text: bytes, cuts: list[int], sizes: bool = True) -> list[tuple[bytes, int]]:
    """Frames with what each holds; records may begin and end anywhere in them."""
    places = [0, *sorted(cuts), len(text)]
    compressor = zstandard.ZstdCompressor(write_content_size=sizes)
    return [(compressor.compress(text[a:b]), b - a) for a, b in pairwise(places)]


def table_of(entries: list[tuple[int, int]], *, checksums: bool = False, count: int | None = None,
             descriptor: int | None = None, magic: int = 0x8F92EAB1) -> bytes:
    body = b"".join(struct.pack("<II", *entry) + (b"sum!" if checksums else b"") for entry in entries)
    if descriptor is None:
        descriptor = 0x80 if checksums else 0
    body += struct.pack("<IBI", len(entries) if count is None else count, descriptor, magic)
    return struct.pack("<II", 0x184D2A5E, len(body)) + body


def seekable(frames: list[tuple[bytes, int]], **options: object) -> bytes:
    return b"".join(data for data, _ in frames) + table_of([(len(data), size) for data, size in frames],
                                                            **options)  # type: ignore[arg-type]


def rows(folder: Path, data: bytes) -> list[list[int]]:
    return read_data(folder, data, "msgpack.zstf", "i32", (41,)).tolist()


WANTED = [record["x"] for record in RECORDS]


@pytest.mark.parametrize("checksums", [False, True])
@pytest.mark.parametrize("sizes", [False, True])
def test_files_with_a_table(tmp_path: Path, checksums: bool, sizes: bool) -> None:
    cuts = random.Random(1).sample(range(len(TEXT)), 20)
    data = seekable(frames_of(TEXT, [*cuts, cuts[3], cuts[3]], sizes), checksums=checksums)
    assert oracle(data, "msgpack.zstf") == RECORDS
    assert rows(tmp_path, data) == WANTED


def test_frames_of_many_small_blocks(tmp_path: Path) -> None:
    """Each block might hold 128 KiB, so that only the table tells that such a frame is small."""
    rows_ = np.arange(400 * 41, dtype=np.int32).reshape(400, 41)
    compressor = zstandard.ZstdCompressor().compressobj()
    packed = b"".join(compressor.compress(msgpack.packb({"x": row.tolist()}))
                      + compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for row in rows_) + compressor.flush()
    size = sum(len(msgpack.packb({"x": row.tolist()})) for row in rows_)
    for data in (packed, packed * 3, seekable([(packed, size)] * 3)):
        assert rows(tmp_path, data) == rows_.tolist() * (len(data) // len(packed))


def test_a_table_that_contradicts_itself_or_the_file_is_none(tmp_path: Path) -> None:
    frames = frames_of(TEXT, [1000, 9000, 9001])
    good = [(len(data), size) for data, size in frames]
    body = b"".join(data for data, _ in frames)
    for table in (
        table_of(good[:-1]), table_of([*good, (1, 0)]), table_of([(n + 1, size) for n, size in good]),
        table_of(good, count=3), table_of(good, count=2**32 - 1), table_of(good, count=0),
        table_of(good, descriptor=0x80), table_of(good, descriptor=0x40), table_of(good, magic=0x8F92EAB2),
        table_of([(2**32 - 1, 2**32 - 1)] * 5), table_of([(0, 0), *good]), table_of([]),
    ):
        assert rows(tmp_path, body + table) == WANTED


def test_a_table_that_lies_about_a_frame_is_damage(tmp_path: Path) -> None:
    frames = frames_of(TEXT, [1000, 9000])
    body = b"".join(data for data, _ in frames)
    (a, m), (b, n), (c, o) = [(len(data), size) for data, size in frames]
    for entries in ([(a, m + 1), (b, n), (c, o)], [(a, m), (b, n - 1), (c, o)], [(a, m), (b, 0), (c, o)],
                    [(a + 1, m), (b - 1, n), (c, o)], [(a + b, m + n), (c, o)], [(a - 1, m), (b + 1, n), (c, o)],
                    [(a, m), (b, 2**24), (c, o)], [(4, 0), (a - 4, m), (b, n), (c, o)]):
        with pytest.raises(SexpError) as caught:
            rows(tmp_path, body + table_of(entries))
        assert caught.value.diagnostics[0].code in ("E-STORE-004", "E-STORE-005")
    # Of a frame that is said to be large nothing is believed.
    assert rows(tmp_path, body + table_of([(a, m), (b, 2**31), (c, o)])) == WANTED


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_table_gives_the_rows_or_an_error(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("table")
    frames = frames_of(TEXT, data.draw(st.lists(st.integers(1, len(TEXT) - 1), max_size=4)))
    packed = bytearray(seekable(frames, checksums=data.draw(st.booleans())))
    table = len(packed) - sum(len(frame) for frame, _ in frames)
    for _ in range(data.draw(st.integers(0, 3))):
        packed[len(packed) - data.draw(st.integers(1, table))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        assert rows(folder, bytes(packed)) == WANTED
    except SexpError as error:
        assert error.diagnostics[0].code.startswith("E-STORE-")
