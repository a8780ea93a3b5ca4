"""Cut runs go on as if nothing had happened: bit for bit, wherever and however they were cut."""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from pathlib import Path

import pytest
from runs import finish, last_state, lines, run, spawn, steady

STEPS = 12
OPTIONS = dict(stages=("easy", "hard"), every=5, at_start=True, at_end=True)


@pytest.fixture(scope="module")
def whole(make_artifact, tmp_path_factory) -> tuple[Path, Path]:
    """The artifact, and the folder of its uncut run."""
    path, out = make_artifact(**OPTIONS), tmp_path_factory.mktemp("whole") / "run"
    assert run(path, out, "--steps", str(STEPS)) == 0
    return path, out


def cut_and_go_on(whole: tuple[Path, Path], tmp_path: Path, rng: random.Random, name: str) -> None:
    """Up to three cuts at random batches (passes included), by SIGKILL or SIGINT, with other threads each time."""
    path, expected = whole
    out = tmp_path / name
    flags = ["--steps", str(STEPS), "--checkpoint-every", str(rng.choice((1, 2, 3, 5)))]
    ways = ("FAKE_KILL_AT", "FAKE_SIGNAL_AT")
    cuts = [(rng.choice(ways), rng.randrange(1, 36)) for _ in range(rng.choice((1, 2, 3)))]
    for how, at in cuts:
        status, _, err = finish(spawn(path, out, *flags, "--threads", rng.choice("14"), **{how: str(at)}))
        if status == 0:
            break
        assert status == (-signal.SIGKILL if how == "FAKE_KILL_AT" else 130), err
    status, _, err = finish(spawn(path, out, *flags, "--threads", rng.choice("14")))
    assert status == 0, err
    assert steady(out) == steady(expected), cuts
    assert last_state(out) == last_state(expected), cuts
    assert not list((out / "checkpoints").glob(".*")), "nothing half-written is left"


@pytest.mark.parametrize("seed", range(5))
def test_cut_at_random(whole: tuple[Path, Path], tmp_path: Path, seed: int) -> None:
    cut_and_go_on(whole, tmp_path, random.Random(seed), "run")


@pytest.mark.slow
def test_cut_at_random_200_times(whole: tuple[Path, Path], tmp_path: Path) -> None:
    rng = random.Random(1)
    for i in range(200):
        cut_and_go_on(whole, tmp_path, rng, f"run-{i}")
        shutil.rmtree(tmp_path / f"run-{i}")


def test_every_step_of_a_run_in_pieces(whole: tuple[Path, Path], tmp_path: Path) -> None:
    """One step a process' worth: longer and longer plans over the same folder. The schedule sees only `step`."""
    path, expected = whole
    for steps in range(1, STEPS + 1):
        assert run(path, tmp_path / "run", "--steps", str(steps)) == 0
    mine = [{k: v for k, v in line.items() if not k.startswith("eval/")} for line in steady(tmp_path / "run")]
    theirs = [{k: v for k, v in line.items() if not k.startswith("eval/")} for line in steady(expected)]
    assert mine == theirs and last_state(tmp_path / "run") == last_state(expected)


def test_microbatches_resume(make_artifact, tmp_path: Path) -> None:
    path = make_artifact()
    flags = ("--microbatches", "3")
    assert run(path, tmp_path / "whole", *flags, "--steps", "6") == 0
    assert run(path, tmp_path / "cut", *flags, "--steps", "3") == 0
    assert run(path, tmp_path / "cut", *flags, "--steps", "6") == 0
    mine, theirs = steady(tmp_path / "cut"), steady(tmp_path / "whole")
    assert [m for m in mine if m["step"] != 3] == [t for t in theirs if t["step"] != 3]
    assert last_state(tmp_path / "cut") == last_state(tmp_path / "whole")


def test_finished_run_stays_finished(whole: tuple[Path, Path], tmp_path: Path) -> None:
    path, expected = whole
    out = tmp_path / "run"
    shutil.copytree(expected, out)
    assert run(path, out, "--steps", str(STEPS)) == 0
    assert (out / "metrics.jsonl").read_bytes() == (expected / "metrics.jsonl").read_bytes()


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer.safetensors", "cursor.json", "complete.json"])
def test_damaged_checkpoint_is_skipped(whole: tuple[Path, Path], tmp_path: Path, name: str, capsys) -> None:
    path, expected = whole
    out = tmp_path / "run"
    assert run(path, out, "--steps", "8", "--checkpoint-every", "2") == 0
    damage(out / "checkpoints/step-8" / name)
    capsys.readouterr()
    assert run(path, out, "--steps", str(STEPS)) == 0
    err = capsys.readouterr().err
    assert "step-8` is damaged and was skipped" in err and "going on after step 6" in err
    assert steady(out)[-1] == steady(expected)[-1] and last_state(out) == last_state(expected)


def test_all_damaged(whole: tuple[Path, Path], tmp_path: Path, capsys) -> None:
    path, _ = whole
    out = tmp_path / "run"
    assert run(path, out, "--steps", "3") == 0
    damage(out / "checkpoints/step-3/weights.safetensors")
    assert run(path, out, "--steps", "5") == 3
    assert run(path, out, "--steps", "5", "--resume", str(out / "checkpoints/step-3")) == 3
    assert capsys.readouterr().err.count("E-CKPT-002") == 2


def test_incomplete_checkpoint_is_none(whole: tuple[Path, Path], tmp_path: Path) -> None:
    path, _ = whole
    out = tmp_path / "run"
    assert run(path, out, "--steps", "4", "--checkpoint-every", "2") == 0
    (out / "checkpoints/step-4/complete.json").unlink()
    assert run(path, out, "--steps", "4") == 0
    assert (out / "checkpoints/step-4/complete.json").exists()


def test_checkpoint_of_another_model(make_artifact, whole, tmp_path: Path, capsys) -> None:
    path, _ = whole
    out = tmp_path / "run"
    assert run(path, out, "--steps", "2") == 0
    wider = make_artifact(**OPTIONS, width=5)
    assert run(wider, out, "--steps", "4") == 3
    err = capsys.readouterr().err
    assert "error[E-CKPT-003]" in err and "`w` is f32 [3], f32 [5] in the model" in err and "`w.v`" in err


def test_resume_from_a_path(whole: tuple[Path, Path], tmp_path: Path, capsys) -> None:
    path, expected = whole
    assert run(path, tmp_path / "a", "--steps", "6", "--checkpoint-every", "3") == 0
    for i, place in enumerate((tmp_path / "a", tmp_path / "a/checkpoints", tmp_path / "a/checkpoints/step-3")):
        out = tmp_path / f"b{i}"
        assert run(path, out, "--steps", str(STEPS), "--resume", str(place)) == 0
        assert last_state(out) == last_state(expected)
        assert lines(out)[0]["step"] == (4 if i == 2 else 7)
    assert run(path, tmp_path / "c", "--resume", str(tmp_path)) == 3
    assert run(path, tmp_path / "a", "--resume", str(tmp_path / "a/checkpoints/step-3")) == 2
    assert run(path, tmp_path / "a", "--resume", str(tmp_path / "b0")) == 2
    err = capsys.readouterr().err
    assert "holds checkpoints of its own" in err
    assert "E-CKPT-001" in err and "holds a later checkpoint" in err


def test_another_seed(whole: tuple[Path, Path], tmp_path: Path, capsys) -> None:
    path, _ = whole
    out = tmp_path / "run"
    assert run(path, out, "--steps", "2", "--seed", "5") == 0
    assert run(path, out, "--steps", "4", "--seed", "6") == 2
    assert "E-RUN-010" in capsys.readouterr().err
    assert run(path, out, "--steps", "4") == 0
    assert json.loads((out / "manifest.json").read_text())["settings"]["seed"] == 5


def test_a_later_version(whole: tuple[Path, Path], tmp_path: Path, capsys) -> None:
    from sexpgpu.runtime.artifact.codec import encode
    from sexpgpu.runtime.checkpoint.cursor import Marker
    from sexpgpu.runtime.checkpoint.tensors import Written

    path, _ = whole
    assert run(path, tmp_path / "run", "--steps", "2") == 0
    folder = tmp_path / "run/checkpoints/step-2"
    text = (folder / "cursor.json").read_text().replace('"schema": 1', '"schema": 9').encode()
    (folder / "cursor.json").write_bytes(text)
    import hashlib
    marker = Marker(("cursor.json",), (Written(len(text), hashlib.sha256(text).hexdigest()),))
    (folder / "complete.json").write_text(json.dumps(encode(marker)))
    assert run(path, tmp_path / "run", "--steps", "4") == 3
    assert "E-CKPT-006" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_tells(whole: tuple[Path, Path], tmp_path: Path, number: int) -> None:
    path, expected = whole
    out = tmp_path / "my run"
    process = spawn(path, out, "--steps", str(STEPS), FAKE_DELAY="0.05")
    while not (out / "metrics.jsonl").exists() or len(lines(out)) < 4:
        time.sleep(0.01)
    process.send_signal(number)
    status, shown, err = finish(process)
    assert status == 130 and "finishing the step" in err
    command = next(line for line in shown.splitlines() if line.startswith("go on with: "))
    assert command == f"go on with: sexpgpu-run {path} --steps {STEPS} --out '{out}'"
    assert json.loads((out / "status.json").read_text())["state"] == "interrupted"
    assert run(path, out, "--steps", str(STEPS)) == 0
    assert steady(out) == steady(expected) and last_state(out) == last_state(expected)


def test_a_second_signal_stops_at_once(whole: tuple[Path, Path], tmp_path: Path) -> None:
    path, _ = whole
    process = spawn(path, tmp_path / "run", "--steps", str(STEPS), FAKE_DEVICE="300")
    while not (tmp_path / "run/status.json").exists():
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    status, _, _ = finish(process)  # waits less than the device takes
    assert status == 130


def test_two_processes_in_one_folder(whole: tuple[Path, Path], tmp_path: Path, capsys) -> None:
    path, _ = whole
    process = spawn(path, tmp_path / "run", "--steps", str(STEPS), FAKE_DELAY="0.2")
    while not (tmp_path / "run/status.json").exists():
        time.sleep(0.01)
    assert run(path, tmp_path / "run", "--steps", "2") == 2
    assert "another process is writing" in capsys.readouterr().err
    process.kill()
    finish(process)
    assert run(path, tmp_path / "run", "--steps", "2") == 0, "the lock goes with the process"
