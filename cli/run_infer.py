"""`sexpgpu-run infer`: an export of an artifact, once, from a file into a file."""

from __future__ import annotations

from sexpgpu.cli.run_words import Words
from sexpgpu.diagnostics import Diagnostic, Fix, SexpError


def run(words: Words) -> int:
    from sexpgpu.runtime.infer.files import check_output, read_inputs, write_outputs
    from sexpgpu.runtime.infer.model import load

    (artifact,), flags = words.operands, words.flags
    seed, threads = words.integer("seed") or 0, words.integer("threads")
    if "checkpoint" not in flags:
        raise SexpError(Diagnostic("E-RUN-002", "`--checkpoint` is not given, and says which weights to use",
                                   fix=Fix("for instance `--checkpoint runs/a`")))
    model = load(artifact, flags["checkpoint"], device=flags.get("device"), threads=threads or None)
    export = model.export(flags.get("export"))
    check_output(flags.get("outputs"), export)
    if "inputs" not in flags and export.inputs:
        names = ", ".join(f"`{f.name}` {f.dtype} [{' '.join(map(str, f.shape))}]" for f in export.inputs)
        raise SexpError(Diagnostic("E-RUN-033", f"`{export.name}` takes {names}, and no `--inputs` are given",
                                   fix=Fix("for instance `--inputs x.npz`")))
    given = read_inputs(flags["inputs"], export) if "inputs" in flags else {}
    write_outputs(flags.get("outputs"), export, model.outputs(export, given, seed))
    return 0
