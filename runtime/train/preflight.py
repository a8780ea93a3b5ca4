"""`--preflight`: what could go wrong with the data, found before any of it is trained on.

Every file of every stage and pass is opened, its columns, types and shapes are held against the declaration, its first
records are read, its records against what a manifest says; then each stage is opened as a run would. All problems are
shown at once.
"""

from __future__ import annotations

from sexpgpu.diagnostics import Diagnostic, SexpError
from sexpgpu.runtime.artifact import Manifest
from sexpgpu.runtime.dataio.faults import looked_in
from sexpgpu.runtime.dataio.manifest.build import hold_against_manifests
from sexpgpu.runtime.dataio.manifest.survey import peek_at
from sexpgpu.runtime.dataio.sources import stage_sources
from sexpgpu.runtime.dataio.spec import LoaderSpec, StageSpec

_COUNT_BYTES = 1 << 30
"""Of files whose records only reading through tells: what a preflight counts of those that manifests list."""


def preflight(manifest: Manifest, data_root: str | None) -> int:
    """Prints a line for each stage and pass. Raises `SexpError` with every problem, each one once."""
    loaders = [("train-loader", manifest.loader), *((f"pass {e.name}", e.loader) for e in manifest.evaluations)]
    problems: list[Diagnostic] = []
    lines: list[str] = []
    for what, spec in loaders:
        for stage in spec.stages:
            found, line = _stage(spec, stage, data_root)
            problems = _each_once([*problems, *found])
            lines.append(f"{what}, stage `{stage.name}`: {line}")
    if problems:
        raise SexpError(*problems)
    print("\n".join([*lines, "nothing was trained"]))
    return 0


def _each_once(problems: list[Diagnostic]) -> list[Diagnostic]:
    return list({p.message: p for p in reversed(problems)}.values())[::-1]


def _stage(spec: LoaderSpec, stage: StageSpec, data_root: str | None) -> tuple[list[Diagnostic], str]:
    """The problems of a stage, and a line about it where there are none."""
    from sexpgpu.runtime.dataio.loader import Loader

    base = spec.base if data_root is None else data_root
    problems: list[Diagnostic] = []
    try:
        sources = stage_sources(stage, base)
    except SexpError as error:
        return list(error.diagnostics), ""
    files = list({file.path: file for source in sources for file in source.files}.values())
    for _, error in sorted(peek_at(files, spec.fields).items()):
        problems += looked_in(error, base).diagnostics
    unlike, uncounted = hold_against_manifests(files, _COUNT_BYTES)
    problems += unlike
    if problems:
        return _each_once(problems), ""
    try:
        with Loader(spec, stage=stage.name, threads=1, prefetch=1, partial=not stage.infinite,
                    data_root=base) as loader:
            loader.next()
            rows = "rows are counted as they are read" if loader.rows is None else f"{loader.rows:,} rows"
            line = (f"{len(files):,} file{'s' * (len(files) != 1)}, {rows}, "
                    f"at most {loader.memory_bound() / (1 << 20):,.0f} MiB; first records read")
            if uncounted:
                line += f"; {uncounted:,} files were not read through (`sexpc manifest --check` counts all)"
            return [], line
    except SexpError as error:
        return list(error.diagnostics), ""
