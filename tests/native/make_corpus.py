"""Writes the fuzzers' corpus: small files of every encoding, good ones and ones with a flaw.

    python tests/native/make_corpus.py [FOLDER]
"""

from __future__ import annotations

import gzip
import json
import struct
import sys
from pathlib import Path

import msgpack
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

GOOD = [{"x": [[1, 2], [3, i]], "y": i / 3, "p": {"q": [1, 2, i % 256]}, "f": i % 2 == 0, "h": [0.5, -i]}
        for i in range(6)]
FLAT = [{"p.q": [7, 8, 9], "y": 1, "x": [1, 2, 3, 4], "f": 1, "h": [1, 2], "other": {"a": [None, "é\n", -1e-7]}}]
LONG = [{"l": [*range(12), *range(200, 212), *([65.5] * 9), -1, -2, -70000]} for _ in range(2)]
LINES = [
    b'\xef\xbb\xbf{"x":[1,2,3,4],"y":NaN,"p.q":[0,255,1],"f":true,"h":[1e3,-Infinity]}\r\n\n',
    b'{"x":[[12345678,-1],[0,00]],"y":1.50e1,"p":{"q":[1,2,3]},"f":0,"h":[1,2]}',
    b'{"\\u0078":[1,2,3,4],"y":123456789012345678901234567890,"p":{"q":[1,2]},"f":null,"h":"\\ud83d\\ude00"}\n',
    b'{"z":' + b"[" * 300 + b"]" * 300 + b"}\n",
]
BYTES = [
    msgpack.packb({"x": struct.pack("<4i", 1, 2, 3, 4), "y": 1.5, "p": {"q": b"abc"}, "f": b"\x01", "h": b"\0\0\x80?"}),
    msgpack.packb({b"x": [[2**31 - 1, -2**31], [128, 65535]], "y": 2**63, "p.q": [1, 2, 3], "f": 2, "h": [1, None]}),
    b"\x85\xa1x\x94\x01\xcc\x80\xcd\x01\x00\xd2\xff\xff\xff\xff"
    b"\xa1y\xca?\x80\x00\x00\xd9\x03p.q\xc4\x03abc\xa1f\xc3\xa1h\x92\x01\x02",
    b"\x81\xa1l\xdc\x00\x24" + b"\xcd\x01\x02" * 17 + b"\xca?\x80\x00\x00" * 9 + b"\xd0\xff" * 10,
    b"\x81\xa1x\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff\xc1",
    msgpack.packb({"x": msgpack.ExtType(5, b"1234"), "y": msgpack.Timestamp(1)}),
]


def write(folder: Path, encoding: str, files: list[bytes]) -> None:
    (folder / encoding).mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(files):
        (folder / encoding / f"{number}").write_bytes(data)


def seekable(frames: list[bytes], sizes: list[int]) -> bytes:
    """The frames, and the table of zstd's seekable format."""
    entries = b"".join(struct.pack("<II", len(frame), size) for frame, size in zip(frames, sizes, strict=True))
    table = entries + struct.pack("<IBI", len(frames), 0, 0x8F92EAB1)
    return b"".join(frames) + struct.pack("<II", 0x184D2A5E, len(table)) + table


def write_threads(folder: Path) -> None:
    """What `threads.cpp` reads: a few thousand records, two of which are bad."""
    folder.mkdir(parents=True, exist_ok=True)
    records = [{"x": [i, 1, 2, 3], "pad": "x" * (i % 90)} for i in range(3000)]
    records[120] = records[350] = {"x": [1]}
    lines = [json.dumps(record).encode() + b"\n" for record in records]
    packed = [msgpack.packb(record) for record in records]
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[:200])) + gzip.compress(b"".join(lines[200:450])))
    (folder / "b.msgpack.zst").write_bytes(
        b"".join(zstandard.compress(b"".join(packed[i:i + 100])) for i in range(0, 500, 100)))
    (folder / "c.jsonl").write_bytes(b"".join(lines[400:900]))


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "corpus"
    lines = [b"".join(json.dumps(r).encode() + b"\n" for r in records) for records in (GOOD, FLAT, LONG)] + LINES
    packed = [b"".join(msgpack.packb(r) for r in records) for records in (GOOD, FLAT, LONG)] + BYTES
    write(folder, "jsonl", lines)
    write(folder, "msgpack", packed)
    write(folder, "jsonl.gz", [
        *(gzip.compress(text, level, mtime=0) for text in lines[:3] for level in (0, 1, 9)),
        gzip.compress(lines[0][:200], mtime=0) + gzip.compress(lines[0][200:], mtime=0) + bytes(9),
        b"\x1f\x8b\x08\x1e" + bytes(6) + b"\x02\x00ab" + b"name\0comment\0" + bytes(2) +
        gzip.compress(b"{}\n", mtime=0)[10:],
    ])
    plain, checked = zstandard.ZstdCompressor(write_content_size=False), zstandard.ZstdCompressor(write_checksum=True)
    skippable = struct.pack("<II", 0x184D2A50, 3) + b"abc"
    for encoding, texts in (("jsonl.zst", lines[:3]), ("msgpack.zstf", packed[:4])):
        write(folder, encoding, [
            *(compressor.compress(text) for text in texts for compressor in (plain, checked)),
            skippable + plain.compress(texts[0][:100]) + plain.compress(b"") + checked.compress(texts[0][100:]) +
            skippable,
            seekable([plain.compress(text) for text in texts], [len(text) for text in texts]),
        ])
    write_threads(folder / "threads")
    table = pa.table({"x": pa.array([r["x"] for r in GOOD]), "y": pa.array([r["y"] for r in GOOD]),
                      "p": pa.array([r["p"] for r in GOOD]), "f": pa.array([r["f"] for r in GOOD]),
                      "h": pa.array([r["h"] for r in GOOD])})
    (folder / "parquet").mkdir(parents=True, exist_ok=True)
    for number, options in enumerate(({"row_group_size": 2}, {"compression": "zstd", "use_dictionary": False},
                                      {"compression": "none", "write_page_checksum": True})):
        pq.write_table(table, folder / "parquet" / f"{number}", **options)


if __name__ == "__main__":
    main()
