"""`--print-config`: what would run, as the text of a run file, with the origin of every setting."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sexpgpu.runtime.artifact.manifest import Manifest
from sexpgpu.runtime.options import OPTIONS
from sexpgpu.runtime.settings import Settings

WIDTH = 36
"""Columns before the origins."""


def config_text(manifest: Manifest, settings: Settings, origins: Mapping[str, str]) -> str:
    """A run file that leads to the same run; what was left open has no line."""
    numbers = sum(math.prod(p.shape) for p in manifest.parameters)
    rows = [f"; {manifest.name}: {numbers:,} parameters, built for {manifest.target.name} ({manifest.target.detail})",
            f"; stages: {', '.join(manifest.stages)}; passes: "
            f"{', '.join(e.name for e in manifest.evaluations) or 'none'}; "
            f"{manifest.loader.batch_size * settings.microbatches} records a step"]
    given = [(option, getattr(settings, option.attribute)) for option in OPTIONS]
    given = [(option, value) for option, value in given if value is not None]
    for i, (option, value) in enumerate(given):
        text = f"{'(run ' if i == 0 else '     '}:{option.name} {option.literal(value)}"
        end = ")" if i == len(given) - 1 else ""
        rows.append(f"{text + end:<{WIDTH}}  ; {origins.get(option.name, 'default')}")
    return "\n".join(rows)
