"""Fixtures of the frontend's tests; their neighbours are imported by plain name."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pytest
from frontend_support import check_text, codes, evaluate


@pytest.fixture
def value(tmp_path):
    """The value of an expression that has nothing wrong."""
    def run(expression: str, before: str = "") -> object:
        result, found = evaluate(f"{before}\n(defvar result {expression})", tmp_path)
        assert found == [], found
        return result
    return run


@pytest.fixture
def wrong(tmp_path):
    """The codes that evaluating an expression reports."""
    def run(expression: str, before: str = "") -> list[str]:
        return [d.code for d in evaluate(f"{before}\n(defvar result {expression})", tmp_path)[1]]
    return run


@pytest.fixture
def found(tmp_path):
    """The codes that checking an experiment reports."""
    return lambda text, **options: codes(text, tmp_path, **options)


@pytest.fixture
def checked(tmp_path):
    """The staged module and the diagnostics of an experiment."""
    return lambda text, **options: check_text(text, tmp_path, **options)
