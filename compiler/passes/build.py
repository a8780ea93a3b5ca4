"""From a staged module to an artifact: the pipeline, the target's way-rounds, the code generator."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from iree.compiler import ir
from sexpgpu.compiler.passes import forms
from sexpgpu.compiler.passes import manifest as mf
from sexpgpu.compiler.passes.base import NoOptions, Options, Pass
from sexpgpu.compiler.passes.iree.driver import CompileOptions, features_of, generate, iree_version
from sexpgpu.compiler.passes.iree.targets import Target, parse_target
from sexpgpu.compiler.passes.pipeline import PIPELINE, Timing, run_passes
from sexpgpu.compiler.passes.supported import SUPPORTED
from sexpgpu.runtime.artifact.seal import seal_bytes
from sexpgpu.runtime.processor import AMX
from sexpgpu.runtime.replace import replace_file

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """`disabled` are names of `SWITCHES` to leave out; `print_after` and `stop_after` name passes."""

    print_after: tuple[str, ...] = ()
    stop_after: str | None = None
    disabled: tuple[str, ...] = ()
    compile: CompileOptions = field(default_factory=CompileOptions)


def passes_for(target: Target | None, options: BuildOptions) -> list[tuple[Pass, Options]]:
    """The pipeline, and what the target's code generator needs; without what is disabled."""
    passes: list[tuple[Pass, Options]] = [(p, p.options()) for p in PIPELINE if p.name not in options.disabled]
    if target is not None:
        passes.append((SUPPORTED[target.kind], NoOptions()))
        passes += forms.forms_for(target, options.disabled)
    return passes


def note_target(module: ir.Module, target: Target, disabled: Sequence[str] = ()) -> None:
    tiles = any(p.name not in disabled for p in forms.AMX)
    features = [f for f in features_of(target) if tiles or f not in AMX]
    with module.context:
        manifest = mf.read(module)
        manifest.setdefault("kind", "sexpgpu.artifact")
        manifest.setdefault("schema", SCHEMA)
        manifest["versions"] = {**(manifest.get("versions") or {}), "iree": iree_version()}
        manifest["target"] = {"name": target.name, "detail": target.detail, "driver": target.driver,
                              "features": features}
        mf.write(module, manifest)


def run_pipeline(module: ir.Module, target: Target | None, *, print_after: Sequence[str] = (),
                 emit: Callable[[str, str], None] | None = None, timings: list[Timing] | None = None,
                 stop_after: str | None = None, disabled: Sequence[str] = ()) -> None:
    """Runs every pass in place, for `target` (or for none in particular)."""
    options = BuildOptions(disabled=tuple(disabled))
    if target is not None:
        note_target(module, target, disabled)
    run_passes(module, passes_for(target, options), print_after=print_after, emit=emit, timings=timings,
               stop_after=stop_after)


def compile_module(module: ir.Module, target: Target, options: BuildOptions | None = None, *,
                   emit: Callable[[str, str], None] | None = None, timings: list[Timing] | None = None) -> bytes:
    """The artifact's bytes. `module` is consumed: afterwards it holds the lowered form."""
    options = options or BuildOptions()
    run_pipeline(module, target, print_after=options.print_after, emit=emit, timings=timings,
                 disabled=options.disabled)
    start = time.perf_counter()
    data = generate(module, target, options.compile)
    if timings is not None:
        timings.append(Timing("iree", time.perf_counter() - start))
    return data


def build(module: ir.Module, target: Target | str, out_path: Path | str, options: BuildOptions | None = None, *,
          emit: Callable[[str, str], None] | None = None, timings: list[Timing] | None = None) -> None:
    """Compiles and writes the artifact, whole or not at all."""
    chosen = parse_target(target) if isinstance(target, str) else target
    data = compile_module(module, chosen, options, emit=emit, timings=timings)
    path = Path(out_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, seal_bytes(data))
