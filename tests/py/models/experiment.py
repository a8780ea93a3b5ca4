"""Whole experiments on arrays that a test makes: checked, compiled and stepped in one process, without files."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sexpgpu.compiler.frontend.experiment import check
from sexpgpu.compiler.passes.build import BuildOptions, build
from sexpgpu.diagnostics import Diagnostic, SourceMap
from sexpgpu.runtime.artifact.read import read_artifact
from sexpgpu.runtime.session import Device, Session

Batch = Mapping[str, NDArray]


def found(text: str, **overrides: str) -> list[Diagnostic]:
    """What `sexpc check` says about an experiment."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "experiment.sexp"
        path.write_text(text)
        return check(path, overrides=overrides, sources=SourceMap(), module=False)[1]


def compiled(path: Path, out: Path, disabled: Sequence[str] = (), target: str = "cpu", **overrides: str) -> Path:
    staged, diagnostics = check(path, overrides=overrides, sources=SourceMap())
    assert staged is not None, [(d.code, d.message, d.notes) for d in diagnostics]
    with staged.module.context:
        build(staged.module, target, out, BuildOptions(disabled=tuple(disabled)))
    return out


class Trained:
    """An experiment, its text or its file, on this processor or another target, built without what is `disabled`.
    `hyper` is the value of each schedule, in order."""

    def __init__(self, text: str | Path, folder: Path, seed: int = 0, disabled: Sequence[str] = (), target: str = "cpu",
                 **overrides: str) -> None:
        path = text if isinstance(text, Path) else folder / "experiment.sexp"
        if isinstance(text, str):
            path.write_text(text)
        self.session = Session(read_artifact(compiled(path, folder / "experiment.vmfb", disabled, target, **overrides)),
                               Device("local-task", 2) if target == "cpu" else Device(target))
        self.session.init(seed)
        self.seed = seed
        self.done = 0

    @property
    def manifest(self):
        return self.session.manifest

    def state(self) -> dict[str, NDArray]:
        return self.session.state_get()

    def parameters(self) -> dict[str, NDArray]:
        names = {p.name for p in self.manifest.parameters}
        return {name: array for name, array in self.state().items() if name in names}

    def step(self, batch: Batch, hyper: Sequence[float] | None = None) -> NDArray:
        """The metrics' vector, the loss first; then the gradient norm and whether the step was skipped."""
        if hyper is None:
            hyper = [s.constant for s in self.manifest.schedules]
        outcome = self.session.microbatch({k: np.ascontiguousarray(v) for k, v in batch.items()},
                                          (self.seed, self.done, 0, 0), list(hyper))
        norm, skipped = self.session.update(list(hyper), 1)
        self.done += 1
        return np.array([*outcome.metrics, norm, float(skipped)])

    def losses(self, batches: Sequence[Batch], hyper: Sequence[float] | None = None) -> list[float]:
        return [float(self.step(batch, hyper)[0]) for batch in batches]
