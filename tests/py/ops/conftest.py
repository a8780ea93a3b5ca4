"""The compiled programs of these tests run as those of the passes' tests do; a file's `CASES` are compiled together."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "passes"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`is_what_jax_computes` runs for each of a file's `CASES`."""
    if metafunc.function.__name__ == "is_what_jax_computes":
        metafunc.parametrize("case", metafunc.module.CASES, ids=lambda case: case.name)


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest):
    """What the compiled `CASES` of the file came to; a file for another target has its own."""
    from oracle_jax import run

    return run(request.module.CASES)
