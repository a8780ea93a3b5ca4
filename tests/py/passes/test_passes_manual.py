"""docs/passes.md has every pass, in order, and every way round with its targets."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from sexpgpu.compiler.passes.legalize import LEGALIZE, WAY_ROUNDS
from sexpgpu.compiler.passes.pipeline import PASSES

PAGE = (Path(__file__).parents[3] / "docs" / "passes.md").read_text(encoding="utf-8")


def rows(begin: str, end: str) -> list[list[str]]:
    """The cells of the table between two lines, without its head."""
    part = PAGE[PAGE.index(begin):PAGE.index(end)]
    return [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| `")]


def test_passes() -> None:
    names = (re.sub(rf"-({'|'.join(LEGALIZE)})$", "-<target>", name) for name in PASSES)
    assert [cells[0].strip("`") for cells in rows("# Passes", "## What a pass may")] == [n for n, _ in groupby(names)]


def test_what_can_be_left_out() -> None:
    said = PAGE[PAGE.index("The passes are `narrow`"):PAGE.index("a model comes to the same numbers")]
    assert re.findall("`([^`]+)`", said) == [name for name, found in PASSES.items() if found.optional]


def test_ways_round() -> None:
    said = {name.strip("`"): kinds for name, kinds, _ in rows("## Ways round", "## When the code generator")}
    assert said == {w.name: "all" if set(w.kinds) == set(LEGALIZE) else ", ".join(w.kinds) for w in WAY_ROUNDS}
