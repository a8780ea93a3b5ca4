"""The readers that are timed: each gives the number of rows of one batch after the other, without an end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from peers.loader_sets import BATCH, SHUFFLE, WIDTH

if TYPE_CHECKING:
    import numpy as np


def ours(paths: list[Path], encoding: str = "parquet", shuffle: int = SHUFFLE, threads: int = 2,
         images: bool = False) -> Iterator[int]:
    from sexpgpu.runtime.dataio import FieldSpec, FilesSource, Loader, LoaderSpec, StageSpec

    fields = ((FieldSpec("image", "image", "u8", (3, 32, 32)), FieldSpec("label", "label", "i64", ())) if images else
              (FieldSpec("tokens", "input_ids", "i32", (WIDTH,)),))
    # A `Path` makes one slash of two.
    source = FilesSource(tuple(str(path).replace("s3:/", "s3://", 1) for path in paths), encoding)
    with Loader(LoaderSpec(fields, (StageSpec("main", (source,), shuffle, True),), BATCH), seed=1,
                threads=threads) as loader:
        for batch in loader:
            yield batch.arrays[fields[0].name].shape[0]
            batch.release()


def pyarrow_s3(paths: list[Path]) -> Iterator[int]:
    import pyarrow.fs as fs
    import pyarrow.parquet as pq

    scheme, _, host = os.environ["AWS_ENDPOINT_URL"].partition("://")
    store = fs.S3FileSystem(endpoint_override=host, scheme=scheme)
    while True:
        for path in paths:
            with store.open_input_file(str(path).removeprefix("s3:/")) as file:
                for rows in pq.ParquetFile(file).iter_batches(batch_size=BATCH, columns=["input_ids"]):
                    yield rows.column(0).flatten().to_numpy().reshape(-1, WIDTH).shape[0]


def pyarrow_raw(paths: list[Path], batch: int = BATCH) -> Iterator[int]:
    import pyarrow.parquet as pq

    while True:
        for rows in pq.ParquetFile(paths[0]).iter_batches(batch_size=batch, columns=["input_ids"]):
            yield rows.column(0).flatten().to_numpy().reshape(-1, WIDTH).shape[0]


def pyarrow_images(paths: list[Path]) -> Iterator[int]:
    import numpy as np
    import pyarrow.parquet as pq

    while True:
        for rows in pq.ParquetFile(paths[0]).iter_batches(batch_size=BATCH):
            image = rows.column(0)
            pixels = np.frombuffer(image.buffers()[2], np.uint8)[:len(rows) * 3072].reshape(-1, 3, 32, 32)
            rows.column(1).to_numpy()
            yield pixels.shape[0]


def datasets_stream(paths: list[Path], form: str = "parquet") -> Iterator[int]:
    os.environ["HF_HUB_OFFLINE"] = "1"
    from datasets import load_dataset

    while True:
        rows = load_dataset(form, data_files=[str(p) for p in paths], split="train", streaming=True)
        for batch in rows.shuffle(seed=1, buffer_size=SHUFFLE).with_format("numpy").iter(batch_size=BATCH):
            yield batch["input_ids"].shape[0]


def python_msgpack(paths: list[Path]) -> Iterator[int]:
    """msgpack and zstandard, into NumPy, with a shuffle buffer as ours."""
    import random

    import msgpack
    import numpy as np
    import zstandard

    def rows() -> Iterator[np.ndarray]:
        while True:
            for path in paths:
                with open(path, "rb") as file, zstandard.ZstdDecompressor().stream_reader(
                        file, read_across_frames=True) as reader:
                    for record in msgpack.Unpacker(reader, max_buffer_size=1 << 26):
                        row = record["input_ids"]
                        yield np.frombuffer(row, np.int32) if isinstance(row, bytes) else np.array(row, np.int32)

    stream = rows()
    buffer = [next(stream) for _ in range(SHUFFLE)]
    draw = random.Random(1)
    while True:
        batch = np.empty((BATCH, WIDTH), np.int32)
        for i in range(BATCH):
            place = draw.randrange(SHUFFLE)
            batch[i] = buffer[place]
            buffer[place] = next(stream)
        yield len(batch)
