"""Signals in every phase of a run: it saves and ends with 130, and what goes on is the unbroken run."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from runs import finish, last_state, run, spawn, steady

STEPS = 8
OPTIONS = dict(stages=("easy", "hard"), every=3, at_start=True, at_end=True)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)


@pytest.fixture(scope="module")
def whole(make_artifact, tmp_path_factory) -> tuple[Path, Path]:
    path, out = make_artifact(**OPTIONS), tmp_path_factory.mktemp("whole") / "run"
    assert run(path, out, "--steps", str(STEPS)) == 0
    return path, out


def state_of(out: Path) -> dict:
    try:
        return json.loads((out / "status.json").read_text())
    except FileNotFoundError:
        return {}


def wait_for(process, what) -> None:
    while not what():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.005)


def in_evaluation(out: Path) -> bool:
    found = state_of(out)
    return found.get("state") == "evaluating" and "step" in found


PHASES = {
    "starting": (lambda out: (out / ".lock").exists(), {}),
    "first passes": (lambda out: state_of(out).get("state") == "evaluating", dict(FAKE_DEVICE="0.05")),
    "device": (lambda out: state_of(out).get("step", 0) >= 2, dict(FAKE_DEVICE="0.1")),
    "waiting for data": (lambda out: state_of(out).get("step", 0) >= 1, dict(FAKE_DELAY="0.3")),
    "evaluating": (in_evaluation, dict(FAKE_DEVICE="0.05")),
    "writing": (lambda out: bool(list((out / "checkpoints").glob(".step-*"))), dict(FAKE_DISK="1")),
    "last save": (lambda out: state_of(out).get("state") == "saving", dict(FAKE_DISK="2")),
}


@pytest.mark.parametrize("phase", PHASES)
def test_a_signal_in_every_phase(whole: tuple[Path, Path], tmp_path: Path, phase: str) -> None:
    path, expected = whole
    out = tmp_path / "run"
    there, slow = PHASES[phase]
    flags = ("--steps", str(STEPS), "--checkpoint-every", "never" if phase == "last save" else "2")
    process = spawn(path, out, *flags, **slow)
    wait_for(process, lambda: there(out))
    process.send_signal(SIGNALS[list(PHASES).index(phase) % 3])
    status, _, err = finish(process)
    assert status == (0 if phase == "last save" else 130), err
    assert "Traceback" not in err
    left = [p.name for p in out.rglob("*") if p.name.startswith(".") and p.name != ".lock"] if out.exists() else []
    assert not left, "nothing half-written"
    if (out / "status.json").exists():
        assert state_of(out)["state"] == ("finished" if status == 0 else "interrupted")
    assert run(path, out, *flags) == 0
    assert steady(out) == steady(expected) and last_state(out) == last_state(expected)


def test_a_signal_ends_a_wait_for_data_at_once(whole: tuple[Path, Path], tmp_path: Path) -> None:
    path, _ = whole
    process = spawn(path, tmp_path / "run", "--steps", str(STEPS), FAKE_DELAY="600")
    wait_for(process, lambda: state_of(tmp_path / "run").get("state") == "evaluating")
    process.send_signal(signal.SIGTERM)
    status, _, err = finish(process)
    assert status == 130, err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_launchers_send_signals_twice(whole: tuple[Path, Path], tmp_path: Path, number: int) -> None:
    """A second one that is no Ctrl-C changes nothing: the run saves all the same."""
    path, expected = whole
    out = tmp_path / "run"
    process = spawn(path, out, "--steps", str(STEPS), FAKE_DEVICE="0.2")
    wait_for(process, lambda: state_of(out).get("step", 0) >= 1)
    for _ in range(5):
        process.send_signal(number)
        time.sleep(0.01)
    status, _, err = finish(process)
    assert status == 130 and err.count("finishing the step") == 1, err
    assert list((out / "checkpoints").glob("step-*"))
    assert run(path, out, "--steps", str(STEPS)) == 0
    assert steady(out) == steady(expected) and last_state(out) == last_state(expected)
