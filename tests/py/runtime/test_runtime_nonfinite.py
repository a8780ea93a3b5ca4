"""Losses that are no numbers: skipped, or the run rewound, with a limit. And stages that end too soon."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fake_loader import FakeLoader
from runs import last_state, lines, run, steady
from sexpgpu.cli.run import main

FLAGS = ("--on-nonfinite", "rewind", "--checkpoint-every", "3", "--steps", "12")


class Poisoned(FakeLoader):
    """Two batches of training hold what is no number."""

    def next(self):
        batch = super().next()
        if batch is not None and not self.partial and self._position in (32, 40):
            batch.arrays["x"][1] = np.nan
        return batch


def end_of(folder: Path, loader, artifact: Path, *flags: str) -> int:
    return main([str(artifact), "--out", str(folder), *flags], loader)


def mended(out: Path) -> list[dict]:
    return [{k: v for k, v in line.items() if k != "optimizer/rewinds"} for line in steady(out)]


def test_rewind_leaves_out_the_data_that_led_there(make_artifact, tmp_path: Path, capsys) -> None:
    """Step 8 reads the first of the batches: steps 7 and 8 are made again of the next two, of which the second is the
    other one. So the run is that over data without batches 7 to 10 (rows 24 to 39)."""
    class Without(FakeLoader):
        def next(self):
            if not self.partial and self._position == 24:
                self._position = 40
            return super().next()

    path = make_artifact(every=4)
    assert end_of(tmp_path / "a", Poisoned, path, *FLAGS) == 0
    err = capsys.readouterr().err
    assert "the loss of step 8 is nan: back to step 6" in err and "(2 of at most 50)" in err
    assert end_of(tmp_path / "b", Without, path, *FLAGS) == 0
    assert mended(tmp_path / "a") == mended(tmp_path / "b"), "no line twice, none missing, none of what was undone"
    assert last_state(tmp_path / "a") == last_state(tmp_path / "b")
    assert lines(tmp_path / "a")[-1]["optimizer/rewinds"] == 2
    assert json.loads((tmp_path / "a/summary.json").read_text())["rewinds"] == 2


@pytest.mark.parametrize("cut", [3, 6, 7, 9, 11])
def test_a_rewound_run_resumes(make_artifact, tmp_path: Path, cut: int) -> None:
    """Cut before the rewind, at the checkpoint it goes back to, and after it."""
    path = make_artifact()
    flags = ("--on-nonfinite", "rewind", "--checkpoint-every", "3")
    assert end_of(tmp_path / "a", Poisoned, path, *flags, "--steps", str(cut)) == 0
    if cut == 7:   # a checkpoint that the uncut run does not have would be gone back to
        import shutil
        shutil.rmtree(tmp_path / "a/checkpoints/step-7")
    assert end_of(tmp_path / "a", Poisoned, path, *flags, "--steps", "12") == 0
    assert end_of(tmp_path / "b", Poisoned, path, *flags, "--steps", "12") == 0
    cuts = [cut]
    assert [m for m in steady(tmp_path / "a") if m["step"] not in cuts] == \
        [m for m in steady(tmp_path / "b") if m["step"] not in cuts]
    assert last_state(tmp_path / "a") == last_state(tmp_path / "b")


def test_rewind_before_any_checkpoint(make_artifact, tmp_path: Path) -> None:
    flags = ("--on-nonfinite", "rewind", "--checkpoint-every", "never", "--steps", "12")
    assert end_of(tmp_path / "a", Poisoned, make_artifact(), *flags) == 0
    assert [line["step"] for line in lines(tmp_path / "a")] == list(range(1, 13))


def test_rewind_has_a_limit(make_artifact, tmp_path: Path, capsys) -> None:
    """This artifact's seventh step is never a number, whatever it reads."""
    out = tmp_path / "run"
    assert run(make_artifact(nan_at=6), out, *FLAGS, "--nonfinite-limit", "3") == 4
    err = capsys.readouterr().err
    assert "error[E-NUM-003]: the run was rewound 3 times" in err and err.count("back to step 6") == 3
    assert [line["step"] for line in lines(out)] == [1, 2, 3, 4, 5, 6, 7]
    assert (out / "checkpoints/step-6").is_dir() and not (out / "checkpoints/step-7").exists()


def test_skipping_has_a_limit(make_artifact, tmp_path: Path, capsys) -> None:
    class Nothing(FakeLoader):
        def next(self):
            batch = super().next()
            if batch is not None and self._position > 16:
                batch.arrays["x"][:] = np.nan
            return batch

    out = tmp_path / "run"
    path = make_artifact(skip_nan=True)
    assert end_of(out, Nothing, path, "--nonfinite-limit", "3", "--on-nonfinite", "skip") == 4
    assert "error[E-NUM-003]: 3 updates in a row were skipped, up to step 7" in capsys.readouterr().err
    assert lines(out)[-1]["optimizer/skipped"] == 3
    assert end_of(tmp_path / "b", Nothing, path, "--steps", "10") == 0, "fewer than the limit"


@pytest.mark.parametrize("cut", [0, 5])
def test_a_stage_that_ends_before_the_curriculum_leaves_it(make_artifact, tmp_path: Path, capsys, cut: int) -> None:
    """22 rows are five batches; the curriculum stays for 24 records. What was done is saved."""
    out, path = tmp_path / "run", make_artifact(stages=("easy", "hard"), finite=True)
    if cut:
        assert run(path, out, "--steps", str(cut)) == 0
    assert run(path, out, "--steps", "10") == 2
    err = capsys.readouterr().err
    assert "error[E-RUN-018]: the stage `easy` ended before step 6" in err and "`--steps 5`" in err
    assert (out / "checkpoints/step-5").is_dir()
    assert json.loads((out / "status.json").read_text())["state"] == "failed"
    assert [line["step"] for line in lines(out)] == [1, 2, 3, 4, 5]
    assert run(path, out, "--steps", "5") == 0


def test_status_tells_of_the_stage(make_artifact, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run(make_artifact(stages=("easy", "hard")), out) == 0
    status = json.loads((out / "status.json").read_text())
    assert status["stage"] == "hard" and status["stage_totals"]["records"] == 16
    assert status["stage_totals"]["steps"] == 4 and status["totals"]["records"] == 40


def test_rewind_in_a_folder_of_its_own(make_artifact, tmp_path: Path) -> None:
    """Gone on from another run's checkpoint: there is one to go back to here, too."""
    path = make_artifact()
    assert end_of(tmp_path / "a", Poisoned, path, *FLAGS[:2], "--steps", "6") == 0
    assert end_of(tmp_path / "b", Poisoned, path, *FLAGS[:2], "--checkpoint-every", "never", "--steps", "12",
                  "--resume", str(tmp_path / "a")) == 0
    assert [line["step"] for line in lines(tmp_path / "b")] == list(range(7, 13))
    assert end_of(tmp_path / "c", Poisoned, path, *FLAGS[:2], "--checkpoint-every", "6", "--steps", "12") == 0
    assert last_state(tmp_path / "b") == last_state(tmp_path / "c")
