"""`--preflight`: what could go wrong with the data, found before any of it is trained on.

Every file of every stage and pass is opened, its columns, types and shapes are held against the declaration, its first
records are read; then each stage is opened as a run would, which compares counts. All problems are shown at once.
"""

from __future__ import annotations

from dataclasses import replace

from sexpgpu.diagnostics import Diagnostic, SexpError
from sexpgpu.runtime.artifact import Manifest
from sexpgpu.runtime.dataio.manifest.build import heads_that_differ
from sexpgpu.runtime.dataio.sources import stage_sources
from sexpgpu.runtime.dataio.spec import FilesSource, LoaderSpec, StageSpec


def preflight(manifest: Manifest, data_root: str | None) -> int:
    """Prints a line for each stage and pass. Raises `SexpError` with every problem, each one once."""
    loaders = [("train-loader", manifest.loader), *((f"pass {e.name}", e.loader) for e in manifest.evaluations)]
    problems: list[Diagnostic] = []
    lines: list[str] = []
    for what, spec in loaders:
        for stage in spec.stages:
            found, line = _stage(spec, stage, data_root)
            problems += [p for p in found if p.message not in {q.message for q in problems}]
            lines.append(f"{what}, stage `{stage.name}`: {line}")
    if problems:
        raise SexpError(*problems)
    print("\n".join([*lines, "nothing was trained"]))
    return 0


def _stage(spec: LoaderSpec, stage: StageSpec, data_root: str | None) -> tuple[list[Diagnostic], str]:
    """The problems of a stage, and a line about it where there are none."""
    from sexpgpu.runtime.dataio.loader import Loader

    base = spec.base if data_root is None else data_root
    problems: list[Diagnostic] = []
    try:
        sources = stage_sources(stage, base)
    except SexpError as error:
        return list(error.diagnostics), ""
    files = [file for source in sources for file in source.files]
    for file in files:
        # Alone and endless, so that only its first records are read.
        source = FilesSource((file.name,), file.encoding)
        alone = replace(spec, stages=(StageSpec("main", (source,), 0, True),), batch_size=1)
        try:
            with Loader(alone, threads=1, prefetch=1, data_root=base) as loader:
                loader.next()
        except SexpError as error:
            # A file without records is no problem where others have some: the stage as a whole tells.
            problems += [d for d in error.diagnostics if d.code not in ("E-DATA-007", "E-DATA-008")]
    problems += heads_that_differ(files)
    if problems:
        return problems, ""
    try:
        with Loader(spec, stage=stage.name, threads=1, prefetch=1, partial=not stage.infinite,
                    data_root=base) as loader:
            loader.next()
            rows = "rows are counted as they are read" if loader.rows is None else f"{loader.rows:,} rows"
            return [], (f"{len(files):,} files, {rows}, at most {loader.memory_bound() / (1 << 20):,.0f} MiB; "
                        "first records read")
    except SexpError as error:
        return list(error.diagnostics), ""
