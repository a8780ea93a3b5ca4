"""Weights without a run: `--init-from` a safetensors file with the parameters' names; and comparing tables of tensors.

Parameters must all be there. Buffers (batch-norm statistics) are taken where they are, and left at their first values
where not; anything else in the file is refused, since it means another model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError, did_you_mean
from sexpgpu.runtime.artifact.manifest import StateTensor
from sexpgpu.runtime.checkpoint.tensors import BadTensors, Shape, TensorFile, layers_of, read_state
from sexpgpu.runtime.session import Session

SHOWN = 8
"""Tensors named in a message; the rest is counted."""


def init_from(path: str, session: Session) -> str:
    """Replaces parameters and buffers of an initialised session; the optimizer begins as it would have with these
    weights. Gives a line that says what was taken. Raises E-CKPT-004 and -005."""
    try:
        file = TensorFile(Path(path))
    except OSError as error:
        raise SexpError(Diagnostic("E-CKPT-005", f"`{path}` cannot be read: {(error.strerror or str(error)).lower()}",
                                   fix=Fix("`--init-from` takes a .safetensors file"))) from error
    except BadTensors as error:
        raise SexpError(Diagnostic("E-CKPT-005", f"`{path}` is no whole safetensors file", notes=(str(error),),
                                   fix=Fix("`--init-from` takes a .safetensors file"))) from error
    state = session.manifest.state
    wanted = [t for t in state if t.role == "parameter" or (t.role == "buffer" and t.name in file.shapes)]
    notes = differences(wanted, file.shapes)
    if notes:
        raise SexpError(Diagnostic("E-CKPT-004", f"the weights in `{path}` are not this model's", notes=notes,
                                   fix=_rename(wanted, file.shapes)))
    arrays = session.state_get()
    try:
        arrays.update({t.name: read_state(file, t) for t in wanted})
    except (BadTensors, OSError) as error:
        raise SexpError(Diagnostic("E-CKPT-005", f"`{path}` is no whole safetensors file",
                                   notes=(str(error),))) from error
    session.state_set(arrays)
    session.restart_optimizer()
    left = [t.name for t in state if t.role == "buffer" and t.name not in file.shapes]
    parameters = sum(t.role == "parameter" for t in wanted)
    return (f"`{path}` gave all {parameters} parameters" + (f" and {len(wanted) - parameters} buffers" if
            len(wanted) > parameters else "") + (f"; {len(left)} buffers keep their first values: "
            f"{', '.join(left[:SHOWN])}" if left else ""))


def differences(wanted: Iterable[StateTensor], found: Mapping[str, Shape]) -> tuple[str, ...]:
    """What is missing, too many, or of another shape, a note a tensor."""
    notes, names = [], set()
    for mine in (part for tensor in wanted for part in layers_of(tensor)):
        names.add(mine.name)
        theirs = found.get(mine.name)
        if theirs is None:
            notes.append(f"`{mine.name}` is missing, {mine} in the model")
        elif theirs != mine:
            notes.append(f"`{mine.name}` is {theirs}, {mine} in the model")
    notes += [f"`{name}` is not in the model, {shape} in the file" for name, shape in found.items()
              if name not in names]
    if len(notes) > SHOWN:
        notes[SHOWN:] = [f"and {len(notes) - SHOWN} more tensors"]
    return tuple(notes)


def _rename(wanted: Iterable[StateTensor], found: Mapping[str, Shape]) -> Fix | None:
    """Where one name is missing and one near it is too many, that is most likely the mistake."""
    names = [part.name for t in wanted for part in layers_of(t)]
    spare = [name for name in found if name not in names]
    for name in names:
        near = did_you_mean(name, spare) if name not in found else None
        if near is not None:
            return Fix(f"is `{near}` in the file what the model calls `{name}`?")
    return None
