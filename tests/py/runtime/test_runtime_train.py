"""The loop end to end on the hand-written artifact: counts, metrics, evaluations, stages, budgets, NaN."""

from __future__ import annotations

import json
import math
from pathlib import Path

import hand_artifact
import numpy as np
import pytest
from fake_loader import ROWS, FakeLoader
from runs import last_state, lines, run, steady
from sexpgpu.runtime.train.plan import Plan
from sexpgpu.runtime.train.reduce import Reduction
from sexpgpu.runtime.train.tally import Tally


def rows_of(seed: int, first: int, count: int, stage: str = "main", name: str = "train") -> dict[str, np.ndarray]:
    options = hand_artifact.Options(stages=(stage,))
    loader = FakeLoader(hand_artifact.loader_spec(options, infinite=True, name=name), stage, seed)
    rows = [loader.row(first + i) for i in range(count)]
    return {n: np.stack([r[n] for r in rows]) for n in rows[0]}


def test_a_run(make_artifact, tmp_path: Path, capsys) -> None:
    out = tmp_path / "run"
    assert run(make_artifact(), out) == 0
    log = lines(out)
    assert [line["step"] for line in log] == list(range(1, 11))
    last = log[-1]
    assert last["counter/records"] == 40
    assert last["counter/tokens"] == int(rows_of(0, 0, 40)["tag"].sum())
    assert last["counter/mass"] == float(last["counter/tokens"])
    assert log[0]["schedule/lr"] == pytest.approx(0.11) and last["schedule/lr"] == pytest.approx(0.02)
    assert last["schedule/beta"] == 0.875 and last["optimizer/skipped"] == 0
    assert "rate/tokens" not in log[0], "the first step gets everything ready"
    for name in ("rate/tokens", "rate/records"):
        assert all(line[name] > 0 for line in log[1:]), name
    for name in ("loader/wait-ms", "loader/ready", "time/step-ms", "time",
                 "optimizer/grad-norm", "train/peak", "train/low", "train/total", "train/final"):
        assert all(isinstance(line[name], int | float) for line in log), name
    assert any(line["train/mae"] is None for line in log), "a step whose rows are all masked has no mean"
    assert "train/mass" not in last and "eval/val/loss" in last and "eval/val/loss" not in log[0]
    assert log[0]["train/final"] == log[0]["train/loss"]
    summary = json.loads((out / "summary.json").read_text())
    assert summary["state"] == "finished" and summary["counters"]["tokens"] == last["counter/tokens"]
    assert 0 <= summary["runtime_share"] <= 1
    status = json.loads((out / "status.json").read_text())
    assert status["state"] == "finished" and status["step"] == 10 and status["progress"] == 1.0
    assert json.loads((out / "manifest.json").read_text())["settings"]["steps"] == 10
    shown = capsys.readouterr()
    assert str(out) in shown.out and "metrics.jsonl" in shown.out
    assert "step 10/10  loss" in shown.err and "val: loss" in shown.err


def test_the_same_seed_twice_and_another(make_artifact, tmp_path: Path) -> None:
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        assert run(make_artifact(), tmp_path / name, "--seed", seed) == 0
    assert steady(tmp_path / "a") == steady(tmp_path / "b")
    assert last_state(tmp_path / "a") == last_state(tmp_path / "b")
    assert steady(tmp_path / "a")[0]["train/loss"] != steady(tmp_path / "c")[0]["train/loss"]


def test_microbatches(make_artifact, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run(make_artifact(), out, "--microbatches", "3", "--steps", "4") == 0
    first, *_, last = lines(out)
    data = rows_of(0, 0, 48)
    assert last["counter/records"] == 48 and last["counter/tokens"] == int(data["tag"].sum())
    noise = [(m * 17 % 101) * 0.001 for m in range(3)]
    errors = [n - data["y"][4 * m:4 * m + 4] for m, n in enumerate(noise)]
    masks = [data["mask"][4 * m:4 * m + 4] for m in range(3)]
    assert first["train/loss"] == pytest.approx(np.mean([(e**2).mean() for e in errors]), rel=1e-5)
    weighted = sum(abs(e)[m].sum() for e, m in zip(errors, masks, strict=True)) / sum(m.sum() for m in masks)
    assert first["train/mae"] == pytest.approx(weighted, rel=1e-5)
    assert first["train/peak"] == pytest.approx(max(abs(e).max() for e in errors), rel=1e-5)
    assert first["train/low"] == pytest.approx(min(abs(e).min() for e in errors), rel=1e-4)
    assert first["train/total"] == pytest.approx(sum((e**2).sum() for e in errors), rel=1e-5)
    assert first["train/final"] == pytest.approx((errors[2]**2).mean(), rel=1e-5)


def test_whole_evaluation_counts_every_row_once(make_artifact, tmp_path: Path) -> None:
    """22 rows in batches of four: the last two go row by row. At the start the weights are zero with the seed 0."""
    out = tmp_path / "run"
    assert run(make_artifact(at_start=True, every=4), out) == 0
    log = lines(out)
    assert [line["step"] for line in log if "eval/val/loss" in line] == [0, 4, 8, 10]
    data = rows_of(0, 0, ROWS)
    assert log[0]["eval/val/loss"] == pytest.approx(float((data["y"]**2).mean()), rel=1e-5)
    assert log[0]["eval/val/mae"] == pytest.approx(float(abs(data["y"])[data["mask"]].mean()), rel=1e-5)
    assert set(log[0]) == {"step", "time", "eval/val/loss", "eval/val/mae"}


def test_evaluation_of_some_batches(make_artifact, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run(make_artifact(at_start=True, batches=2), out, "--steps", "1") == 0
    data = rows_of(0, 0, 8)
    assert lines(out)[0]["eval/val/loss"] == pytest.approx(float((data["y"]**2).mean()), rel=1e-5)


def test_stages(make_artifact, tmp_path: Path) -> None:
    """The curriculum moves on after 24 records; each stage has its own place, and its own counts."""
    out = tmp_path / "run"
    assert run(make_artifact(stages=("easy", "hard")), out) == 0
    log = lines(out)
    assert [line["stage"] for line in log] == ["easy"] * 6 + ["hard"] * 4
    tokens = int(rows_of(0, 0, 24, "easy")["tag"].sum()) + int(rows_of(0, 0, 16, "hard")["tag"].sum())
    assert log[-1]["counter/tokens"] == tokens
    cursor = json.loads((out / "checkpoints/step-10/cursor.json").read_text())
    assert cursor["loaders"] == {"easy": {"position": 24}, "hard": {"position": 16}}
    assert cursor["tally"]["stage_step"] == 4 and cursor["tally"]["stage_records"] == 16


def test_finite_data_sets_the_length(make_artifact, tmp_path: Path, capsys) -> None:
    path = make_artifact(finite=True, run=())
    assert run(path, tmp_path / "a") == 0
    assert [line["step"] for line in lines(tmp_path / "a")] == [1, 2, 3, 4, 5]
    assert run(path, tmp_path / "b", "--steps", "9") == 0
    assert "the data ends after 5 steps" in capsys.readouterr().err
    assert steady(tmp_path / "a") == steady(tmp_path / "b") and "eval/val/loss" in lines(tmp_path / "b")[-1]
    assert run(path, tmp_path / "c", "--records", "100") == 0
    assert "the data ended after step 5" in capsys.readouterr().err
    assert lines(tmp_path / "c")[-1]["eval/val/loss"] == lines(tmp_path / "a")[-1]["eval/val/loss"]
    assert run(path, tmp_path / "d", "--microbatches", "6") == 2
    assert run(path, tmp_path / "e", "--microbatches", "6", "--steps", "3") == 2
    assert "E-RUN-012" in capsys.readouterr().err


def test_no_length(make_artifact, tmp_path: Path, capsys) -> None:
    assert run(make_artifact(run=()), tmp_path / "a") == 2
    assert "E-RUN-004" in capsys.readouterr().err
    assert not (tmp_path / "a").exists(), "a run that never began leaves no folder"
    (tmp_path / "b").mkdir()
    assert run(make_artifact(run=()), tmp_path / "b") == 2 and (tmp_path / "b").exists()


def test_budgets(make_artifact, tmp_path: Path) -> None:
    path = make_artifact()
    assert run(path, tmp_path / "a", "--records", "30") == 0
    assert lines(tmp_path / "a")[-1]["counter/records"] == 32
    assert run(path, tmp_path / "b", "--tokens", "3000") == 0
    log = lines(tmp_path / "b")
    assert log[-1]["counter/tokens"] >= 3000 > log[-2]["counter/tokens"]


def test_log_every(make_artifact, tmp_path: Path) -> None:
    assert run(make_artifact(every=5, at_end=False), tmp_path / "a", "--log-every", "4", "--steps", "11") == 0
    assert [line["step"] for line in lines(tmp_path / "a")] == [4, 5, 8, 10, 11]


def test_nonfinite_stops(make_artifact, tmp_path: Path, capsys) -> None:
    out = tmp_path / "run"
    assert run(make_artifact(nan_at=6), out, "--checkpoint-every", "2") == 4
    assert "error[E-NUM-001]: the loss of step 7 is nan" in capsys.readouterr().err
    log = lines(out)
    assert log[-1]["step"] == 7 and log[-1]["train/loss"] is None
    assert (out / "checkpoints/step-6").is_dir() and not (out / "checkpoints/step-7").exists()
    weights = np.fromfile(out / "checkpoints/step-6/weights.safetensors", np.uint8)
    assert b"NaN" not in weights.tobytes()
    assert json.loads((out / "status.json").read_text())["state"] == "failed"
    assert json.loads((out / "summary.json").read_text())["state"] == "failed"


def test_nonfinite_goes_on_where_it_is_skipped(make_artifact, tmp_path: Path, capsys) -> None:
    assert run(make_artifact(nan_at=6), tmp_path / "a", "--on-nonfinite", "skip") == 2
    assert "E-RUN-017" in capsys.readouterr().err and not (tmp_path / "a").exists()
    assert run(make_artifact(nan_at=6, skip_nan=True), tmp_path / "b") == 0
    log = lines(tmp_path / "b")
    assert log[6]["train/loss"] is None and math.isfinite(log[-1]["train/loss"])
    assert [line["optimizer/skipped"] for line in log] == [0] * 6 + [1] * 4


def test_counters_are_exact_beyond_floats() -> None:
    tally = Tally.start(["tokens"], ["mass"])
    tally.counters["tokens"] = 2**70
    tally.add(1, {"tokens": 1, "mass": 0.1}, float("nan"), False)
    again = Tally.from_json(json.loads(json.dumps(tally.to_json())))
    assert again.counters["tokens"] == 2**70 + 1 and again.counters["mass"] == 0.1 and math.isnan(again.loss)


def test_plan_estimates() -> None:
    tally = Tally.start(["tokens"], [])
    plan = Plan("tokens", 1000, 4)
    assert plan.steps(tally) == 1 and plan.progress(tally) == 0.0
    tally.add(4, {"tokens": 30}, 0.0, False)
    assert plan.steps(tally) == 33 and plan.progress(tally) == 0.03
    tally.add(4, {"tokens": 980}, 0.0, False)
    assert plan.done(tally) and plan.progress(tally) == 1.0 and plan.steps(tally) == 2
    assert Plan("records", 10, 4).steps(tally) == 3


def test_reduction_weighs_by_records() -> None:
    metrics = hand_artifact.manifest().evaluations[0].metrics
    reduction = Reduction(metrics, by_records=True)
    reduction.add(np.array([2.0, 1.0, 6.0, 3.0], np.float32), 4)
    reduction.add(np.array([7.0, 1.0, 1.0, 1.0], np.float32), 1)
    assert reduction.results() == [(2 * 4 + 7) / 5, 7 / 4]
    assert math.isnan(Reduction(metrics).results()[0])


def test_bad_data_keeps_what_was_done(make_artifact, tmp_path: Path, capsys) -> None:
    from sexpgpu.cli.run import main
    from sexpgpu.diagnostics import CODES, Diagnostic, SexpError

    code = next(c for c in CODES if c.startswith("E-DATA"))

    class Bad(FakeLoader):
        def next(self):
            if self._position == 20:
                raise SexpError(Diagnostic(code, "row 20 is bad"))
            return super().next()

    out = tmp_path / "run"
    assert main([str(make_artifact()), "--out", str(out)], Bad) == 3
    assert "row 20 is bad" in capsys.readouterr().err
    assert (out / "checkpoints/step-5").is_dir() and json.loads((out / "status.json").read_text())["state"] == "failed"
    assert run(make_artifact(), out) == 0 and run(make_artifact(), tmp_path / "whole") == 0
    assert steady(out) == steady(tmp_path / "whole") and last_state(out) == last_state(tmp_path / "whole")


def test_passes_take_no_part_in_the_times_of_steps(make_artifact, tmp_path: Path, monkeypatch) -> None:
    """A pass that takes an hour, by a clock that jumps, after every second step: neither the steps' times nor the rates
    know of it."""
    import time
    from types import SimpleNamespace

    from sexpgpu.cli.run import main
    from sexpgpu.runtime.train import speed

    hours = 0

    class Slow(FakeLoader):
        def next(self):
            nonlocal hours
            hours += self.partial and self._position == 0   # passes alone read to the end
            return super().next()

    monkeypatch.setattr(speed, "time", SimpleNamespace(perf_counter=lambda: time.perf_counter() + 3600.0 * hours))
    out = tmp_path / "run"
    assert main([str(make_artifact(every=2)), "--out", str(out)], Slow) == 0
    log = lines(out)
    assert hours == 5 and all(line["time/step-ms"] < 3.6e6 for line in log)
    assert all(line["rate/records"] > 40 / 3600 for line in log[1:])


@pytest.mark.parametrize("which", [1, 2])
def test_bad_data_in_a_pass_loses_no_line(make_artifact, tmp_path: Path, which: int) -> None:
    """The step before the pass is done and its line is not written: the resume writes it, with the pass."""
    from sexpgpu.cli.run import main
    from sexpgpu.diagnostics import CODES, Diagnostic, SexpError

    code, passes = next(c for c in CODES if c.startswith("E-DATA")), 0

    class Bad(FakeLoader):
        def next(self):
            nonlocal passes
            passes += self.partial and self._position == 0
            if passes == which and self._position == 8:
                raise SexpError(Diagnostic(code, "row 8 is bad"))
            return super().next()

    path, out = make_artifact(every=3), tmp_path / "run"
    assert main([str(path), "--out", str(out)], Bad) == 3
    assert [line["step"] for line in lines(out)] == list(range(1, 3 * which))
    assert run(path, out) == 0 and run(path, tmp_path / "whole") == 0
    assert steady(out) == steady(tmp_path / "whole") and last_state(out) == last_state(tmp_path / "whole")


def test_a_run_that_is_at_its_end_says_so(make_artifact, tmp_path: Path, capsys) -> None:
    artifact, out = make_artifact(), tmp_path / "run"
    assert run(artifact, out, "--steps", "3") == 0
    assert "nothing is left" not in capsys.readouterr().err
    before = (out / "metrics.jsonl").read_bytes()
    assert run(artifact, out, "--steps", "2") == 0
    assert "nothing is left to do after step 3; a greater `--steps` goes on" in capsys.readouterr().err
    assert (out / "metrics.jsonl").read_bytes() == before
    assert run(artifact, out, "--steps", "4") == 0
    assert "nothing is left" not in capsys.readouterr().err
