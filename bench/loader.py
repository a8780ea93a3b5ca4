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
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from peers import peak
from peers.loader_readers import (
    datasets_stream,
    ours,
    pyarrow_images,
    pyarrow_raw,
    pyarrow_s3,
    python_msgpack,
)
from peers.loader_sets import SETS, make_data, served, set_rows


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
    parser.add_argument("--rows", type=int, default=100_000, help="rows to measure at least (100000)")
    parser.add_argument("--turns", type=int, default=5, help="measurements of each (5)")
    parser.add_argument("--data", type=Path, default=Path("build/bench"), help="where the sets lie, or are made")
    parser.add_argument("--sets", nargs="*", choices=list(SETS), help="the contenders of these sets")
    parser.add_argument("--only", nargs="*", choices=list(CONTENDERS), help="these contenders")
    parser.add_argument("--json", type=Path, help="a file for every measurement")
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
