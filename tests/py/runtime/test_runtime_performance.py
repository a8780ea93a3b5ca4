"""Facts of speed and memory, and the trace of some steps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from runs import lines, run, steady


def summary(out: Path) -> dict:
    return json.loads((out / "summary.json").read_text())


def test_the_phases_add_up_to_the_time(make_artifact, tmp_path: Path) -> None:
    assert run(make_artifact(every=5), tmp_path / "run", "--checkpoint-every", "3") == 0
    found = summary(tmp_path / "run")
    session = found["session"]
    assert session["device_s"] + session["loader_wait_s"] + session["host_s"] == pytest.approx(session["step_s"],
                                                                                              abs=1e-4)
    parts = [session[k] for k in ("device_s", "loader_wait_s", "host_s", "evaluation_s", "checkpoint_s", "other_s")]
    assert sum(parts) == pytest.approx(found["seconds"], abs=0.05) and all(part >= 0 for part in parts)
    assert session["evaluation_s"] > 0 and session["checkpoint_s"] > 0


def test_memory_is_told_and_what_is_not_known_is_absent(make_artifact, tmp_path: Path) -> None:
    """The sample counts no FLOPs and has no product to measure by."""
    assert run(make_artifact(), tmp_path / "run") == 0
    found = summary(tmp_path / "run")["performance"]
    assert found["host_peak_bytes"] >= found["host_bytes"] * 0.9 > 10 << 20
    assert found.keys() == {"host_peak_bytes", "host_bytes"}


def test_a_trace_of_some_steps(make_artifact, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run(make_artifact(every=5, finite=False), out, "--profile", "4:6", "--microbatches", "2",
               "--checkpoint-every", "5") == 0
    data = json.loads((out / "profile" / "steps-4-6.json").read_text())
    spans = [e for e in data["traceEvents"] if e["ph"] == "X"]
    steps = [e for e in spans if e["name"].startswith("step ")]
    assert [e["name"] for e in steps] == ["step 4", "step 5", "step 6"]
    for step in steps:
        inside = [e["name"] for e in spans if step["ts"] <= e["ts"] and e["ts"] + e["dur"] <= step["ts"] + step["dur"]
                  and e is not step]
        assert inside.count("microbatch") == 2 and inside.count("batch") == 2 and inside.count("update") == 1, inside
    names = [e["name"] for e in spans]
    assert "evaluate" in names and "checkpoint" in names and "ctx" in names
    assert all(e["dur"] >= 0 for e in spans) and any(e["ph"] == "C" for e in data["traceEvents"])
    assert {e["args"]["name"] for e in data["traceEvents"] if e["ph"] == "M"} >= {"device calls", "waiting for data"}


def test_a_trace_changes_nothing(make_artifact, tmp_path: Path) -> None:
    artifact = make_artifact(every=5)
    assert run(artifact, tmp_path / "a") == 0 and run(artifact, tmp_path / "b", "--profile", "2:4") == 0
    assert steady(tmp_path / "a") == steady(tmp_path / "b")


def test_a_window_that_the_run_leaves_early(make_artifact, tmp_path: Path) -> None:
    assert run(make_artifact(nan_at=3), tmp_path / "a", "--profile", "2:50") == 4
    data = json.loads((tmp_path / "a" / "profile" / "steps-2-50.json").read_text())
    assert "step 2" in [e["name"] for e in data["traceEvents"]]
    assert run(make_artifact(), tmp_path / "b", "--profile", "50:60") == 0
    assert not (tmp_path / "b" / "profile").exists() and len(lines(tmp_path / "b")) == 10


@pytest.mark.parametrize("text", ["5", "0:3", "7:6", "a:b", "1:2:3", ""])
def test_a_window_is_two_steps(make_artifact, tmp_path: Path, capfd, text: str) -> None:
    assert run(make_artifact(), tmp_path / "run", f"--profile={text}") == 2
    assert "E-RUN-002" in capfd.readouterr().err
