"""Loading weights into an artifact and calling its exports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError, did_you_mean, one_of
from sexpgpu.runtime.artifact.manifest import Export
from sexpgpu.runtime.artifact.read import read_artifact
from sexpgpu.runtime.checkpoint.weights import init_from
from sexpgpu.runtime.infer.arrays import Unfit, fit, out
from sexpgpu.runtime.session import Device, Session, aligned, choose
from sexpgpu.runtime.train.resume import find

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

EMA = ".ema"
"""How the name of a parameter's average ends, where the optimizer keeps one."""


class Model:
    """An artifact with its weights on a device. Not for several threads at once."""

    def __init__(self, path: str, session: Session) -> None:
        self._path, self._session = path, session
        self.exports: dict[str, Export] = {e.name: e for e in session.manifest.exports}

    def run(self, name: str | None = None, /, *, seed: int = 0, arrays: Mapping[str, ArrayLike] | None = None,
            **inputs: ArrayLike) -> Any:
        """Calls an export; without a name the only one. Inputs go by keyword, or in `arrays` where a name is no word
        of Python. Gives what the export gives: an array, a list of arrays, or a dict of arrays by name (bf16 as f32).
        `seed` is of the random numbers it draws, if any.

        Raises `SexpError`: E-RUN-032 for the name, E-RUN-033 for inputs that do not fit.
        """
        export = self.export(name)
        outputs = self.outputs(export, {**(arrays or {}), **inputs}, seed)
        match export.structure:
            case "tensor":
                return outputs["output"]
            case "list":
                return list(outputs.values())
        return outputs

    def export(self, name: str | None) -> Export:
        """The export of that name, or the only one. Raises E-RUN-032."""
        names = list(self.exports)
        if name is None and len(names) == 1:
            return self.exports[names[0]]
        if name in self.exports:
            return self.exports[name]
        if not names:
            problem = Diagnostic("E-RUN-032", f"`{self._path}` has no exports",
                                 fix=Fix("write `(export \"name\" (fn (x) …) :inputs […])` in the experiment"))
        elif name is None:
            problem = Diagnostic("E-RUN-032", f"`{self._path}` has {len(names)} exports, and none was named",
                                 fix=Fix(f"the exports are {one_of('', names)}"))
        else:
            near = did_you_mean(name, names)
            problem = Diagnostic("E-RUN-032", f"`{self._path}` has no export `{name}`",
                                 fix=Fix(f"did you mean `{near}`?" if near else
                                         f"the exports are {one_of(name, names)}"))
        raise SexpError(problem)

    def outputs(self, export: Export, given: Mapping[str, ArrayLike], seed: int = 0) -> dict[str, NDArray]:
        """The outputs by name (`output`, `output.0` …, or the plist's). Raises E-RUN-033, every misfit at once."""
        problems: list[Diagnostic] = []
        arrays: dict[str, NDArray] = {}
        names = [f.name for f in export.inputs]
        for field in export.inputs:
            try:
                if field.name not in given:
                    raise Unfit("it is missing")
                array = fit(field, given[field.name])
            except Unfit as error:
                shown = f"{field.dtype} [{' '.join(map(str, field.shape))}]"
                problems.append(Diagnostic("E-RUN-033", f"the input `{field.name}` of `{export.name}` does not fit: "
                                           f"{error}", notes=(f"`{field.name}` is {shown}",)))
                continue
            arrays[field.name] = aligned(array.shape, array.dtype)
            arrays[field.name][...] = array
        for extra in given.keys() - set(names):
            near = did_you_mean(extra, names)
            problems.append(Diagnostic(
                "E-RUN-033", f"`{export.name}` has no input `{extra}`",
                fix=Fix(f"did you mean `{near}`?" if near else
                        f"its inputs are {one_of(extra, names)}" if names else "it has none")))
        if problems:
            raise SexpError(*problems)
        found = self._session.infer(export, arrays, seed)
        return {field.name: out(field, array) for field, array in zip(export.outputs, found, strict=True)}


def load(artifact: str | Path, checkpoint: str | Path | None, *, device: str | None = None,
         threads: int | None = None, seed: int = 0) -> Model:
    """An artifact with trained weights: those of a run folder's newest whole checkpoint, of a `checkpoints/step-N`, or
    of a .safetensors file; with None, freshly initialised from `seed`. Where the optimizer keeps averages (`:ema`), a
    checkpoint's averages are what exports compute with, as evaluations do.

    Raises `SexpError` with E-ARTIFACT, E-CKPT and E-RUN codes.
    """
    read = read_artifact(artifact)
    session = Session(read, Device(choose(read.manifest.target, device), threads))
    model = Model(str(artifact), session)
    session.init(seed)
    if checkpoint is None:
        return model
    path = Path(checkpoint)
    if not path.exists():
        raise SexpError(Diagnostic("E-CKPT-001", f"`{path}` is not there",
                                   fix=Fix("name a run folder, one of its checkpoints/step-N, or a .safetensors file")))
    if path.is_dir():
        found = find(str(path.resolve()), path, read.manifest, None, lambda note: None)
        assert found is not None
        found.restore(session)
    else:
        init_from(str(path), session)
        _averages_are_weights(session)
    return model


def _averages_are_weights(session: Session) -> None:
    """A file of weights alone: they are what to compute with."""
    state = session.manifest.state
    averages = [t.name for t in state if t.role == "optimizer" and t.name.endswith(EMA)]
    if averages:
        arrays = session.state_get()
        arrays.update({name: arrays[name.removesuffix(EMA)] for name in averages})
        session.state_set(arrays)
