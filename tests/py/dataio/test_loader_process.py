"""Threads, signals, forks and the end of the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from dataio_helpers import (
    SOON,
    diagnostic_of,
    id_spec,
    interrupted,
    make_spec,
    no_thread_is_left_but,
    read_ids,
    threads,
    write,
    write_ids,
)
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime.dataio import FieldSpec, Loader


def run(folder: Path, code: str, **options: object) -> subprocess.CompletedProcess[str]:
    """A process with `spec` of an endless loader in `folder`."""
    spec = id_spec(folder, write_ids(folder, [[300, 300]]), batch=10, shuffle=50, infinite=True).to_json()
    head = f"from sexpgpu.runtime.dataio import Loader, LoaderSpec\nspec = LoaderSpec.from_json({spec!r})\n"
    return subprocess.run([sys.executable, "-c", head + textwrap.dedent(code)], text=True, capture_output=True,
                          timeout=60, **options)  # type: ignore[call-overload]


def test_no_thread_is_left(tmp_path: Path) -> None:
    spec = id_spec(tmp_path, write_ids(tmp_path, [[100, 100]]), batch=7, shuffle=20, infinite=True)
    Loader(spec).close()  # Arrow's own start-up, once
    before = threads()
    for _ in range(10):
        with Loader(spec, threads=4) as loader:
            loader.next()
            assert threads() > before
            loader.restore(loader.state())
        assert no_thread_is_left_but(before)
    dropped = Loader(spec, threads=4)
    del dropped
    assert no_thread_is_left_but(before)


def test_waiting_threads_do_not_spin(tmp_path: Path) -> None:
    spec = id_spec(tmp_path, write_ids(tmp_path, [[1000]]), batch=7, shuffle=20, infinite=True)
    with Loader(spec, threads=4) as loader:
        loader.next()
        read = -1
        while read != (read := loader.stats().bytes_read):  # until everything that may be decoded ahead is
            time.sleep(0.3)
        begun = time.process_time()
        time.sleep(0.5)
        assert time.process_time() - begun < 0.05
        assert loader.stats().ready >= 2


def test_other_python_threads_run_while_one_waits(tmp_path: Path) -> None:
    ran = threading.Event()
    spec = id_spec(tmp_path, write_ids(tmp_path, [[2000]]), batch=2000, shuffle=2000, infinite=True)
    with Loader(spec, threads=1) as loader:
        worker = threading.Thread(target=ran.set)
        worker.start()
        for _ in range(5):
            loader.next()
        assert ran.wait(SOON)
        worker.join()


def test_ctrl_c_interrupts_a_wait(tmp_path: Path) -> None:
    """The first batch waits for a buffer of a hundred million numbers, of a type that converts slowly."""
    rows, width = 40_000, 64
    numbers = pa.array(np.arange(rows * width) % 1000).cast(pa.decimal128(25, 3))
    first = write(tmp_path / "0.parquet", {"c": pa.FixedSizeListArray.from_arrays(numbers, width)},
                  row_group_size=rows // 4)
    names = [f"{i}.parquet" for i in range(40)]
    for name in names[1:]:
        os.link(first, tmp_path / name)
    spec = make_spec(tmp_path, names, FieldSpec("f", "c", "f64", (width,)), shuffle=len(names) * rows)
    with Loader(spec, threads=1) as loader:
        with interrupted(lambda: loader.stats().bytes_read > 0):
            loader.next()
        assert loader.stats().rows == 0  # nor was it the batch that ended the wait
    # Closing waits for the piece being decoded, not for the buffer.
    assert loader._core.bytes_read < len(names) * first.stat().st_size / 2


def test_ctrl_c_while_reading(tmp_path: Path) -> None:
    spec = id_spec(tmp_path, write_ids(tmp_path, [[300, 300]]), batch=10, shuffle=50, infinite=True).to_json()
    code = textwrap.dedent(f"""
        from sexpgpu.runtime.dataio import Loader, LoaderSpec
        loader = Loader(LoaderSpec.from_json({spec!r}))
        print("ready", flush=True)
        try:
            while True:
                loader.next()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            loader.close()
    """)
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "interrupted\n"
    assert child.wait(SOON) == 0


def test_a_process_ends_with_a_loader_open(tmp_path: Path) -> None:
    for end in ("", "raise SystemExit(3)", "batch = loader.next(); del loader", "import os; os._exit(4)"):
        out = run(tmp_path, f"loader = Loader(spec, threads=3)\nloader.next()\n{end}")
        assert out.returncode in (0, 3, 4) and out.stderr == ""


def test_a_forked_child_is_told(tmp_path: Path) -> None:
    out = run(tmp_path, """
        import os
        from sexpgpu.diagnostics import SexpError
        loader = Loader(spec)
        first = loader.next()
        pid = os.fork()
        if pid == 0:
            for use in (loader.next, loader.stats, loader.rewind, lambda: loader.restore(first.cursor)):
                try:
                    use()
                except SexpError as error:
                    assert error.diagnostics[0].code == "E-DATA-013"
                else:
                    os._exit(1)
            assert first.arrays["id"].shape == (10,)
            again = Loader(spec, cursor=first.cursor)      # its own loader works
            assert again.next() is not None
            loader.close()
            raise SystemExit(7)                            # a full exit: finalizers run and do not hang
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert loader.next() is not None
        """)
    assert out.returncode == 0, out.stderr


def test_two_loaders_at_once(tmp_path: Path) -> None:
    spec = id_spec(tmp_path, write_ids(tmp_path, [[50], [60]]), batch=5, shuffle=20)
    with Loader(spec, seed=1) as a, Loader(spec, seed=1) as b:
        assert [read_ids(a, 1) for _ in range(10)] == [read_ids(b, 1) for _ in range(10)]


def test_errors_do_not_stop_a_rewind(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"c": pa.array([1, 2, None])})
    with Loader(make_spec(tmp_path, ["a.parquet"], FieldSpec("f", "c", "i32", ()))) as loader:
        for _ in range(3):
            assert [loader.next().arrays["f"].tolist() for _ in range(2)] == [[1], [2]]  # type: ignore[union-attr]
            with pytest.raises(SexpError) as caught:
                loader.next()
            assert diagnostic_of(caught).code == "E-DATA-005"
            loader.rewind()
