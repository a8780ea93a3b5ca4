"""What a person sees: numbers, plain lines, the bar on a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from runs import HERE
from sexpgpu.runtime.display.display import View, duration, loss, number, results_text, waits


@pytest.mark.parametrize("value, text", [(0.0123456, "0.01235"), (12.34, "12.34"), (1234.5, "1,234"), (2.5e6, "2.50M"),
                                         (3e9, "3.00G"), (-1e13, "-10.00T"), (0.0, "0")])
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize("seconds, text", [(None, "–"), (0, "0:00"), (7.4, "0:07"), (754, "12:34"), (11045, "3:04:05"),
                                           (183845, "2d 3:04"), (float("inf"), "–"), (float("nan"), "–")])
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_a_wait_is_shown_where_it_counts() -> None:
    def of(waited: float) -> str:
        return waits(View(1, 10, 0.1, 0.5, {"steps": 1.0, "records": 4.0}, 0.2, 9.0, "hard", waited))

    assert of(0.0) == of(0.019) == "" and of(0.05) == " (25% waiting for data)"


def test_losses() -> None:
    assert loss(1.23456) == "1.2346" and loss(1e-5) == "1.000e-05" and loss(float("nan")) == "nan"
    assert results_text({"eval/a/loss": 1.0, "eval/a/b/c": 0.5}) == "loss 1.0000 · b/c 0.5000"


@pytest.mark.parametrize("changes, colored", [({}, True), ({"NO_COLOR": "1"}, False)])
def test_the_bar(make_artifact, tmp_path: Path, changes: dict[str, str], colored: bool) -> None:
    """In a terminal of its own: a bar with the loss, the first counter's rate, and the passes above it."""
    program, terminal = pty.openpty()
    environment = {**{k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")},
                   "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40", "FAKE_DELAY": "0.02", **changes}
    process = subprocess.Popen([sys.executable, str(HERE / "run_fake.py"), str(make_artifact(every=5)), "--out",
                                str(tmp_path / "run")], stdout=subprocess.DEVNULL, stderr=terminal, env=environment)
    os.close(terminal)
    seen = b""
    while True:
        try:
            data = os.read(program, 65536)
        except OSError:  # how a terminal says that its last user is gone
            break
        if not data:
            break
        seen += data
    assert process.wait() == 0
    text = seen.decode()
    assert "10/10" in text and "loss 0.7498" in text and "tokens/s" in text and "left" in text
    assert "step 5  val: loss" in text
    assert bool(re.search(r"\x1b\[(\d+;)*[39]\d", text)) == colored, "bold is no colour"
    assert text.rstrip().endswith("\x1b[?25h") or "\x1b[?25h" in text[-200:], "the cursor is shown again"
