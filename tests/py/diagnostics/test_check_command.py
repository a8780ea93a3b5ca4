"""`sexpc check` as it is run: files, standard input, `--fix`, `--watch`, `-W error`, exit statuses."""

import io
import os
import signal
import subprocess
import sys
import time

import pytest
from mistakes import EXAMPLES
from sexpgpu.cli.sexpc import main

GOOD = (EXAMPLES / "linear/experiment.sexp").read_text(encoding="utf-8")
UNREAD = GOOD.replace("(field :y)]", "(field :y) (field :z)]")


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def one(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return one


def test_several_files_and_the_first_errors_status(write, capsys):
    bad = write("bad.sexp", GOOD.replace("(mse ", "(mae 1 "))
    worse = write("worse.sexp", GOOD.replace(":steps", ":epochs"))
    assert main(["check", write("good.sexp", GOOD)]) == 0
    assert main(["check", "good.sexp", bad, worse, "--format", "short"]) == 1
    assert main(["check", worse, bad, "--format", "short"]) == 2
    err = capsys.readouterr().err
    assert err.count("bad.sexp:24:18: error[E-ARITY-001]") == 2
    assert err.count("worse.sexp:28:18: error[E-RUN-001]") == 2
    assert main(["check"]) == 2 and main(["check", "good.sexp", "gone.sexp"]) == 1


def test_definitions_of_one_file_are_not_the_next_ones(write, capsys):
    write("one.sexp", GOOD)
    write("two.sexp", "; nothing\n")
    assert main(["check", "one.sexp", "two.sexp", "--format", "short"]) == 1
    assert capsys.readouterr().err.count("two.sexp:1:1: error[E-CONTRACT-001]") == 5


def standard_input(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text if isinstance(text, bytes) else text.encode())))


def test_standard_input(write, monkeypatch, capsys):
    standard_input(monkeypatch, GOOD)
    assert main(["check", "-"]) == 0
    standard_input(monkeypatch, GOOD.replace("(mse ", "(mes "))
    assert main(["check", "-", "--format", "short"]) == 1
    assert capsys.readouterr().err == "<stdin>:24:4: error[E-NAME-001]: nothing is called `mes`\n"
    standard_input(monkeypatch, b"(defvar x \xff)")
    assert main(["check", "-"]) == 1
    assert "E-READ-011" in capsys.readouterr().err
    assert main(["check", "-", "-"]) == 2 and main(["check", "-", "--watch"]) == 2


def test_fix_of_standard_input_is_printed(monkeypatch, capsys):
    standard_input(monkeypatch, GOOD.replace(":batch-size 32", ":batch-size 32.0"))
    assert main(["check", "-", "--fix"]) == 0
    out, err = capsys.readouterr()
    assert out == GOOD and err.startswith("fixed <stdin>:11:23: ") and "[E-CONTRACT-008]" in err


def test_fix_repairs_what_is_safe_and_says_what(write, tmp_path, capsys):
    """A misspelt keyword and an open bracket are repaired; which of two sizes is right is for a person to say."""
    text = GOOD.replace(":infinite true))", ":infinite true)").replace(":steps", ":stepss")
    text = text.replace('"w" [3]', '"w" [4]')
    path = tmp_path / write("e.sexp", text)
    path.chmod(0o640)
    assert main(["check", "e.sexp", "--fix", "--format", "short"]) == 1
    fixed = path.read_text(encoding="utf-8")
    assert fixed == GOOD.replace('"w" [3]', '"w" [4]')
    assert path.stat().st_mode & 0o777 == 0o640 and os.listdir(tmp_path) == ["e.sexp"]
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["fixed e.sexp", "fixed e.sexp", "e.sexp"]
    assert "E-SHAPE-002" in lines[-1]
    assert main(["check", "e.sexp", "--fix", "--format", "short"]) == 1
    assert path.read_text(encoding="utf-8") == fixed and "fixed" not in capsys.readouterr().err


def test_fix_keeps_line_ends_and_the_byte_order_mark(write, tmp_path):
    (tmp_path / "e.sexp").write_bytes(
        b"\xef\xbb\xbf" + GOOD.replace("32", "32.0").replace("\n", "\r\n").encode())
    assert main(["check", "e.sexp", "--fix"]) == 0
    assert (tmp_path / "e.sexp").read_bytes() == b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()


def test_fix_in_an_included_file(write, tmp_path):
    head, _, tail = GOOD.partition("(defun model")
    write("model.sexp", "(defun model" + tail.replace("(mse outputs", "(MSE outputs"))
    write("e.sexp", head + '(include "model.sexp")\n')
    assert main(["check", "e.sexp", "--fix"]) == 0
    assert (tmp_path / "model.sexp").read_text(encoding="utf-8") == "(defun model" + tail


def test_a_file_that_cannot_be_written_is_a_diagnostic(write, tmp_path, monkeypatch, capsys):
    write("e.sexp", GOOD.replace("32", "32.0"))

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    assert main(["check", "e.sexp", "--fix"]) == 2
    assert "E-RUN-002" in capsys.readouterr().err
    assert "32.0" in (tmp_path / "e.sexp").read_text(encoding="utf-8") and os.listdir(tmp_path) == ["e.sexp"]


def test_warnings_are_denied_or_allowed(write, capsys):
    write("e.sexp", UNREAD)
    assert main(["check", "e.sexp"]) == 0 and "W-CONTRACT-026" in capsys.readouterr().err
    assert main(["check", "e.sexp", "-W", "error"]) == 1
    for allowed in (UNREAD.replace("(field :z)]", "(field :z)]  ; allow W-CONTRACT-026"),
                    UNREAD.replace("(field :y) (field", "; allow W-CONTRACT-026\n (field :y) (field")):
        write("e.sexp", allowed)
        capsys.readouterr()
        assert main(["check", "e.sexp", "-W", "error"]) == 0 and capsys.readouterr().err == ""
    write("e.sexp", UNREAD.replace("(field :z)]", "(field :z)]  ; allow W-GRAD-004"))
    assert main(["check", "e.sexp", "-W", "error"]) == 1
    assert main(["check", "e.sexp", "-W", "all"]) == 2


def test_what_the_program_prints_is_printed_once(write, capsys):
    """However many changes are tried, and after each fix."""
    write("e.sexp", GOOD.replace('"w" [3]', '"w" [4]').replace("32", "32.0") + '(print "once")\n')
    assert main(["check", "e.sexp", "--fix", "--format", "short"]) == 1
    assert capsys.readouterr().err.splitlines().count("once") == 1


def test_a_fault_in_a_trial_hides_nothing(write, monkeypatch, capsys):
    from sexpgpu.compiler.frontend import repair

    def fail(*_, **__):
        raise RuntimeError

    monkeypatch.setattr(repair, "check", fail)
    write("e.sexp", GOOD.replace('"w" [3]', '"w" [4]'))
    assert main(["check", "e.sexp", "--format", "short"]) == 1
    assert "E-SHAPE-002" in capsys.readouterr().err


def test_an_error_cannot_be_allowed(write):
    write("e.sexp", GOOD.replace("(mse outputs targets))", "(mes outputs targets))  ; allow E-NAME-001"))
    assert main(["check", "e.sexp"]) == 1


def test_watch_checks_again_when_a_file_is_saved(write, tmp_path):
    write("e.sexp", GOOD.replace("32", "32.0"))
    command = [sys.executable, "-m", "sexpgpu.cli.sexpc", "check", "e.sexp", "--watch", "--format", "short"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert "E-CONTRACT-008" in process.stderr.readline()
            assert "not clean" in process.stderr.readline()
            time.sleep(0.05)
            write("e.sexp", GOOD + "\n")
            assert " clean" in process.stderr.readline()
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
