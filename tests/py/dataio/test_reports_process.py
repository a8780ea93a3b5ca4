"""What users of other loaders report of threads, signals and waits, and the right behaviour; named after the report."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from dataio_helpers import SOON, make_spec, write
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio import FieldSpec, Loader
from stage_model import MIXED, make_stage, take

CTRL_C = """
import os, signal, sys, threading, time
from sexpgpu.runtime.dataio import FieldSpec, FilesSource, Loader, LoaderSpec, StageSpec
path, infinite = sys.argv[1], sys.argv[2] == "endless"
spec = LoaderSpec((FieldSpec("x", "x", "i32", ()),),
                  (StageSpec("main", (FilesSource((path,), "jsonl"),), 0, infinite),), 1 << 22)
print("go", flush=True)
try:
    with Loader(spec) as loader:
        try:
            loader.next()
        finally:
            rows = loader.stats().rows
except KeyboardInterrupt:
    print(threading.active_count(), globals().get("rows", 0), flush=True)
"""


@pytest.mark.parametrize("when", ["endless", "counting"])
def test_pytorch_22924_ctrl_c_ends_a_wait_and_leaves_no_thread(tmp_path: Path, when: str) -> None:
    """While a batch of four million rows is filled, and while a finite stage is counted."""
    (tmp_path / "a").write_bytes(b'{"x":12345678}\n' * 5_000_000)
    process = subprocess.Popen([sys.executable, "-c", CTRL_C, str(tmp_path / "a"), when], stdout=subprocess.PIPE,
                               text=True)
    assert process.stdout is not None and process.stdout.readline() == "go\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    answer = process.stdout.readline().split()
    assert process.wait() == 0
    if answer:  # else the batch had come before the signal
        assert answer == ["1", "0"]  # the one thread, and no batch that ended the wait


def test_pytorch_22924_threads_never_need_the_interpreter(tmp_path: Path) -> None:
    """Batches become ready while Python holds its lock and does something else; nothing is in /dev/shm."""
    shared = Path("/proc/self/maps").read_text().count("/dev/shm")
    spec = make_stage(tmp_path, MIXED, batch=10, infinite=True)
    threads = threading.active_count()
    loader = Loader(spec, prefetch=4)
    deadline = time.monotonic() + SOON
    while loader.stats().ready < 4 and time.monotonic() < deadline:
        sum(range(10_000))
    assert loader.stats().ready == 4
    assert Path("/proc/self/maps").read_text().count("/dev/shm") == shared
    del loader
    gc.collect()
    assert threading.active_count() == threads


def test_ray_64523_starvation_is_seen(tmp_path: Path) -> None:
    """The first batch waits for a buffer of slow rows: `wait_ms` is the time `next` took; what is ready adds none."""
    rows = 4_000_000
    numbers = pa.array(np.arange(rows)).cast(pa.decimal128(25, 3))
    write(tmp_path / "slow.parquet", {"c": numbers})
    spec = make_spec(tmp_path, ["slow.parquet"], FieldSpec("f", "c", "f64", ()), shuffle=rows, infinite=True)
    with Loader(spec, prefetch=4) as loader:
        begun = time.perf_counter()
        loader.next()
        took = (time.perf_counter() - begun) * 1000
        first = loader.stats().wait_ms
        assert took / 2 < first <= took
        deadline = time.monotonic() + SOON
        while loader.stats().ready < 3 and time.monotonic() < deadline:  # a full ring is filled again at the half
            time.sleep(0.01)
        assert loader.stats().ready >= 3 and loader.stats().wait_ms == first


def test_a_fork_is_refused(tmp_path: Path) -> None:
    spec = make_stage(tmp_path, MIXED, batch=10, infinite=True)
    with Loader(spec) as loader:
        take(loader, 1)
        read, write_end = os.pipe()
        if (child := os.fork()) == 0:
            try:
                loader.next()
            except SexpError as error:
                os.write(write_end, error.diagnostics[0].code.encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert os.read(read, 100) == b"E-DATA-013"
        assert len(take(loader, 1)) == 10
