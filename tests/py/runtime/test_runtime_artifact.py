"""The artifact: manifest, seal, and reading files that nobody vouches for."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import hand_artifact
import pytest
from sexpgpu.diagnostics import SexpError
from sexpgpu.diagnostics.house_style import check_message
from sexpgpu.runtime.artifact import CodecError, Manifest, read_artifact, read_manifest, seal, seal_bytes
from sexpgpu.runtime.artifact.seal import SIZE


def code(path: Path) -> str:
    with pytest.raises(SexpError) as raised:
        read_artifact(path)
    assert len(raised.value.diagnostics) == 1
    assert not check_message(raised.value.diagnostics[0])
    return raised.value.diagnostics[0].code


def test_manifest_there_and_back() -> None:
    manifest = hand_artifact.manifest(hand_artifact.Options(stages=("easy", "größe")))
    assert Manifest.from_json(json.loads(json.dumps(manifest.to_json()))) == manifest


@pytest.mark.parametrize("path, value, problem", [
    ("kind", "other", "kind"),
    ("schema", "1", "schema"),
    ("name", 3, "name: a string was expected, an integer stands there"),
    ("surprise", 1, "`surprise` is unknown"),
    ("fields.0.shape", [4, 0], r"fields\[0\].shape"),
    ("fields.0.dtype", "f31", "f31"),
    ("state.0.role", "weights", "role"),
    ("metrics.train.0.offset", 99, "offset"),
    ("metrics.train.0.reduce", "median", "median"),
    ("metrics.train.0.name", "other", "the first entry is the loss"),
    ("schedules.0.export", None, "an export or a constant"),
    ("loader", {"fields": []}, "loader"),
    ("stages", [], "stages"),
    ("parameters.0.trainable", 1, "true or false was expected"),
    ("cost", None, "cost"),
])
def test_manifest_is_strict(path: str, value: object, problem: str) -> None:
    data = hand_artifact.manifest().to_json()
    place: object = data
    *way, last = path.split(".")
    for step in way:
        place = place[int(step) if step.isdigit() else step]  # type: ignore[index]
    place[last] = value  # type: ignore[index]
    with pytest.raises(CodecError, match=problem):
        Manifest.from_json(data)


def test_manifest_needs_every_key() -> None:
    data = hand_artifact.manifest().to_json()
    for key in set(data) - {"run", "cost", "skips", "exports", "peak"}:
        with pytest.raises(CodecError):
            Manifest.from_json({k: v for k, v in data.items() if k != key})


def test_reads_what_was_written(make_artifact) -> None:
    path = make_artifact()
    assert read_manifest(path) == hand_artifact.manifest()
    before = path.read_bytes()
    seal(path)
    assert path.read_bytes() == before, "a second seal changes nothing"


def test_missing_folder_and_unreadable(tmp_path: Path) -> None:
    assert code(tmp_path / "none.vmfb") == "E-ARTIFACT-001"
    assert code(tmp_path) == "E-ARTIFACT-001"
    assert code(Path("a\0b")) == "E-ARTIFACT-001"


def test_a_name_like_it(tmp_path: Path) -> None:
    def advice(path: Path) -> str:
        with pytest.raises(SexpError) as caught:
            read_manifest(path)
        return caught.value.diagnostics[0].fix.text

    none = "name a `.vmfb` file that `sexpc build` wrote"
    assert advice(tmp_path / "model.vmfb") == advice(tmp_path) == none
    (tmp_path / "model.vmfb").write_bytes(b"")
    assert advice(tmp_path / "modle.vmfb") == f"did you mean `{tmp_path / 'model.vmfb'}`?"
    assert advice(tmp_path / "model.sexp") == advice(tmp_path) == f"did you mean `{tmp_path / 'model.vmfb'}`?"
    assert advice(tmp_path / "metal.sexp") == none


def test_not_an_artifact(tmp_path: Path) -> None:
    for name, data in (("empty.vmfb", b""), ("text.sexp", b"(defvar x 1)"), ("random.vmfb", os.urandom(5000))):
        path = tmp_path / name
        path.write_bytes(data)
        assert code(path) == "E-ARTIFACT-002"


def altered(change, **options) -> bytes:
    """A sealed artifact whose manifest went through `change`."""
    data = hand_artifact.manifest().to_json()
    change(data)
    text = json.dumps(data).replace("\\", "\\\\").replace('"', '\\"')
    return seal_bytes(hand_artifact.compile_text(
        'module @m { func.func @init(%a: tensor<i64>) attributes {iree.reflection = {"sexpgpu.manifest" = "'
        + text + '"}} { return } }'))


def test_foreign_and_unsealed(tmp_path: Path, make_artifact) -> None:
    path = tmp_path / "foreign.vmfb"
    foreign = hand_artifact.compile_text("module @m { func.func @f(%a: tensor<i64>) -> tensor<i64> "
                                         "{ return %a : tensor<i64> } }")
    path.write_bytes(foreign)
    assert code(path) == "E-ARTIFACT-004"
    path.write_bytes(seal_bytes(foreign))
    assert code(path) == "E-ARTIFACT-004"
    path.write_bytes(make_artifact().read_bytes()[:-SIZE])
    assert code(path) == "E-ARTIFACT-003", "ours, but without its end"


def test_versions(tmp_path: Path) -> None:
    path = tmp_path / "a.vmfb"
    path.write_bytes(altered(lambda m: m.update(schema=2, future={"a": 1})))
    assert code(path) == "E-ARTIFACT-005"
    path.write_bytes(altered(lambda m: m["versions"].update(iree="2.0.0")))
    assert code(path) == "E-ARTIFACT-006"
    path.write_bytes(altered(lambda m: m.pop("state")))
    assert code(path) == "E-ARTIFACT-007"
    path.write_bytes(altered(lambda m: None))
    assert code(path) == "E-ARTIFACT-007", "the exports are not there"


def fuzz(tmp_path: Path, data: bytes, rounds: int, seed: int) -> None:
    rng = random.Random(seed)
    path = tmp_path / "fuzzed.vmfb"
    for _ in range(rounds):
        damaged = bytearray(data)
        match rng.randrange(5):
            case 0:
                del damaged[rng.randrange(len(damaged)):]
            case 1:
                for _ in range(rng.choice((1, 1, 1, 8, 200))):
                    damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
            case 2:
                damaged[-rng.randrange(1, SIZE + 1)] ^= 1 << rng.randrange(8)
            case 3:
                start = rng.randrange(len(damaged))
                del damaged[start:start + rng.randrange(1, 2000)]
            case _:
                start = rng.randrange(len(damaged))
                damaged[start:start] = os.urandom(rng.randrange(1, 2000))
        if bytes(damaged) == data:
            continue
        path.write_bytes(damaged)
        assert code(path) in ("E-ARTIFACT-002", "E-ARTIFACT-003")


def test_fuzzed_bytes(tmp_path: Path, make_artifact) -> None:
    fuzz(tmp_path, make_artifact().read_bytes(), 300, 1)


@pytest.mark.slow
def test_fuzzed_bytes_at_length(tmp_path: Path, make_artifact) -> None:
    fuzz(tmp_path, make_artifact().read_bytes(), 20_000, 2)


def test_every_truncation_near_the_end(tmp_path: Path, make_artifact) -> None:
    data = make_artifact().read_bytes()
    path = tmp_path / "cut.vmfb"
    for size in [*range(len(data) - 200, len(data)), *range(0, 200)]:
        path.write_bytes(data[:size])
        assert code(path) in ("E-ARTIFACT-002", "E-ARTIFACT-003")
