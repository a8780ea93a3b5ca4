"""Artifacts for the runtime's tests, compiled once and kept between runs of the tests."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import hand_artifact
import pytest
from runs import run
from sexpgpu.runtime.artifact import seal_bytes
from sexpgpu.runtime.artifact.read import iree_version

Make = Callable[..., Path]


@pytest.fixture(scope="session")
def make_artifact(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """`make_artifact(finite=True, …)`: the path of a sealed artifact with those `hand_artifact.Options`."""
    kept = request.config.cache.mkdir("sexpgpu-artifacts")
    folder = tmp_path_factory.mktemp("artifacts")

    def make(driver: str = "local-task", **changes: object) -> Path:
        text = hand_artifact.mlir(hand_artifact.Options(**changes), driver)
        name = hashlib.sha256(f"{iree_version()}{driver}{text}".encode()).hexdigest()[:24]
        path, stored = folder / f"{name}.vmfb", Path(str(kept)) / f"{name}.vmfb"
        if not path.exists():
            if not stored.exists():
                fresh = stored.with_suffix(".tmp")
                fresh.write_bytes(seal_bytes(hand_artifact.compile_text(text, driver)))
                fresh.rename(stored)
            shutil.copy(stored, path)
        return path

    return make


@pytest.fixture
def finished(make_artifact: Make, tmp_path: Path) -> Path:
    """The folder of a run of ten steps with two stages and passes."""
    assert run(make_artifact(every=5, at_start=True, stages=("easy", "hard")), tmp_path / "run") == 0
    return tmp_path / "run"


@pytest.fixture(scope="session")
def life_artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifact of `life.sexp`, its data beside it, built once a session."""
    import life

    folder = tmp_path_factory.mktemp("life")
    life.make_data(folder)
    return life.build(folder)
