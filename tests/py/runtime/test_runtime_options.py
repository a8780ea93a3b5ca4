"""Options: the table, the command line, the settings that come of it."""

from __future__ import annotations

import pytest
from sexpgpu.diagnostics import SexpError
from sexpgpu.diagnostics.house_style import check_message
from sexpgpu.runtime.flags import help_text, parse
from sexpgpu.runtime.options import BY_NAME, GROUPS, OPTIONS
from sexpgpu.runtime.settings import resolve


def codes(call, *arguments: object) -> list[tuple[str, str]]:
    with pytest.raises(SexpError) as raised:
        call(*arguments)
    for diagnostic in raised.value.diagnostics:
        assert not check_message(diagnostic)
        assert diagnostic.exit_code == 2
    return [(d.code, d.fix.text if d.fix else "") for d in raised.value.diagnostics]


def test_the_table_is_sound() -> None:
    for option in OPTIONS:
        assert option.group in GROUPS
        option.read(option.example)
        if option.default is not None:
            assert option.read(option.default) == option.default


def test_flags_in_both_spellings() -> None:
    line = parse(["--steps", "5", "m.vmfb", "--out=a b", "--seed", "1", "--seed=2"])
    assert line.artifact == "m.vmfb" and line.flags == {"steps": "5", "out": "a b", "seed": "2"}
    assert parse(["--", "--odd.vmfb"]).artifact == "--odd.vmfb"
    assert parse(["--init-from", "-odd", "m"]).flags == {"init-from": "-odd"}
    assert parse(["x", "--bad", "-h"]).help and parse(["--version"]).version


def problems(words: list[str]) -> list[tuple[str, str]]:
    found = parse(words).problems
    assert not [wrong for d in found for wrong in check_message(d)]
    return [(d.code, d.fix.text if d.fix else "") for d in found]


@pytest.mark.parametrize("words, found", [
    (["--stpes", "5", "m.vmfb"], [("E-RUN-001", "did you mean `--steps`?")]),
    (["--stpes", "5", "--kepe=3", "m.vmfb"], [("E-RUN-001", "did you mean `--steps`?"),
                                              ("E-RUN-001", "did you mean `--keep`?")]),
    (["m.vmfb", "--step", "5"], [("E-RUN-001", "did you mean `--steps`?")]),
    (["m.vmfb", "--step", "run.sexp"], [("E-RUN-001", "did you mean `--steps`?")]),
    (["m.vmfb", "--steps"], [("E-RUN-002", "for instance `--steps 1000`")]),
    (["m.vmfb", "--steps", "--keep", "1"], [("E-RUN-002", "for instance `--steps 1000`")]),
])
def test_bad_command_lines(words: list[str], found: list[tuple[str, str]]) -> None:
    assert problems(words) == found


def test_number_of_files() -> None:
    assert problems([])[0][0] == "E-RUN-011"
    assert problems(["a", "b"])[0][0] == "E-RUN-011"
    assert problems(["a", "b.sexp", "c.sexp"])[0][0] == "E-RUN-011"
    assert problems(["--steps", "1"])[0][0] == "E-RUN-011"
    line = parse(["a", "b.sexp", "--print-confg"])
    assert (line.artifact, line.run_file) == ("a", "b.sexp")
    assert [d.fix.text for d in line.problems] == ["did you mean `--print-config`?"]
    assert parse(["a.sexp"]).artifact == "a.sexp", "an experiment that was not built is told so"


@pytest.mark.parametrize("name, text, value", [
    ("steps", "1_000", 1000), ("steps", 7, 7), ("checkpoint-every", "10m", "10m"), ("checkpoint-every", 5, 5),
    ("checkpoint-every", "1_000_000", 1_000_000),
    ("checkpoint-every", "1.5h", "1.5h"), ("checkpoint-every", "never", "never"), ("resume", "never", "never"),
    ("resume", "a/b", "a/b"), ("seed", "0", 0), ("seed", str(2**63 - 1), 2**63 - 1),
])
def test_values(name: str, text: object, value: object) -> None:
    assert BY_NAME[name].read(text) == value


@pytest.mark.parametrize("name, text", [
    ("steps", "0"), ("steps", "-1"), ("steps", "1.5"), ("steps", ""), ("steps", "ten"), ("steps", True),
    ("steps", None), ("seed", str(2**63)), ("keep", "0"), ("checkpoint-every", "0"), ("checkpoint-every", "10d"),
    ("checkpoint-every", "0s"), ("on-nonfinite", "maybe"), ("threads", "0"), ("out", ""), ("out", "a\0b"),
    ("microbatches", [1]), ("log-every", "0"), ("prefetch", "1e3"), ("steps", str(2**63)), ("records", 2**63),
    ("tokens", "9" * 5000), ("checkpoint-every", "9" * 5000), ("microbatches", "9" * 5000),
])
def test_bad_values(name: str, text: object) -> None:
    assert [c for c, _ in codes(resolve, {name: text}, {})] == ["E-RUN-002"]


def test_flag_over_experiment_over_default() -> None:
    settings = resolve({"steps": 300, "keep": 5}, {"keep": "7"})
    assert (settings.steps, settings.keep, settings.log_every) == (300, 7, 1)
    settings = resolve({"steps": 300}, {"records": "50"})
    assert settings.steps is None and settings.records == 50
    assert "tokens" not in settings.to_json()


def test_two_lengths() -> None:
    assert [c for c, _ in codes(resolve, {"steps": 1, "tokens": 2}, {})] == ["E-RUN-003"]
    assert [c for c, _ in codes(resolve, {}, {"steps": "1", "records": "2"})] == ["E-RUN-003"]


def test_unknown_keyword_of_the_experiment() -> None:
    assert codes(resolve, {"setps": 1}, {}) == [("E-RUN-001", "did you mean `:steps`?")]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_help_fits_and_tells_all(width: int) -> None:
    text = help_text(width)
    for option in OPTIONS:
        assert option.flag in text
    flags = text.split("examples:")[0]
    assert all(len(line) <= max(width, 60) for line in flags.splitlines())
