"""When checkpoints are taken and which stay: by steps, asked for, the best; the thread that writes them; full disks."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from fake_loader import FakeLoader
from runs import finish, last_state, lines, run, spawn, steady
from sexpgpu.cli.run import main
from sexpgpu.runtime.checkpoint import writer as writing
from sexpgpu.runtime.checkpoint.cursor import Best, Cursor
from sexpgpu.runtime.checkpoint.snapshot import Snapshot
from sexpgpu.runtime.checkpoint.store import open_checkpoint
from sexpgpu.runtime.checkpoint.writer import Writer
from sexpgpu.runtime.train.tally import Tally


def kept(out: Path) -> set[str]:
    return {p.name for p in (out / "checkpoints").iterdir()}


@pytest.mark.parametrize("wanted", ["eval/val/loss", "max:eval/val/mae"])
def test_the_best_is_kept(make_artifact, tmp_path: Path, wanted: str) -> None:
    """Which one it is follows from the lines; a resume knows it, and one run in pieces keeps the same."""
    path = make_artifact(every=2, at_start=True)
    flags = ("--checkpoint-every", "5", "--keep", "1", "--keep-best", wanted)
    assert run(path, tmp_path / "a", *flags, "--steps", "14") == 0
    passes = {line["step"]: line[wanted.removeprefix("max:")] for line in lines(tmp_path / "a")
              if "eval/val/loss" in line}
    best = (max if wanted.startswith("max:") else min)(passes, key=lambda step: (passes[step]))
    assert kept(tmp_path / "a") == {"step-14", f"step-{best}"}
    summary = json.loads((tmp_path / "a/summary.json").read_text())
    assert summary["best"] == {"metric": wanted, "step": best, "value": passes[best]}
    for steps in ("4", "9", "14"):
        assert run(path, tmp_path / "b", *flags, "--steps", steps) == 0
    assert f"step-{best}" in kept(tmp_path / "b")
    cursor, _ = open_checkpoint(tmp_path / f"b/checkpoints/step-{best}")
    assert cursor.step == best


def test_a_best_that_is_no_metric(make_artifact, tmp_path: Path, capsys) -> None:
    assert run(make_artifact(), tmp_path / "a", "--keep-best", "eval/val/los") == 2
    assert "there is `eval/val/loss`" in capsys.readouterr().err
    assert run(make_artifact(), tmp_path / "a", "--keep-best", "loss") == 2


def test_save_now(make_artifact, tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = spawn(make_artifact(), out, "--steps", "60", "--checkpoint-every", "never", FAKE_DELAY="0.05")
    while not (out / "metrics.jsonl").exists() or not lines(out):
        time.sleep(0.01)
    for _ in range(2):
        (out / "save-now").touch()
        while (out / "save-now").exists():
            assert process.poll() is None
            time.sleep(0.01)
        newest = max(kept(out), key=lambda name: int(name[5:]))
        cursor, _ = open_checkpoint(out / "checkpoints" / newest)
        assert 0 < cursor.step < 60
    process.terminate()
    assert finish(process)[0] == 130


def test_a_slow_disk_holds_nothing_up(make_artifact, tmp_path: Path) -> None:
    """A write takes seconds, and steps are made beside it: lines come while the checkpoint is not yet complete."""
    out = tmp_path / "run"
    process = spawn(make_artifact(), out, "--steps", "40", "--checkpoint-every", "20", FAKE_DISK="2")
    beside = 0
    while process.poll() is None:
        if (out / "metrics.jsonl").exists():
            found = len((out / "metrics.jsonl").read_bytes().splitlines())
            if not (out / "checkpoints/step-20").exists():   # not even after the lines were looked at
                beside = max(beside, found)
        time.sleep(0.02)
    status, _, err = finish(process)
    assert status == 0, err
    assert beside > 20, "written beside the steps"
    assert kept(out) == {"step-20", "step-40"}
    summary = json.loads((out / "summary.json").read_text())["session"]
    assert summary["checkpoint_writing_s"] >= 8.0


def snapshot(step: int, size: int = 8, best: int | None = None) -> Snapshot:
    from hand_artifact import manifest

    found = manifest()
    tensors = tuple((t, np.zeros(t.shape, {"f32": np.float32, "bf16": np.uint16}[t.dtype])) for t in found.state)
    cursor = Cursor("sample", "0", step, 0, 1, Tally(), {}, None, 0.0,
                    None if best is None else Best("eval/val/loss", best, (0.0).hex()))
    return Snapshot(cursor, tensors)


def test_the_writer_is_bounded(tmp_path: Path, monkeypatch) -> None:
    gate, order = threading.Event(), []
    writer = Writer(tmp_path / "checkpoints", 9, gate.wait, lambda path: order.append(path.name))
    small = snapshot(1)
    assert writer.room(1 << 40), "a large one, where nothing waits"
    writer.put(small)
    assert not writer.room(1 << 40) and writer.room(small.bytes)
    for step in range(2, writing.MOST + 1):
        assert writer.room(small.bytes)
        writer.put(snapshot(step))
    assert not writer.room(small.bytes)
    gate.set()
    writer.wait()
    writer.close()
    assert order == [f"step-{n}" for n in range(1, writing.MOST + 1)]
    assert len(kept(tmp_path)) == 9


def test_the_best_survives_pruning(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "checkpoints", 2, lambda: None, lambda path: None)
    for step in range(1, 7):
        writer.put(snapshot(step, best=3 if step >= 3 else None))
    writer.wait()
    writer.close()
    assert kept(tmp_path) == {"step-3", "step-5", "step-6"}


def test_a_failed_write_is_told(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("a file")
    writer = Writer(tmp_path / "checkpoints", 2, lambda: None, lambda path: None)
    writer.put(snapshot(1))
    with pytest.raises(OSError):
        writer.wait()
    with pytest.raises(OSError):
        writer.check()
    writer.close()


def test_a_full_disk(make_artifact, tmp_path: Path) -> None:
    """No file may grow beyond some bytes: a clear end, whole lines, no half checkpoint; with space it goes on."""
    path = make_artifact()
    assert run(path, tmp_path / "whole", "--steps", "12") == 0
    sizes = {p.name: p.stat().st_size for p in (tmp_path / "whole").rglob("*") if p.is_file()}
    for limit, where in ((sizes["metrics.jsonl"] // 2, "metrics"), (sizes["weights.safetensors"] - 8, "weights")):
        out = tmp_path / where
        assert run(path, out, "--steps", "2", "--checkpoint-every", "1") == 0
        limit = limit if where == "metrics" else max(limit, 0)
        status, _, err = finish(spawn(path, out, "--steps", "12", "--checkpoint-every", "1",
                                      FAKE_FILE_LIMIT=str(limit)))
        assert status == 2 and "error[E-RUN-006]" in err and "file too large" in err, err
        text = (out / "metrics.jsonl").read_bytes()
        assert not text or text.endswith(b"\n")
        assert all(open_checkpoint(p) for p in (out / "checkpoints").glob("step-*"))
        assert not list((out / "checkpoints").glob(".*"))
        assert run(path, out, "--steps", "12") == 0
        assert steady(out)[-1] == steady(tmp_path / "whole")[-1]
        assert last_state(out) == last_state(tmp_path / "whole")


@pytest.mark.parametrize("again", [False, True])
def test_the_folder_vanishes(make_artifact, tmp_path: Path, again: bool) -> None:
    """Even where another has come in its place: nothing is written into that."""
    out = tmp_path / "run"
    process = spawn(make_artifact(), out, "--steps", "1000", "--checkpoint-every", "5", FAKE_DELAY="0.05")
    while not (out / "metrics.jsonl").exists() or len(lines(out)) < 3:
        time.sleep(0.01)
    out.rename(tmp_path / "gone")
    shutil.rmtree(tmp_path / "gone")
    if again:
        out.mkdir()
        (out / ".lock").touch()
    status, _, err = finish(process)
    assert status == 2 and "error[E-RUN-006]" in err and "removed or replaced" in err, err
    assert [p.name for p in out.iterdir()] == [".lock"] if again else not out.exists()


def test_the_clock_jumps(make_artifact, tmp_path: Path, monkeypatch) -> None:
    """A day back in the middle of a run: what has passed is told by another clock."""
    real = time.time

    class Jumping(FakeLoader):
        def next(self):
            if self._position == 16:
                monkeypatch.setattr(time, "time", lambda: real() - 86400.0 * 3)
            return super().next()

    assert main([str(make_artifact()), "--out", str(tmp_path / "run")], Jumping) == 0
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert 0 <= summary["seconds"] < 60 and summary["session"]["first_step_s"] >= 0
    assert all(line["rate/records"] > 0 for line in lines(tmp_path / "run")[1:])


def test_leftovers_of_a_kill_are_swept(make_artifact, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run(make_artifact(), out, "--steps", "2") == 0
    for name in (".status.json.abc123_x.tmp", ".report.html.q_w_e_r_.tmp"):
        (out / name).write_text("half")
    (out / ".notes").write_text("mine")
    real = tempfile.mkstemp(prefix=".summary.json.", suffix=".tmp", dir=out)
    os.close(real[0])
    assert run(make_artifact(), out, "--steps", "4") == 0
    assert {p.name for p in out.iterdir() if p.name.startswith(".")} == {".lock", ".notes"}


def test_init_from_reports(make_artifact, tmp_path: Path, capsys) -> None:
    assert run(make_artifact(), tmp_path / "a", "--steps", "3") == 0
    capsys.readouterr()
    assert run(make_artifact(), tmp_path / "b", "--steps", "1", "--init-from",
               str(tmp_path / "a/checkpoints/step-3/weights.safetensors")) == 0
    assert "gave all 2 parameters and 1 buffers" in capsys.readouterr().err
