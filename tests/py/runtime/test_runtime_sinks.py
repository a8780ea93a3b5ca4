"""TensorBoard, W&B and MLflow, each read back by its own code: what stands in metrics.jsonl, every step once."""

from __future__ import annotations

import json
import math
import struct
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from fake_loader import FakeBatch, FakeLoader
from runs import finish, lines, run, spawn
from sexpgpu.cli.run import main
from sexpgpu.runtime.sinks.relay import Relay
from sexpgpu.runtime.sinks.sink import KINDS, Kind, Line, Opening, last_step

Curves = dict[str, list[tuple[int, float]]]


def wanted(out: Path) -> Curves:
    """The curves of metrics.jsonl."""
    curves: Curves = defaultdict(list)
    for line in lines(out):
        for name, value in line.items():
            if name not in ("step", "time") and not isinstance(value, str):
                curves[name].append((line["step"], math.nan if value is None else value))
    return dict(curves)


def tensorboard(out: Path) -> Curves:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    reader = EventAccumulator(str(out / "tensorboard"), size_guidance={"scalars": 0}, purge_orphaned_data=False)
    reader.Reload()
    return {tag: [(event.step, event.value) for event in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}


def records(data: bytes) -> list[bytes]:
    """The records of a W&B file: a head of seven bytes, then the log format of LevelDB in blocks of 32 KiB."""
    found, piece, at = [], b"", 7
    assert data[:4] == b":W&B"
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        size, kind = struct.unpack_from("<HB", data, at + 4)
        piece = data[at + 7:at + 7 + size] if kind in (1, 2) else piece + data[at + 7:at + 7 + size]
        if kind in (1, 4):
            found.append(piece)
        at += 7 + size
    return found


def wandb(out: Path) -> Curves:
    """From the files of every session, by W&B's own messages."""
    pytest.importorskip("wandb").teardown()  # its service writes behind `finish`, and is done when this returns
    from wandb.proto.wandb_internal_pb2 import Record

    curves: Curves = defaultdict(list)
    for file in sorted((out / "wandb").glob("offline-run-*/*.wandb")):
        for data in records(file.read_bytes()):
            record = Record()
            record.ParseFromString(data)
            items = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
            step = record.history.step.num
            for name, value in items.items():
                if name not in ("_step", "_runtime", "_timestamp", "time"):
                    curves[name].append((step, float(value)))
    return dict(curves)


def mlflow(out: Path) -> Curves:
    pytest.importorskip("mlflow")
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{out / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("sample")
    assert experiment is not None
    (found,) = client.search_runs([experiment.experiment_id])
    return {name: sorted((m.step, m.value) for m in client.get_metric_history(found.info.run_id, name))
            for name in found.data.metrics}


READERS = {"tensorboard": tensorboard, "wandb": wandb, "mlflow": mlflow}


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WANDB_API_KEY", "WANDB_PROJECT", "WANDB_SERVICE", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WANDB_MODE", "offline")


def same(found: Curves, out: Path) -> None:
    """Every curve with every step once; values as f32, which TensorBoard keeps them in."""
    expected = wanted(out)
    assert found.keys() == expected.keys()
    for name, curve in expected.items():
        assert [step for step, _ in found[name]] == [step for step, _ in curve], name
        for (_, mine), (_, theirs) in zip(found[name], curve, strict=True):
            assert mine == pytest.approx(theirs, rel=1e-6, nan_ok=True), name


def steady_part(curves: Curves) -> Curves:
    return {n: c for n, c in curves.items() if not n.startswith(("rate/", "loader/", "time/", "memory/"))}


@pytest.mark.parametrize("sink", READERS)
def test_what_was_written_is_read_back(make_artifact, tmp_path: Path, sink: str) -> None:
    pytest.importorskip(sink)
    out = tmp_path / "run"
    assert run(make_artifact(every=5, at_start=True), out, "--sinks", sink) == 0
    same(READERS[sink](out), out)


@pytest.mark.parametrize("sink", READERS)
def test_a_killed_run_that_goes_on_has_no_step_twice(make_artifact, tmp_path: Path, sink: str) -> None:
    """SIGKILL after step 8, the newest checkpoint is that of step 6: steps 7 and 8 are done again, and a run killed
    before step 8 a second time must not forget that W&B had step 8 already."""
    pytest.importorskip(sink)
    out = tmp_path / "run"
    artifact = make_artifact(every=None, at_end=False)
    flags = ("--sinks", sink, "--checkpoint-every", "3")
    for kill, delay in (("9", "0.05"), ("2", "0.05")):
        status, _, error = finish(spawn(artifact, out, *flags, FAKE_KILL_AT=kill, FAKE_DELAY=delay))
        assert status == -9, error
    assert run(artifact, out, *flags) == 0
    found, expected = READERS[sink](out), wanted(out)
    assert found.keys() == expected.keys()
    for name, curve in found.items():
        steps = [step for step, _ in curve]
        assert len(steps) == len(set(steps)), (name, steps)
        assert steps == sorted(steps)
        if sink == "tensorboard":
            assert steps == [step for step, _ in expected[name]], name
            assert name.startswith("rate/") or steps == list(range(1, 11)), name
        else:  # what their own queues had not written when the process was killed is lost to them
            assert set(steps) <= set(range(1, 11)) and {9, 10} <= set(steps), (name, steps)
    for name, curve in steady_part(found).items():
        values = dict(expected[name])
        for step, value in curve:
            assert value == pytest.approx(values[step], rel=1e-6, nan_ok=True), (name, step)


class Poisoned(FakeLoader):
    """The eighth batch holds what is no number."""

    def next(self) -> FakeBatch | None:
        batch = super().next()
        if batch is not None and self._position == 32:
            batch.arrays["x"][1] = np.nan
        return batch


@pytest.mark.parametrize("sink", READERS)
def test_a_run_that_goes_back_to_a_checkpoint(make_artifact, tmp_path: Path, sink: str) -> None:
    """Steps 7 and 8 are taken back: TensorBoard shows those that came in their place, the others keep each once."""
    pytest.importorskip(sink)
    out = tmp_path / "run"
    flags = ("--on-nonfinite", "rewind", "--checkpoint-every", "3", "--sinks", sink)
    assert main([str(make_artifact(every=None, at_end=False)), "--out", str(out), *flags], Poisoned) == 0
    assert lines(out)[-1]["optimizer/rewinds"] == 1
    if sink == "tensorboard":
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        reader = EventAccumulator(str(out / "tensorboard"), size_guidance={"scalars": 0})
        reader.Reload()
        found = [(event.step, event.value) for event in reader.Scalars("train/loss")]
        assert found == [(step, pytest.approx(value, rel=1e-6)) for step, value in wanted(out)["train/loss"]]
    else:
        assert [step for step, _ in READERS[sink](out)["train/loss"]] == list(range(1, 11))


def test_a_run_that_is_not_finite_says_so(make_artifact, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    out = tmp_path / "run"
    assert run(make_artifact(nan_at=3), out, "--sinks", "tensorboard") == 4
    found = tensorboard(out)["train/loss"]
    assert [step for step, _ in found] == [1, 2, 3, 4] and math.isnan(found[-1][1])


def test_a_missing_package_is_said_before_anything_is_made(make_artifact, tmp_path: Path, monkeypatch, capfd) -> None:
    for kind in KINDS:
        for package in kind.packages:
            monkeypatch.setitem(sys.modules, package, None)
    out = tmp_path / "run"
    assert run(make_artifact(), out, "--sinks", "mlflow,tensorboard,wandb") == 2
    error = capfd.readouterr().err
    assert error.count("E-RUN-030") == 3 and 'pip install "sexpgpu[wandb]"' in error
    assert not out.exists()


def test_the_names_are_a_closed_set(make_artifact, tmp_path: Path, capfd) -> None:
    assert run(make_artifact(), tmp_path / "run", "--sinks", "tensorbored") == 2
    assert "E-RUN-002" in capfd.readouterr().err
    assert run(make_artifact(run=(("steps", 2), ("sinks", ["jsonl"]))), tmp_path / "run") == 0


def test_the_extras_of_the_package_are_the_sinks() -> None:
    import tomllib

    extras = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert {kind.name for kind in KINDS} <= extras["optional-dependencies"].keys()


class Broken:
    def __init__(self) -> None:
        self.calls = 0

    def write(self, lines: list[Line]) -> None:
        self.calls += 1
        raise OSError("no space left")

    def close(self, state: str) -> None:
        raise AssertionError("it was left out")


def test_a_sink_that_fails_is_left_out_and_said_once(tmp_path: Path, monkeypatch) -> None:
    sink, notes = Broken(), []
    monkeypatch.setattr(Kind, "open", lambda self, opening: sink)
    relay = Relay(KINDS[:1], Opening("sample", tmp_path, tmp_path / "metrics.jsonl", {}, None), notes.append)
    for step in range(5):
        relay.write({"step": step, "time": 1.0, "train/loss": 0.5})
    relay.close("finished")
    assert sink.calls == 1 and len(notes) == 1 and "no space left" in notes[0]


def test_the_last_step_of_a_cut_file(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    assert last_step(path) == -1
    path.write_text('{"step": 3, "time": 1.0}\n{"step": 4, "time": 1.0}\n{"step": 5, "ti')
    assert last_step(path) == 4
