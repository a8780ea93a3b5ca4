"""Run folders: whose they are, where they lie, which checkpoints stay in them."""

from __future__ import annotations

from pathlib import Path

from fake_loader import FakeLoader
from runs import run
from sexpgpu.cli.run import main


def test_folder_of_another_experiment(make_artifact, tmp_path: Path, capsys) -> None:
    out = tmp_path / "run"
    assert run(make_artifact(), out, "--steps", "2") == 0
    before = (out / "metrics.jsonl").read_bytes()
    assert run(make_artifact(name="other"), out, "--steps", "2") == 2
    assert "holds a run of `sample`" in capsys.readouterr().err
    assert run(make_artifact(), out, "--steps", "4", "--resume", "never") == 2
    assert "E-RUN-005" in capsys.readouterr().err
    assert (out / "metrics.jsonl").read_bytes() == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.jsonl").write_text("{}\n")
    assert run(make_artifact(), tmp_path / "mine") == 2


def test_default_folder(make_artifact, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main([str(make_artifact()), "--steps", "1"], FakeLoader) == 0
    assert len(list((tmp_path / "runs").glob("sample-2*"))) == 2


def test_folder_that_cannot_be_written(make_artifact, tmp_path: Path, capsys) -> None:
    (tmp_path / "file").write_text("")
    assert run(make_artifact(), tmp_path / "file" / "run") == 2
    assert "E-RUN-006" in capsys.readouterr().err


def test_keep(make_artifact, tmp_path: Path) -> None:
    assert run(make_artifact(), tmp_path / "a", "--checkpoint-every", "1", "--keep", "2") == 0
    assert sorted(p.name for p in (tmp_path / "a/checkpoints").iterdir()) == ["step-10", "step-9"]
    assert run(make_artifact(), tmp_path / "b", "--checkpoint-every", "never") == 0
    assert [p.name for p in (tmp_path / "b/checkpoints").iterdir()] == ["step-10"]
