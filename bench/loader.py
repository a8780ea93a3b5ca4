"""How fast the loader is beside raw pyarrow and HF datasets, on the same Parquet file, in alternating turns.

    python bench/loader.py [--rows 100000] [--turns 5] [--data FOLDER] [--only NAME ...] [--json FILE]

Every measurement is a process of its own: the time to the first batch, the rows a second from then on until `--rows`
rows were handed over in batches of 64, and the peak of resident memory beyond that before the reader was made. Turns
alternate, so that a machine that is slow for a while is slow for all; medians and ratios of medians are printed. Rows
are 1,025 int32 tokens, row groups of 1,000 rows.

The contenders with a shuffle keep a buffer of 10,000 rows, which is filled before the first batch. Ours runs in the
infinite mode, so its buffer is full to the end. HF starts so slowly that it gets fewer rows.
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

WIDTH = 1025
BATCH = 64
SHUFFLE = 10_000
ROW_GROUP = 1000


def make_data(folder: Path, rows: int) -> Path:
    """One file of random tokens below 50,257, as a tokenizer would write them (int32 lists, snappy)."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"tokens-{rows}.parquet"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    schema = pa.schema([("input_ids", pa.list_(pa.int32()))])
    partial = path.with_suffix(".partial")
    with pq.ParquetWriter(partial, schema) as writer:
        for start in range(0, rows, ROW_GROUP):
            count = min(ROW_GROUP, rows - start)
            tokens = pa.array(random.integers(0, 50257, count * WIDTH, dtype=np.int32))
            offsets = pa.array(np.arange(count + 1, dtype=np.int32) * WIDTH)
            writer.write_table(pa.table([pa.ListArray.from_arrays(offsets, tokens)], schema=schema))
    partial.rename(path)
    return path


def ours(path: Path, shuffle: int = SHUFFLE, threads: int = 2) -> Iterator[int]:
    from sexpgpu.runtime.dataio import FieldSpec, FilesSource, Loader, LoaderSpec, StageSpec

    spec = LoaderSpec((FieldSpec("tokens", "input_ids", "i32", (WIDTH,)),),
                      (StageSpec("main", (FilesSource((str(path),), "parquet"),), shuffle, True),), BATCH)
    with Loader(spec, seed=1, threads=threads) as loader:
        for batch in loader:
            yield batch.arrays["tokens"].shape[0]
            batch.release()


def pyarrow_raw(path: Path, batch: int = BATCH) -> Iterator[int]:
    import pyarrow.parquet as pq

    while True:
        for rows in pq.ParquetFile(path).iter_batches(batch_size=batch, columns=["input_ids"]):
            yield rows.column(0).flatten().to_numpy().reshape(-1, WIDTH).shape[0]


def datasets_stream(path: Path) -> Iterator[int]:
    os.environ["HF_HUB_OFFLINE"] = "1"
    from datasets import load_dataset

    rows = load_dataset("parquet", data_files=str(path), split="train", streaming=True)
    for batch in rows.shuffle(seed=1, buffer_size=SHUFFLE).with_format("numpy").iter(batch_size=BATCH):
        yield batch["input_ids"].shape[0]


CONTENDERS: dict[str, tuple[Callable[[Path], Iterator[int]], float]] = {
    "ours, shuffle": (ours, 1.0),
    "ours, shuffle, 1 thread": (lambda path: ours(path, threads=1), 1.0),
    "ours, in order": (lambda path: ours(path, shuffle=0), 1.0),
    "pyarrow iter_batches(64)": (pyarrow_raw, 1.0),
    "pyarrow iter_batches(1024)": (lambda path: pyarrow_raw(path, 1024), 1.0),
    "datasets, shuffle": (datasets_stream, 0.4),
}


def measure(name: str, path: Path, rows: int) -> dict[str, float]:
    """In a process of its own: imports and the page cache are warm before the clock starts."""
    make, share = CONTENDERS[name]
    import pyarrow.parquet  # noqa: F401

    warm(path)
    wanted = int(rows * share)
    resident = peak()
    before = resource.getrusage(resource.RUSAGE_SELF)
    begun = time.perf_counter()
    batches = make(path)
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


def turn(name: str, path: Path, rows: int) -> dict[str, float] | None:
    run = subprocess.run([sys.executable, __file__, "--rows", str(rows), "--measure", name, "--file", str(path)],
                         capture_output=True, text=True)
    if run.returncode != 0:
        print(f"{name}: left out ({run.stderr.strip().splitlines()[-1] if run.stderr.strip() else 'failed'})")
        return None
    return json.loads(run.stdout.strip().splitlines()[-1])


def report(results: dict[str, list[dict[str, float]]]) -> None:
    def median(name: str, key: str) -> float:
        return statistics.median(r[key] for r in results[name])

    base = "pyarrow iter_batches(64)"
    print(f"{'':28} {'rows/s':>10} {'of pyarrow':>11} {'rows/CPU s':>11} {'first ms':>9} "
          f"{'peak MiB':>9}")
    for name in results:
        ratio = f"{median(name, 'rows_per_s') / median(base, 'rows_per_s'):.2f}" if base in results else "-"
        print(f"{name:28} {median(name, 'rows_per_s'):10,.0f} {ratio:>11} {median(name, 'rows_per_cpu_s'):11,.0f} "
              f"{median(name, 'first_ms'):9,.0f} {median(name, 'peak_mib'):9,.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--data", type=Path, default=Path("build/bench"))
    parser.add_argument("--only", nargs="*", choices=list(CONTENDERS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--measure", choices=list(CONTENDERS), help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.file, options.rows)), flush=True)
        os._exit(0)  # a half-read stream of another library may take its time to end
    path = make_data(options.data, min(options.rows, 100_000))
    names = list(options.only or CONTENDERS)
    results: dict[str, list[dict[str, float]]] = {}
    for _ in range(options.turns):
        for name in names:
            result = turn(name, path, options.rows)
            if result:
                results.setdefault(name, []).append(result)
    report(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
