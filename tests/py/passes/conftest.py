"""Tests of passes import their neighbours by plain name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def drivers() -> dict[str, str]:
    """Target → driver, for the devices that open on this machine."""
    import iree.runtime as rt

    found = {"cpu": "local-task"}
    try:
        rt.get_device("vulkan")
        found["vulkan"] = "vulkan"
    except Exception:
        pass
    return found
