"""Vulkan tests run last: a lavapipe device, once opened, keeps its threads spinning until the process ends, and every
test after it would share the machine with them."""

from __future__ import annotations

import signal

import pytest

# What a shell runs in the background has SIGINT ignored, and hands that on to what tests start and then interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("vulkan") is not None)


@pytest.fixture(scope="session")
def vulkan() -> str:
    """The driver's name; the test is skipped where no Vulkan device opens."""
    import iree.runtime as rt

    try:
        rt.get_device("vulkan")
    except Exception as error:
        pytest.skip(f"no Vulkan device (mesa-vulkan-drivers has one without a GPU): {error}")
    return "vulkan"
