"""How fast the loader is beside raw readers and HF datasets, on the same files, in alternating turns.

    python bench/loader.py [--rows 100000] [--turns 5] [--data FOLDER] [--sets NAME ...] [--only NAME ...] [--json FILE]

Every measurement is a process of its own: the time to the first batch, the rows a second from then on until `--rows`
rows were handed over in batches of 64, and the peak of resident memory beyond that before the reader was made. Turns
alternate, so that a machine that is slow for a while is slow for all; medians and ratios of medians are printed.

| set | rows |
|---|---|
| tokens | 1,025 int32 tokens, Parquet, one file, row groups of 1,000 rows |
| jsonl.gz | the same tokens as JSON lines, four files |
| msgpack.zstf | the same as msgpack arrays of numbers, four files of a frame for each 256 rows |
| msgpack-bin | the same as msgpack `bin` |
| images | 3,072 bytes and a label, Parquet, row groups of 1,000 rows |

The contenders with a shuffle keep a buffer of 10,000 rows, which is filled before the first batch. Ours runs in the
infinite mode, so its buffer is full to the end. Slow contenders get fewer rows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
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
}
"""How each set is written, and how many rows it has at most; contenders read it again and again."""


def make_data(folder: Path, name: str, rows: int) -> list[Path]:
    make, most = SETS[name]
    rows = min(max(rows, 2 * SHUFFLE), most)  # a set that fits into the buffer would be read before the clock starts
    place = folder / f"{name}-{rows}"
    if not place.exists():
        partial = place.with_suffix(".partial")
        partial.mkdir(parents=True, exist_ok=True)
        make(partial, rows)
        partial.rename(place)
    return sorted(place.iterdir())


def ours(paths: list[Path], encoding: str = "parquet", shuffle: int = SHUFFLE, threads: int = 2,
         images: bool = False) -> Iterator[int]:
    from sexpgpu.runtime.dataio import FieldSpec, FilesSource, Loader, LoaderSpec, StageSpec

    fields = ((FieldSpec("image", "image", "u8", (3, 32, 32)), FieldSpec("label", "label", "i64", ())) if images else
              (FieldSpec("tokens", "input_ids", "i32", (WIDTH,)),))
    source = FilesSource(tuple(map(str, paths)), encoding)
    with Loader(LoaderSpec(fields, (StageSpec("main", (source,), shuffle, True),), BATCH), seed=1,
                threads=threads) as loader:
        for batch in loader:
            yield batch.arrays[fields[0].name].shape[0]
            batch.release()


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


CONTENDERS: dict[str, tuple[str, Callable[[list[Path]], Iterator[int]], float]] = {
    "ours, shuffle": ("tokens", ours, 1.0),
    "ours, shuffle, 1 thread": ("tokens", lambda paths: ours(paths, threads=1), 1.0),
    "ours, in order": ("tokens", lambda paths: ours(paths, shuffle=0), 1.0),
    "pyarrow iter_batches(64)": ("tokens", pyarrow_raw, 1.0),
    "pyarrow iter_batches(1024)": ("tokens", lambda paths: pyarrow_raw(paths, 1024), 1.0),
    "datasets, shuffle": ("tokens", datasets_stream, 0.4),
    "jsonl.gz: ours": ("jsonl.gz", lambda paths: ours(paths, "jsonl.gz"), 0.5),
    "jsonl.gz: ours, one file": ("jsonl.gz", lambda paths: ours(paths[:1], "jsonl.gz", min(SHUFFLE, 4000)), 0.5),
    "jsonl.gz: datasets": ("jsonl.gz", lambda paths: datasets_stream(paths, "json"), 0.8),
    "msgpack: ours": ("msgpack.zstf", lambda paths: ours(paths, "msgpack.zstf"), 1.0),
    "msgpack: python": ("msgpack.zstf", python_msgpack, 0.3),
    "bin: ours": ("msgpack-bin", lambda paths: ours(paths, "msgpack.zstf"), 1.0),
    "bin: python": ("msgpack-bin", python_msgpack, 1.0),
    "images: ours": ("images", lambda paths: ours(paths, images=True), 1.0),
    "images: pyarrow": ("images", pyarrow_images, 1.0),
}
BASES = {"tokens": "pyarrow iter_batches(64)", "jsonl.gz": "jsonl.gz: datasets", "msgpack.zstf": "msgpack: python",
         "msgpack-bin": "bin: python", "images": "images: pyarrow"}
"""What each set's contenders are compared to."""


def measure(name: str, paths: list[Path], rows: int) -> dict[str, float]:
    """In a process of its own: imports and the page cache are warm before the clock starts."""
    _, make, share = CONTENDERS[name]
    import pyarrow.parquet  # noqa: F401

    for path in paths:
        warm(path)
    wanted = int(rows * share)
    resident = peak()
    before = resource.getrusage(resource.RUSAGE_SELF)
    begun = time.perf_counter()
    batches = make(paths)
    next(batches)
    first = time.perf_counter()
    done = 0
    for count in batches:
        done += count
        if done >= wanted:
            break
    seconds = time.perf_counter() - first
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"rows_per_s": done / seconds, "rows_per_cpu_s": done / cpu, "first_ms": (first - begun) * 1000,
            "peak_mib": peak() - resident}


def warm(path: Path) -> None:
    """Reads the file through a small window, so that it lies in the page cache and not in this process."""
    window = bytearray(1 << 20)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(window):
            pass


def peak() -> float:
    """MiB of resident memory at most so far. (`ru_maxrss` begins with that of the process that started this one.)"""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def turn(name: str, paths: list[Path], rows: int) -> dict[str, float] | None:
    run = subprocess.run([sys.executable, __file__, "--rows", str(rows), "--measure", name, "--files",
                          *map(str, paths)],
                         capture_output=True, text=True)
    if run.returncode != 0:
        print(f"{name}: left out ({run.stderr.strip().splitlines()[-1] if run.stderr.strip() else 'failed'})")
        return None
    return json.loads(run.stdout.strip().splitlines()[-1])


def report(results: dict[str, list[dict[str, float]]]) -> None:
    def median(name: str, key: str) -> float:
        return statistics.median(r[key] for r in results[name])

    print(f"{'':28} {'rows/s':>10} {'of base':>8} {'rows/CPU s':>11} {'first ms':>9} {'peak MiB':>9}")
    for name in results:
        base = BASES[CONTENDERS[name][0]]
        ratio = f"{median(name, 'rows_per_s') / median(base, 'rows_per_s'):.2f}" if base in results else "-"
        print(f"{name:28} {median(name, 'rows_per_s'):10,.0f} {ratio:>8} {median(name, 'rows_per_cpu_s'):11,.0f} "
              f"{median(name, 'first_ms'):9,.0f} {median(name, 'peak_mib'):9,.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--data", type=Path, default=Path("build/bench"))
    parser.add_argument("--sets", nargs="*", choices=list(SETS))
    parser.add_argument("--only", nargs="*", choices=list(CONTENDERS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--measure", choices=list(CONTENDERS), help=argparse.SUPPRESS)
    parser.add_argument("--files", type=Path, nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.files, options.rows)), flush=True)
        os._exit(0)  # a half-read stream of another library may take its time to end
    names = [name for name in options.only or CONTENDERS if not options.sets or CONTENDERS[name][0] in options.sets]
    files = {CONTENDERS[name][0]: make_data(options.data, CONTENDERS[name][0], options.rows) for name in names}
    results: dict[str, list[dict[str, float]]] = {}
    for _ in range(options.turns):
        for name in names:
            result = turn(name, files[CONTENDERS[name][0]], options.rows)
            if result:
                results.setdefault(name, []).append(result)
    report(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
