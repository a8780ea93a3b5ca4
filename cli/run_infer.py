"""`sexpgpu-run infer`: an export of an artifact, once, from a file into a file."""

from __future__ import annotations

from sexpgpu.cli.words import Arguments
from sexpgpu.diagnostics import Diagnostic, Fix, SexpError


def run(arguments: Arguments) -> int:
    from sexpgpu.runtime.infer.files import check_output, read_inputs, write_outputs
    from sexpgpu.runtime.infer.model import load

    seed, threads = arguments.natural("seed") or 0, arguments.natural("threads")
    checkpoint, inputs, outputs = (arguments.last(key) for key in ("checkpoint", "inputs", "outputs"))
    if checkpoint is None:
        raise SexpError(Diagnostic("E-RUN-002", "`--checkpoint` is not given, and says which weights to use",
                                   fix=Fix("for instance `--checkpoint runs/a`")))
    model = load(arguments.operands[0], checkpoint, device=arguments.last("device"), threads=threads or None)
    export = model.export(arguments.last("export"))
    check_output(outputs, export)
    if inputs is None and export.inputs:
        names = ", ".join(f"`{f.name}` {f.dtype} [{' '.join(map(str, f.shape))}]" for f in export.inputs)
        raise SexpError(Diagnostic("E-RUN-033", f"`{export.name}` takes {names}, and no `--inputs` are given",
                                   fix=Fix("for instance `--inputs x.npz`")))
    given = read_inputs(inputs, export) if inputs is not None else {}
    write_outputs(outputs, export, model.outputs(export, given, seed))
    return 0
