"""The process around a run: what it imports, its memory, its exit, its first second."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from runs import HERE, finish, spawn
from sexpgpu.runtime.allocator import GUARD, OLDEST, TUNABLES, glibc_version, tuned_environment

NEW = (2, 36)


def test_tunables_are_added_once() -> None:
    first = tuned_environment({"A": "1"}, NEW)
    assert first is not None and first["A"] == "1" and GUARD in first
    assert first["GLIBC_TUNABLES"].split(":") == [f"{k}={v}" for k, v in TUNABLES.items()]
    assert tuned_environment(first, NEW) is None, "no loop"


def test_the_users_tunables_stay_and_win() -> None:
    own = "glibc.malloc.arena_max=8:glibc.cpu.x86_rep_movsb_threshold=2048"
    found = tuned_environment({"GLIBC_TUNABLES": own}, NEW)
    assert found is not None and found["GLIBC_TUNABLES"].startswith(own + ":") and found[GUARD] == own
    assert found["GLIBC_TUNABLES"].count("arena_max") == 1


def test_when_it_is_left_alone() -> None:
    assert tuned_environment({"SEXPGPU_ALLOCATOR": "system"}, NEW) is None
    assert tuned_environment({}, (2, 34)) is None and tuned_environment({}, None) is None


@pytest.mark.skipif((glibc_version() or (0, 0)) < OLDEST, reason="another C library, or an old one")
@pytest.mark.parametrize("changes, tuned", [({}, True), ({"SEXPGPU_ALLOCATOR": "system"}, False)])
def test_the_process_starts_over(changes: dict[str, str], tuned: bool) -> None:
    """Seen from inside: the tunables were in the environment at exec, and are not left for children."""
    program = ("import sys; from sexpgpu.runtime.allocator import start_over; start_over(); import os;"
               "print('mmap_max' in open('/proc/self/environ').read(), os.environ.get('GLIBC_TUNABLES'), sys.argv[1:])")
    clean = {k: v for k, v in os.environ.items() if k not in ("GLIBC_TUNABLES", GUARD)}
    done = subprocess.run([sys.executable, "-c", program, "a b", "--c"], env={**clean, **changes}, capture_output=True,
                          text=True, check=True)
    assert done.stdout.strip() == f"{tuned} None ['a b', '--c']"


def test_nothing_of_the_compiler_is_imported(make_artifact, tmp_path: Path) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from fake_loader import FakeLoader
from sexpgpu.cli.run import main
assert main([{str(make_artifact())!r}, "--out", {str(tmp_path / 'run')!r}], FakeLoader) == 0
bad = [m for m in sys.modules if m.startswith(("iree.compiler", "sexpgpu.compiler")) or m in ("rich", "safetensors")]
assert not bad, bad
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


@pytest.mark.parametrize("words, status", [(["--help"], 0), (["--version"], 0), (["--stpes", "1", "m"], 2)])
def test_small_answers_import_nothing_heavy(words: list[str], status: int) -> None:
    program = f"""
import sys
from sexpgpu.cli.run import main
assert main({words!r}) == {status}
bad = [m for m in ("numpy", "iree.runtime", "rich", "pyarrow") if m in sys.modules]
assert not bad, bad
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_the_process_ends_cleanly(make_artifact, tmp_path: Path) -> None:
    """IREE's objects crash the interpreter's exit where they go in the wrong order."""
    for i in range(3):
        status, _, err = finish(spawn(make_artifact(), tmp_path / f"run{i}", "--threads", "2"))
        assert status == 0, err
    status, _, err = finish(spawn(make_artifact(nan_at=6), tmp_path / "nan"))
    assert status == 4, err
    status, _, err = finish(spawn(make_artifact(), tmp_path / "file", "--device", "local-task://no"))
    assert status == 2, err


def test_the_first_step_comes_soon(make_artifact, tmp_path: Path) -> None:
    """In CPU time, since a busy machine makes the clock say little: start to end of a run of one step."""
    before = os.times()
    status, _, err = finish(spawn(make_artifact(), tmp_path / "run", "--steps", "1", "--checkpoint-every", "never"))
    after = os.times()
    assert status == 0, err
    assert (after.children_user + after.children_system) - (before.children_user + before.children_system) < 2.0


def test_an_internal_error_is_no_traceback(tmp_path: Path, capsys, monkeypatch) -> None:
    from sexpgpu.cli import run as command

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(command, "_main", lambda *_: 1 / 0)
    assert command.main(["m.vmfb"]) == 70
    err = capsys.readouterr().err
    assert "error[E-ICE-004]" in err and "ZeroDivisionError" in err and "Traceback" not in err
    assert "Traceback" in next(tmp_path.glob("sexpgpu-ice-*")).read_text()


def test_a_command_to_go_on_names_a_program_that_is_found(tmp_path: Path, monkeypatch) -> None:
    from sexpgpu.cli.run import _program

    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "sexpgpu-run").write_text("#!/bin/sh\n")
        (tmp_path / folder / "sexpgpu-run").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["here/sexpgpu-run", "m.vmfb"])
    for path, shown in (("here", "sexpgpu-run"), ("there", "here/sexpgpu-run"), ("", "here/sexpgpu-run")):
        monkeypatch.setenv("PATH", str(tmp_path / path) if path else "")
        assert _program() == shown
    monkeypatch.setattr(sys, "argv", ["/usr/lib/python3/pytest/__main__.py"])
    assert _program() == "sexpgpu-run"


def test_a_misspelt_command(tmp_path: Path, monkeypatch, capsys) -> None:
    from sexpgpu.cli.run import main

    monkeypatch.chdir(tmp_path)
    assert main(["wach", "runs/a"]) == 2
    err = capsys.readouterr().err
    assert "error[E-RUN-013]" in err and "did you mean `watch`?" in err and err.count("error[") == 1
    (tmp_path / "wach").write_bytes(b"")
    assert main(["wach", "--steps", "1"]) == 3, "a file of that name is an artifact"
