"""The page of targets is what the tests hold."""

from pathlib import Path

import pytest

pytest.importorskip("jax")

import json

import targets

PAGE = Path(__file__).parents[3] / "docs" / "targets.md"


def test_the_page_is_current():
    cuda = json.loads(targets.KNOWN.read_text())
    assert PAGE.read_text(encoding="utf-8") == targets.page(cuda), "run `python tests/py/ops/targets.py`"


def test_no_two_cases_have_one_name():
    names = [case.symbol for case in targets.every_case()]
    assert len(names) == len(set(names)), sorted(n for n in names if names.count(n) > 1)
