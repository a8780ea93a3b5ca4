"""The compiled programs of these tests run as those of the passes' tests do; a file's `CASES` are compiled together."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "passes"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of a file that takes a `case` and the `outcomes` runs for each of its `CASES`."""
    if {"case", "outcomes"} <= set(metafunc.fixturenames):
        metafunc.parametrize("case", metafunc.module.CASES, ids=lambda case: case.name)


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest):
    """What the compiled `CASES` of the file came to; a file for another target has its own."""
    from oracle_jax import run

    return run(request.module.CASES)
