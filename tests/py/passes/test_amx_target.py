"""What needs AMX says so, and runs where the system grants it alone."""

from __future__ import annotations

import platform

import pytest
from iree.compiler import ir
from sexpgpu.compiler.passes import manifest
from sexpgpu.compiler.passes.build import note_target
from sexpgpu.compiler.passes.forms import forms_for
from sexpgpu.compiler.passes.iree.driver import features_of
from sexpgpu.compiler.passes.iree.targets import parse_target
from sexpgpu.diagnostics import SexpError
from sexpgpu.runtime import processor
from sexpgpu.runtime.artifact.manifest import Target
from sexpgpu.runtime.session.device import choose


def test_where_the_system_does_not_grant_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """An artifact that needs them is refused, and one for this machine is built without."""
    monkeypatch.setattr(processor, "tiles_granted", lambda: False)
    with pytest.raises(SexpError) as raised:
        choose(Target("cpu:sapphirerapids", "sapphirerapids", "local-task", ("avx2", "amx-tile", "amx-bf16")), None)
    assert raised.value.diagnostics[0].code == "E-ARTIFACT-009"
    features_of.cache_clear()
    try:
        names = [p.name for p, _ in forms_for(parse_target("cpu"))]
        assert not any(n.endswith("-amx") for n in names)
    finally:
        features_of.cache_clear()


# `--target cpu:NAME` offers the processors of the machine's own architecture.
@pytest.mark.skipif(platform.machine() != "x86_64", reason="processors of another architecture are not offered")
def test_what_is_built_without_does_not_need_it() -> None:
    target = parse_target("cpu:sapphirerapids")
    for disabled, needed in (((), True), (("dense-amx",), True), (("dense-amx", "weights-amx"), False)):
        with ir.Context():
            module = ir.Module.parse("module {}")
            note_target(module, target, disabled)
            features = manifest.read(module)["target"]["features"]
        assert ("amx-bf16" in features) == needed and "avx512f" in features
