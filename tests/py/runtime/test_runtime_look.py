"""watch and compare, and what all that look do with runs that failed, died, are damaged, or were never there."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from runs import finish, lines, run, spawn
from sexpgpu.cli.run import main
from sexpgpu.runtime.look.compare import compare
from sexpgpu.runtime.look.report import page
from sexpgpu.runtime.look.run import open_run
from sexpgpu.runtime.look.watch import sparkline

# -- watch ------------------------------------------------------------------------------------------------------------

def test_a_run_is_followed_to_its_end(make_artifact, tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = spawn(make_artifact(), out, FAKE_DELAY="0.4")
    while not (out / "status.json").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    watching = subprocess.run([sys.executable, "-m", "sexpgpu.cli.run", "watch", str(out)], capture_output=True,
                              text=True, timeout=60)
    assert finish(process)[0] == 0
    shown = watching.stdout.splitlines()
    assert watching.returncode == 0 and len(shown) > 2
    assert shown[-1].startswith("finished  step 10/10  loss 0.7498")
    assert any(line.startswith("training  step") and "tokens/s" in line and "left" in line for line in shown)


def test_on_a_terminal_there_is_a_picture(make_artifact, tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = spawn(make_artifact(every=5), out, FAKE_DELAY="0.25")
    while not (out / "status.json").exists():
        time.sleep(0.02)
    program, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "90", "LINES": "40"}
    watching = subprocess.Popen([sys.executable, "-m", "sexpgpu.cli.run", "watch", str(out)], stdout=terminal,
                                stderr=subprocess.STDOUT, env=environment)
    os.close(terminal)
    seen = b""
    while True:
        try:
            data = os.read(program, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    assert watching.wait() == 0 and finish(process)[0] == 0
    text = seen.decode()
    assert "━" in text and "step 10/10" in text and "eval/val/loss" in text and "waiting for data" in text
    assert re.search("[▁▂▃▄▅▆▇█]{2}", text) and "last sign" in text


def test_a_failed_run_is_told_from_one_that_died(make_artifact, tmp_path: Path, capfd) -> None:
    failed, dead = tmp_path / "failed", tmp_path / "dead"
    assert run(make_artifact(nan_at=3), failed) == 4
    assert finish(spawn(make_artifact(), dead, FAKE_KILL_AT="4", FAKE_DELAY="0.02"))[0] == -9
    capfd.readouterr()
    assert main(["watch", str(failed)]) == 1
    assert capfd.readouterr().out.startswith("failed")
    assert main(["watch", str(dead)]) == 1
    assert capfd.readouterr().out.startswith("dead")
    assert main(["watch", "--once", str(dead)]) == 1
    assert "its process is gone" in capfd.readouterr().out
    assert main(["report", str(dead)]) == 0
    assert ">dead<" in (dead / "report.html").read_text()


def test_a_run_without_a_sign_is_silent(finished: Path) -> None:
    status = json.loads((finished / "status.json").read_text())
    for host, beat, pid, state in (("elsewhere", 3600, 1, "silent"), ("elsewhere", 5, 1, "training"),
                                   (status["host"], 3600, os.getpid(), "silent"), (status["host"], 5, 2**22, "dead")):
        (finished / "status.json").write_text(json.dumps(
            {**status, "state": "training", "host": host, "pid": pid, "heartbeat": time.time() - beat}))
        assert open_run(str(finished)).state() == state, (host, beat)


def test_sparklines() -> None:
    assert sparkline([], 10) == "" and sparkline([1.0] * 5, 3) == "▄▄▄"
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8) == "▁▂▃▄▅▆▇█"
    assert len(sparkline([1.0, 2.0] * 500, 40)) == 40


# -- what is no run ---------------------------------------------------------------------------------------------------

def test_what_is_no_run_is_told(finished: Path, tmp_path: Path, capfd) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    for command in (["watch"], ["report"], ["compare", str(finished)]):
        for name, said in (("nowhere", "is not there"), ("empty", "is not a run folder"), ("file", "is a file"),
                           (".", "holds runs")):
            assert main([*command, str(tmp_path / name)]) == 2
            error = capfd.readouterr().err
            assert "E-RUN-035" in error and said in error
    assert main(["compare", "a", "b"]) == 2
    assert capfd.readouterr().err.count("E-RUN-035") == 2
    for words, code in ((["watch"], "E-RUN-011"), (["compare", "a"], "E-RUN-011"), (["report", "a", "b"], "E-RUN-011"),
                        (["watch", "a", "--onec"], "E-RUN-001"), (["report", "a", "--output"], "E-RUN-002")):
        assert main(words) == 2
        assert code in capfd.readouterr().err
    assert main(["report", str(finished), "--output", str(tmp_path / "no" / "r.html")]) == 2
    assert "E-RUN-006" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["manifest.json", "status.json", "summary.json", "metrics.jsonl"])
@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"kind": 5, "state": [], "metrics": 7, "step": {}}\n',
                                  "[" * 50_000, '{"step": 1, "train/loss": "x", "eval/a/loss": null}\n\xff\n',
                                  '{"step": 99999999999999999999, "train/loss": 1e999}\n'])
def test_damaged_files_are_shown_as_far_as_they_go(finished: Path, capfd, name: str, text: str) -> None:
    (finished / name).write_text(text, encoding="latin-1")
    for words in (["watch", "--once", str(finished)], ["report", str(finished)],
                  ["compare", str(finished), str(finished)]):
        main(words)
        assert "E-ICE" not in capfd.readouterr().err, (words, name, text[:60])


def test_names_cannot_break_out_of_the_page(finished: Path) -> None:
    evil = "</script><script>alert(1)</script><b>"
    with open(finished / "metrics.jsonl", "a") as file:
        file.write(json.dumps({"step": 11, f"train/{evil}": 1.0, f"schedule/{evil}": 2.0, evil: 1.0}) + "\n")
    manifest = json.loads((finished / "manifest.json").read_text())
    manifest |= {"name": evil, "settings": {evil: evil}, "command": evil}
    (finished / "manifest.json").write_text(json.dumps(manifest))
    text = page(open_run(str(finished)))
    assert "alert(1)</script><b>" not in text and text.count("<script>") == 1


# -- compare ----------------------------------------------------------------------------------------------------------

def test_two_runs_side_by_side(make_artifact, tmp_path: Path, capfd) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    artifact = make_artifact(every=5)
    assert run(artifact, a) == 0 and run(artifact, b, "--seed", "5", "--steps", "7", "--log-every", "2") == 0
    tables = {t.title: t for t in compare(open_run(str(a)), open_run(str(b)))}
    differ = {row[0]: row[1:] for row in tables["settings that differ"].rows}
    assert differ == {"steps": ("10", "7"), "seed": ("0", "5"), "log-every": ("1", "2")}
    equal = tables["train/loss at equal steps"].rows
    assert [row[0] for row in equal] == ["2", "4", "5", "6", "7"], "steps that both have written"
    one = {e["step"]: e for e in lines(a)}
    assert [row[1] for row in equal] == [f"{one[s]['train/loss']:.5g}" for s in (2, 4, 5, 6, 7)]
    ends = {row[0]: row for row in tables["at the end"].rows}
    last_a, last_b = lines(a)[-1], lines(b)[-1]
    change = (last_b["eval/val/loss"] - last_a["eval/val/loss"]) / abs(last_a["eval/val/loss"])
    assert ends["eval/val/loss"][3] == f"{change:+.2%}"
    capfd.readouterr()
    assert main(["compare", str(a), str(b)]) == 0
    shown = capfd.readouterr().out
    assert "settings that differ" in shown and "eval/val/loss at equal steps" in shown
    same = {t.title: t for t in compare(open_run(str(a)), open_run(str(a)))}
    assert "settings that differ" not in same
    assert all(row[3] in ("same", "") for row in same["train/loss at equal steps"].rows)


def test_looking_needs_nothing_heavy(finished: Path) -> None:
    code = ("import sys\nfrom sexpgpu.cli.run import main\n"
            f"main(['report', {str(finished)!r}]); main(['watch', '--once', {str(finished)!r}])\n"
            "assert not {'numpy', 'iree', 'pyarrow', 'boto3', 'rich'} & {n.partition('.')[0] for n in sys.modules}")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
