"""The settings of one run, held against its artifact: the experiment's own `(run …)` under what was given besides."""

from __future__ import annotations

from collections.abc import Sequence

from sexpgpu.diagnostics import Diagnostic, Fix, SexpError, one_of
from sexpgpu.runtime.artifact import Manifest
from sexpgpu.runtime.settings import Layer, Settings, merge, read_layer

EXPERIMENT = "the experiment"
"""Where the settings of an artifact's own `(run …)` come from."""


def chosen_settings(manifest: Manifest, layers: Sequence[Layer]) -> tuple[Settings, dict[str, str]]:
    """The settings, and the origin of each that was given. Raises every E-RUN of the experiment's own, and of what does
    not go with this artifact."""
    problems: list[Diagnostic] = []
    settings, origins = merge([read_layer(EXPERIMENT, manifest.run, ":", problems), *layers])
    passes = [f"eval/{e.name}/{m.name}" for e in manifest.evaluations for m in e.metrics]
    best = (settings.keep_best or "").removeprefix("max:").removeprefix("min:")
    if best and best not in passes:
        problems.append(Diagnostic(
            "E-RUN-002", f"`keep-best` names `{best}`, which no evaluation reports",
            fix=Fix(f"there is {one_of(best, passes)}" if passes else "add an `(evaluation …)` to the experiment")))
    if settings.on_nonfinite == "skip" and not manifest.skips:
        problems.append(Diagnostic(
            "E-RUN-017", "the artifact was not built to skip updates",
            fix=Fix("build with `(run :on-nonfinite :skip)` or `:skip-nonfinite true`, or give `--on-nonfinite "
                    "rewind`")))
    if problems:
        raise SexpError(*problems)
    return settings, origins
