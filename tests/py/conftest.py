"""Which tests run first, and whether there is a Vulkan device."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator

import pytest

# What a shell runs in the background has SIGINT ignored, and hands that on to what tests start and then interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: The folders by how long their files take, the longest first: files are handed to processes in this order, and what
#: is left for the end is short, so that none of them waits for another.
FOLDERS = ("e2e", "twins", "models", "passes", "diagnostics", "ops", "runtime", "dataio", "frontend", "reader")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    def folder(item: pytest.Item) -> int:
        name = item.path.relative_to(config.rootpath / "tests" / "py").parts[0]
        return FOLDERS.index(name) if name in FOLDERS else len(FOLDERS)

    items.sort(key=folder)


@pytest.fixture(scope="session")
def vulkan() -> str:
    """The driver's name; the test is skipped where no Vulkan device opens. Open it with `cache=False` and let go of it:
    lavapipe keeps threads spinning as long as a device is there."""
    import iree.runtime as rt

    try:
        rt.get_device("vulkan", cache=False)
    except Exception as error:
        pytest.skip(f"no Vulkan device (mesa-vulkan-drivers has one without a GPU): {error}")
    return "vulkan"


@pytest.fixture
def vulkan_session(vulkan: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The same for what opens the device by itself: it is closed after the test, after all that lies on it."""
    import iree.runtime as rt

    get_device, opened = rt.get_device, []

    def get(uri: str, cache: bool = True) -> rt.HalDevice:
        device = get_device(uri, cache=cache and not uri.startswith(vulkan))
        opened.append(device)
        return device

    monkeypatch.setattr(rt, "get_device", get)
    yield vulkan
    gc.collect()
    opened.clear()
