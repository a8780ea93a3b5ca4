"""The run file: read, checked, laid over the experiment's settings and under the flags."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from runs import lines, run
from sexpgpu.cli.run import main
from sexpgpu.cli.run_file import read_run_file
from sexpgpu.diagnostics import SourceMap
from sexpgpu.diagnostics.house_style import check_message
from sexpgpu.runtime.options import OPTIONS
from sexpgpu.runtime.settings import merge, read_layer


def read(tmp_path: Path, text: str):
    path = tmp_path / "run.sexp"
    path.write_text(text, encoding="utf-8")
    found = read_run_file(str(path), SourceMap())
    read_layer("it", found.values, ":", found.problems, found.places)
    assert not [wrong for d in found.problems for wrong in check_message(d)]
    return found


def test_values(tmp_path: Path) -> None:
    found = read(tmp_path, '; tonight\n(run :steps 1_000 :checkpoint-every "10m" :resume :auto :out "a b")')
    assert not found.problems
    assert found.values == {"steps": 1000, "checkpoint-every": "10m", "resume": "auto", "out": "a b"}


@pytest.mark.parametrize("text, codes", [
    ("", ["E-RUN-016"]), ("(run", ["E-READ-002"]), ("(run :steps 1) (run :keep 1)", ["E-RUN-016"]),
    ("(defvar x 1) (run :steps 1)", ["E-RUN-016"]), ("(run steps 1)", ["E-RUN-016", "E-RUN-016"]),
    ("(run :steps)", ["E-RUN-016"]), ("(run :steps 1 :steps 2)", ["E-RUN-016"]), ("(run :steps n)", ["E-RUN-016"]),
    ("(run :steps (* 2 3))", ["E-RUN-016"]), ("(run :steps nil)", ["E-RUN-002"]), ("(run :steps 1.5)", ["E-RUN-002"]),
    ("(run :steps [1 2])", ["E-RUN-002"]), ("(run :steps true)", ["E-RUN-002"]),
    ("(run :stpes 1 :kepe 2 :keep 0)", ["E-RUN-001", "E-RUN-001", "E-RUN-002"]),
    ("(run :steps 1 :tokens 5)", ["E-RUN-003"]), ("(run :on-nonfinite :rewnd)", ["E-RUN-002"]),
])
def test_mistakes(tmp_path: Path, text: str, codes: list[str]) -> None:
    found = read(tmp_path, text)
    assert [d.code for d in found.problems] == codes
    assert all(d.primary is not None for d in found.problems) or text == ""


def test_suggestions(tmp_path: Path) -> None:
    found = read(tmp_path, "(run :stpes 1 :on-nonfinite :rewnd)")
    assert [d.fix.text for d in found.problems] == ["did you mean `:steps`?", "did you mean `rewind`?"]


def test_everything_wrong_at_once(make_artifact, tmp_path: Path, capsys) -> None:
    """Of the words and of the file, before the artifact is looked at; the status is 2, though a bracket lacks."""
    path = tmp_path / "run.sexp"
    path.write_text("(run :setps 5\n     :keep 0)")
    assert main([str(make_artifact()), str(path), "--sede", "1", "--steps", "0"]) == 2
    err = capsys.readouterr().err
    for words in ("did you mean `--seed`?", "did you mean `:steps`?", "`:keep` takes", "`--steps` takes",
                  f"{path}:1:6", f"{path}:2:6"):
        assert words in err, words
    path.write_text("(run :keep 1")
    assert main([str(make_artifact()), str(path)]) == 2
    assert main([str(make_artifact()), str(tmp_path / "none.sexp")]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_layers(make_artifact, tmp_path: Path) -> None:
    path = tmp_path / "run.sexp"
    path.write_text("(run :records 24 :log-every 2)")
    artifact = make_artifact()
    assert run(artifact, tmp_path / "a", str(path)) == 0, "a length of the file replaces the experiment's ten steps"
    assert [line["step"] for line in lines(tmp_path / "a")] == [2, 4, 6]
    assert run(artifact, tmp_path / "b", str(path), "--steps", "3", "--log-every", "1") == 0
    assert [line["step"] for line in lines(tmp_path / "b")] == [1, 2, 3]


def test_print_config_is_a_run_file(make_artifact, tmp_path: Path, capsys) -> None:
    path, out = tmp_path / "run.sexp", tmp_path / "odd \\ \"name\""
    path.write_text('(run :records 24 :checkpoint-every "5m")')
    assert run(make_artifact(), out, str(path), "--keep", "7", "--print-config") == 0
    text = capsys.readouterr().out
    assert not out.exists(), "nothing was run"
    found = read(tmp_path, text)
    assert not found.problems
    assert found.values == {"records": 24, "microbatches": 1, "seed": 0, "out": str(out), "resume": "auto",
                            **{o.name: o.default for o in OPTIONS if o.default is not None},
                            "checkpoint-every": "5m", "keep": 7}
    assert f"; `{path}`" in next(line for line in text.splitlines() if ":records 24" in line)
    assert "; the command line" in next(line for line in text.splitlines() if ":keep 7" in line)
    assert "; default" in next(line for line in text.splitlines() if ":prefetch 4" in line)


def test_settings_know_their_origin() -> None:
    problems: list = []
    layers = [read_layer("a", {"steps": 5, "keep": 2}, ":", problems), read_layer("b", {"tokens": 9}, ":", problems)]
    settings, origins = merge(layers)
    assert not problems and origins == {"keep": "a", "tokens": "b"} and settings.steps is None


def test_the_run_folder_says_what_ran(make_artifact, tmp_path: Path) -> None:
    import hashlib
    import socket

    artifact = make_artifact()
    assert run(artifact, tmp_path / "run", "--steps", "1") == 0
    found = json.loads((tmp_path / "run/manifest.json").read_text())
    assert found["artifact_sha256"] == hashlib.sha256(artifact.read_bytes()).hexdigest()
    assert found["host"]["name"] == socket.gethostname() and found["versions"]["iree-base-runtime"]
    assert found["data"]["train-loader"]["main"] == {
        "files": 1, "bytes": None, "revision": found["data"]["train-loader"]["main"]["revision"]}


def test_another_revision_of_the_data(tmp_path: Path) -> None:
    from hand_artifact import manifest
    from sexpgpu.runtime.train.provenance import provenance

    def revision() -> dict:
        return provenance("x", manifest(), "local-task", str(tmp_path))["data"]["train-loader"]["main"]

    (tmp_path / "train.parquet").write_bytes(b"one")
    first = revision()
    assert first == revision() and first["bytes"] == 3
    (tmp_path / "train.parquet").write_bytes(b"other")
    assert revision()["bytes"] == 5 and revision()["revision"] != first["revision"]


def test_the_command_that_goes_on(make_artifact, tmp_path: Path) -> None:
    """Where the run file forbids a resume, the command overrules it."""
    path = tmp_path / "run.sexp"
    path.write_text("(run :resume :never)")
    assert run(make_artifact(), tmp_path / "a", str(path), "--steps", "2") == 0
    command = json.loads((tmp_path / "a/manifest.json").read_text())["command"]
    assert command.endswith(f"--out {tmp_path / 'a'} --resume auto")
