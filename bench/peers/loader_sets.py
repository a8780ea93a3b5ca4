"""The files the loader and its peers read: how each set is written, and how large it is; and a server of S3."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

WIDTH = 1025
BATCH = 64
SHUFFLE = 10_000
ROW_GROUP = 1000


def tokens_of(rows: int) -> np.ndarray:
    """Random tokens below 50,257, as a tokenizer would give them."""
    import numpy as np

    return np.random.default_rng(0).integers(0, 50257, (rows, WIDTH), dtype=np.int32)


def make_tokens(folder: Path, rows: int) -> None:
    """int32 lists, snappy."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("input_ids", pa.list_(pa.int32()))])
    tokens = tokens_of(rows)
    with pq.ParquetWriter(folder / "0.parquet", schema) as writer:
        for start in range(0, rows, ROW_GROUP):
            part = tokens[start:start + ROW_GROUP]
            offsets = pa.array(np.arange(len(part) + 1, dtype=np.int32) * WIDTH)
            lists = pa.ListArray.from_arrays(offsets, pa.array(part.reshape(-1)))
            writer.write_table(pa.table([lists], schema=schema))


def make_shards(folder: Path, rows: int) -> None:
    for shard in range(8):
        (folder / "part").mkdir()
        make_tokens(folder / "part", rows // 8)
        (folder / "part" / "0.parquet").rename(folder / f"{shard}.parquet")
        (folder / "part").rmdir()


def make_images(folder: Path, rows: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    images = np.random.default_rng(0).integers(0, 255, (rows, 3072), dtype=np.uint8)
    table = pa.table({"image": pa.array([row.tobytes() for row in images], pa.binary()),
                      "label": pa.array(np.arange(rows) % 10, pa.int64())})
    pq.write_table(table, folder / "0.parquet", row_group_size=ROW_GROUP)


def make_jsonl(folder: Path, rows: int) -> None:
    import gzip

    for shard, part in enumerate(np_split(tokens_of(rows))):
        with gzip.open(folder / f"{shard}.jsonl.gz", "wb", compresslevel=6) as file:
            for row in part:
                file.write(json.dumps({"input_ids": row.tolist()}).encode() + b"\n")


def make_msgpack(folder: Path, rows: int, binary: bool) -> None:
    import msgpack
    import zstandard

    for shard, part in enumerate(np_split(tokens_of(rows))):
        with open(folder / f"{shard}.msgpack.zstf", "wb") as file:
            for start in range(0, len(part), 256):
                packed = b"".join(msgpack.packb({"input_ids": row.tobytes() if binary else row.tolist()})
                                  for row in part[start:start + 256])
                file.write(zstandard.compress(packed))


def np_split(rows: np.ndarray) -> list[np.ndarray]:
    import numpy as np

    return np.array_split(rows, 4)


SETS: dict[str, tuple[Callable[[Path, int], None], int]] = {
    "tokens": (make_tokens, 100_000),
    "jsonl.gz": (make_jsonl, 20_000),
    "msgpack.zstf": (lambda folder, rows: make_msgpack(folder, rows, False), 20_000),
    "msgpack-bin": (lambda folder, rows: make_msgpack(folder, rows, True), 20_000),
    "images": (make_images, 50_000),
    "s3": (make_shards, 20_000),
}
"""How each set is written, and how many rows it has at most; contenders read it again and again."""


def set_rows(name: str, wanted: int) -> int:
    """A set that fits into the buffer would be read before the clock starts."""
    return min(max(wanted, 2 * SHUFFLE), SETS[name][1])


def make_data(folder: Path, name: str, rows: int) -> list[Path]:
    make, _ = SETS[name]
    rows = set_rows(name, rows)
    place = folder / f"{name}-{rows}"
    if not place.exists():
        partial = place.with_suffix(".partial")
        partial.mkdir(parents=True, exist_ok=True)
        make(partial, rows)
        partial.rename(place)
    return sorted(place.iterdir())


@contextmanager
def served(files: dict[str, list[Path]]) -> Iterator[dict[str, list[Path]]]:
    """The same files, with those of the set `s3` in a server."""
    if "s3" not in files:
        yield files
        return
    try:
        import moto.server  # noqa: F401
    except ImportError:
        print("s3: left out (`pip install 'moto[server,s3]'`)")
        yield {name: paths for name, paths in files.items() if name != "s3"}
        return
    os.environ.update(AWS_ACCESS_KEY_ID="bench", AWS_SECRET_ACCESS_KEY="bench", AWS_REGION="us-east-1",
                      AWS_EC2_METADATA_DISABLED="true")
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        import boto3

        assert server.stdout is not None
        os.environ["AWS_ENDPOINT_URL"] = server.stdout.readline().strip()
        client = boto3.client("s3")
        client.create_bucket(Bucket="bench")
        for path in files["s3"]:
            client.upload_file(str(path), "bench", path.name)
        yield files | {"s3": [Path("s3:/bench", path.name) for path in files["s3"]]}
    finally:
        server.terminate()
        server.wait()


SERVER = """
import logging, sys
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print("http://%s:%d" % server.get_host_and_port(), flush=True)
sys.stdin.read()
"""
