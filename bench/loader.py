"""How fast the loader is beside raw readers and HF datasets, on the same files, in alternating turns.

    python bench/loader.py [--rows 100000] [--turns 5] [--data FOLDER] [--sets NAME ...] [--only NAME ...] [--json FILE]

Every measurement is a process of its own, with all imports made and the files in the page cache: the time to the first
batch; the rows a second from then on, over whole passes, `--rows` rows or one pass at least, in batches of 64; and the
peak of resident memory beyond that before the reader was made. Whole passes, because some readers take in much before
the first batch and then give it out quickly. Turns alternate, so that a machine that is slow for a while is slow for
all; medians and ratios of medians are printed.

| set | rows |
|---|---|
| tokens | 1,025 int32 tokens, Parquet, one file, row groups of 1,000 rows |
| jsonl.gz | the same tokens as JSON lines, four files |
| msgpack.zstf | the same as msgpack arrays of numbers, four files of a frame for each 256 rows |
| msgpack-bin | the same as msgpack `bin` |
| images | 3,072 bytes and a label, Parquet, row groups of 1,000 rows |
| s3 | the tokens in eight Parquet files, in a moto server on loopback, a process of its own on the same cores |

The contenders with a shuffle keep a buffer of 10,000 rows, which is filled before the first batch. Ours runs in the
infinite mode, so its buffer is full to the end.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Contender:
    """`rows` is the share of `--rows` that is measured, never less than a pass; `modules` are imported beforehand."""

    set: str
    make: Callable[[list[Path]], Iterator[int]]
    modules: str
    rows: float = 1.0
    files: int | None = None


OURS, ARROW = "sexpgpu.runtime.dataio.loader", "pyarrow.parquet"
CONTENDERS: dict[str, Contender] = {
    "ours, shuffle": Contender("tokens", ours, OURS),
    "ours, shuffle, 1 thread": Contender("tokens", lambda paths: ours(paths, threads=1), OURS),
    "ours, in order": Contender("tokens", lambda paths: ours(paths, shuffle=0), OURS),
    "pyarrow iter_batches(64)": Contender("tokens", pyarrow_raw, ARROW),
    "pyarrow iter_batches(1024)": Contender("tokens", lambda paths: pyarrow_raw(paths, 1024), ARROW),
    "datasets, shuffle": Contender("tokens", datasets_stream, "datasets", 0),
    "jsonl.gz: ours": Contender("jsonl.gz", lambda paths: ours(paths, "jsonl.gz"), OURS, 0.6),
    "jsonl.gz: ours, one file": Contender("jsonl.gz", lambda paths: ours(paths, "jsonl.gz", 4000), OURS, 0.4, 1),
    "jsonl.gz: datasets": Contender("jsonl.gz", lambda paths: datasets_stream(paths, "json"), "datasets", 0),
    "msgpack: ours": Contender("msgpack.zstf", lambda paths: ours(paths, "msgpack.zstf"), OURS),
    "msgpack: python": Contender("msgpack.zstf", python_msgpack, "msgpack zstandard numpy", 0),
    "bin: ours": Contender("msgpack-bin", lambda paths: ours(paths, "msgpack.zstf"), OURS),
    "bin: python": Contender("msgpack-bin", python_msgpack, "msgpack zstandard numpy"),
    "images: ours": Contender("images", lambda paths: ours(paths, images=True), OURS, 2),
    "images: pyarrow": Contender("images", pyarrow_images, ARROW, 2),
    "s3: ours": Contender("s3", ours, OURS + " boto3 sexpgpu.runtime.dataio.remote.worker", 0.4),
    "s3: pyarrow iter_batches(64)": Contender("s3", pyarrow_s3, ARROW + " pyarrow.fs", 0.4),
}
BASES = {"tokens": "pyarrow iter_batches(64)", "jsonl.gz": "jsonl.gz: datasets", "msgpack.zstf": "msgpack: python",
         "msgpack-bin": "bin: python", "images": "images: pyarrow", "s3": "s3: pyarrow iter_batches(64)"}
"""What each set's contenders are compared to."""


def measure(name: str, paths: list[Path], rows: int) -> dict[str, float]:
    """In a process of its own: imports and the page cache are warm before the clock starts."""
    contender = CONTENDERS[name]
    import pyarrow.parquet  # noqa: F401

    for module in contender.modules.split():
        importlib.import_module(module)
    for path in paths:
        if path.exists():
            warm(path)
    resident = peak()
    begun = time.perf_counter()
    batches = contender.make(paths)
    next(batches)
    first = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_SELF)
    done = 0
    for count in batches:
        done += count
        if done >= rows:
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


def rows_of(name: str, wanted: int) -> int:
    """Whole passes over the contender's files that have about as many rows as wanted."""
    contender = CONTENDERS[name]
    of_set = set_rows(contender.set, wanted)
    one = of_set if contender.files is None else of_set * contender.files // 4
    return one * max(1, round(wanted * contender.rows / one))


def turn(name: str, paths: list[Path], rows: int) -> dict[str, float] | None:
    run = subprocess.run([sys.executable, __file__, "--rows", str(rows_of(name, rows)), "--measure", name, "--files",
                          *map(str, paths[:CONTENDERS[name].files])],
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
        base = BASES[CONTENDERS[name].set]
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
    names = [name for name in options.only or CONTENDERS if not options.sets or CONTENDERS[name].set in options.sets]
    sets = dict.fromkeys(CONTENDERS[name].set for name in names)
    results: dict[str, list[dict[str, float]]] = {}
    with served({name: make_data(options.data, name, options.rows) for name in sets}) as files:
        for _ in range(options.turns):
            for name in names:
                paths = files.get(CONTENDERS[name].set)
                if paths and (result := turn(name, paths, options.rows)):
                    results.setdefault(name, []).append(result)
    report(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
